"""The word of each token where words are known from the text: a list of words, or a string."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnwidget.inputs.advised_error import AdvisedError
from attnwidget.text.running_text import RunningText
from attnwidget.text.token_words import token_words

if TYPE_CHECKING:
    from attnwidget.inputs.text_ids import TextIds


@dataclass(frozen=True)
class WordTokens:
    """The n tokens of a text, without special tokens.

    Attributes:
        ids: The vocabulary ids.
        owners: The word of each token.
        offsets: The first character and the end of each token in the text; None if the tokenizer
            does not report them.
    """

    ids: list[int]
    owners: list[int]
    offsets: list[tuple[int, int]] | None


def read_words(texts: TextIds, text: RunningText) -> WordTokens:
    """Return the tokens of words in running text.

    Args:
        texts: The ids of texts. A fast tokenizer tells the place of each token. A slow tokenizer
            also encodes every word alone.
        text: One or more words, with their spaces. A word may contain spaces.

    Raises:
        AdvisedError: a slow tokenizer cuts the words of the text otherwise than single words.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.given_words import read_words
        >>> from attnwidget.text.running_text import RunningText
        >>> read_words(load_model().texts, RunningText(("Cats", "purr"))).owners
        [0, 1, 1]
    """
    if getattr(texts.tokenizer, "is_fast", False):
        ids, offsets = texts.with_offsets(text.text)
        if _is_in_order(offsets):
            return WordTokens(ids, token_words(text.words, offsets, text.space_after), offsets)
    else:
        ids = texts.alone(text.text)
    owners = owners_by_encoding(texts.tokenizer, text, ids)
    if owners is None:
        raise unknown_owners(texts.tokenizer, text.label)
    return WordTokens(ids, owners, None)


def owners_by_encoding(
    tokenizer: Any, text: RunningText, ids: Sequence[int], *, target: bool = False
) -> list[int] | None:
    """Return the word of each of `ids`, the tokens of a text; None if unknown.

    The tokenizer encodes every word alone, or every beginning of the text. The result must be
    `ids` again.

    Args:
        tokenizer: A Hugging Face tokenizer without offsets.
        text: One or more words, with their spaces.
        ids: Vocabulary ids without special tokens.
        target: Whether the text is for the decoder.
    """
    # Vocabularies with spaces inside of tokens give a word other ids after a space.
    for space in ("", " "):
        counts = []
        joined: list[int] = []
        for place, word in enumerate(text.words):
            after_space = place > 0 and (not text.space_after or text.space_after[place - 1])
            piece = ids_alone(tokenizer, space + word if after_space else word, target=target)
            counts.append(len(piece))
            joined += piece
        if joined == list(ids):
            return [word for word, count in enumerate(counts) for _ in range(count)]
    ends = []
    for n_words in range(1, len(text.words)):
        beginning = ids_alone(tokenizer, text.part(0, n_words).text, target=target)
        if beginning != list(ids[: len(beginning)]):
            return None
        ends.append(len(beginning))
    ends.append(len(ids))
    if ends != sorted(ends):
        return None
    return [
        word
        for word, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
        for _ in range(start, end)
    ]


@dataclass(frozen=True)
class TextsOfTokens:
    """The texts that the n tokens of an encoding come from.

    Attributes:
        tokenizer: The tokenizer that made the encoding.
        encoding: Its answer, with the offset mapping of a fast tokenizer.
        texts: The text, and the second text of a pair; each as a string, or as a list of words that
            were read with spaces between the words.
        target: Whether the texts are for the decoder.
    """

    tokenizer: Any
    encoding: Any
    texts: Sequence[str | list[str]]
    target: bool = False

    @property
    def _is_fast(self) -> bool:
        return bool(getattr(self.tokenizer, "is_fast", False))

    def sequences(self) -> list[int | None]:
        """Return the text of each token, 0 or 1; None for special tokens.

        All entries are None if the encoding does not contain the tokens of the texts.
        """
        if self._is_fast:
            return list(self.encoding.sequence_ids())
        sequences: list[int | None] = [None] * len(self.encoding["input_ids"])
        for number, (start, end) in enumerate(self._places() or ()):
            sequences[start:end] = [number] * (end - start)
        return sequences

    def words(self) -> list[int | None] | None:
        """Return the word of each token in its text, None for special tokens.

        The words of a string are those of the pre-tokenizer, or with a slow tokenizer the parts
        between white space. The answer is None if a slow tokenizer does not tell the words.
        """
        sequences = self.sequences()
        if not self._is_fast or not self._has_offsets(sequences):
            return self._words_by_encoding()
        words: list[list[int | None]] = []
        for text in self.texts:
            if isinstance(text, str):
                words.append(self._words_of_string(text))
            else:
                words.append(list(token_words(text, self.encoding["offset_mapping"])))
        return [
            None if number is None else words[number][place]
            for place, number in enumerate(sequences)
        ]

    def _has_offsets(self, sequences: Sequence[int | None]) -> bool:
        """Whether the offset mapping is of the whole texts."""
        spans = list(zip(sequences, self.encoding["offset_mapping"], strict=True))
        return all(
            _is_in_order([span for number, span in spans if number == of])
            for of in range(len(self.texts))
        )

    def _words_of_string(self, text: str) -> list[int | None]:
        """Return the pre-tokenizer's words, where a combining mark does not begin a word."""
        words: list[int | None] = list(self.encoding.word_ids())
        spans = self.encoding["offset_mapping"]
        owners = list(words)
        for place in range(1, len(words)):
            start = spans[place][0]
            if words[place] == words[place - 1] or (
                words[place] is not None
                and start == spans[place - 1][1]
                and is_within_word(text, start)
            ):
                owners[place] = owners[place - 1]
        return owners

    def _words_by_encoding(self) -> list[int | None] | None:
        places = self._places()
        if places is None:
            return None
        words: list[int | None] = [None] * len(self.encoding["input_ids"])
        for text, ids, (start, end) in zip(self.texts, self._ids(), places, strict=True):
            given = RunningText(tuple(text.split() if isinstance(text, str) else text))
            owners = owners_by_encoding(self.tokenizer, given, ids, target=self.target)
            if owners is None:
                return None
            left = _cuts_left(self.tokenizer)
            words[start:end] = owners[len(ids) - (end - start) :] if left else owners[: end - start]
        return words

    def _ids(self) -> list[list[int]]:
        """Return the ids of each text without special tokens."""
        return [
            ids_alone(
                self.tokenizer,
                text if isinstance(text, str) else " ".join(text),
                target=self.target,
            )
            for text in self.texts
        ]

    def _places(self) -> list[tuple[int, int]] | None:
        return places_of_texts(self.tokenizer, list(self.encoding["input_ids"]), self._ids())


def _is_in_order(offsets: Sequence[tuple[int, int]]) -> bool:
    """Whether offsets are of one text. MarkupLM counts characters from each word on."""
    starts = [start for start, _ in offsets]
    return starts == sorted(starts)


def is_within_word(text: str, place: int) -> bool:
    """Whether a word goes on at a place of a text, as a combining mark is on one of its sides.

    Byte-level pre-tokenizers cut words at every mark: vowels of Devanagari, Arabic vocalisation.

    Example:
        >>> from attnwidget.inputs.given_words import is_within_word
        >>> is_within_word("cafe\u0301s", 4), is_within_word("cafes", 4)
        (True, False)
    """
    kinds = {
        unicodedata.category(character)[0] for character in text[max(place - 1, 0) : place + 1]
    }
    return "M" in kinds and kinds <= {"L", "M"}


def ids_alone(tokenizer: Any, text: str, *, target: bool = False) -> list[int]:
    """Return the ids of a text without special tokens."""
    options: dict[str, Any] = {"text_target" if target else "text": text}
    return list(tokenizer(**options, add_special_tokens=False, verbose=False)["input_ids"])


def places_of_texts(
    tokenizer: Any, ids: Sequence[int], texts: Sequence[Sequence[int]]
) -> list[tuple[int, int]] | None:
    """Return where the ids of each text are among `ids`, with special tokens around them.

    Each entry is the first place and the end. Texts may have been cut at the end (or at the
    beginning, where the tokenizer cuts there). The answer is None if they are not found.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.given_words import places_of_texts
        >>> places_of_texts(load_model().tokenizer, [2, 7, 8, 3, 9, 3], [[7, 8], [9]])
        [(1, 3), (4, 5)]
    """
    left = _cuts_left(tokenizer)
    found: list[tuple[int, int]] = []
    start = 0
    for text in texts:
        for length in range(len(text), 0, -1):
            part = list(text[len(text) - length :] if left else text[:length])
            at = next(
                (
                    place
                    for place in range(start, len(ids) - length + 1)
                    if list(ids[place : place + length]) == part
                ),
                None,
            )
            if at is not None:
                found.append((at, at + length))
                start = at + length
                break
        else:
            return None
    return found


def _cuts_left(tokenizer: Any) -> bool:
    return getattr(tokenizer, "truncation_side", "right") == "left"


def unknown_owners(tokenizer: Any, label: str) -> AdvisedError:
    """Return the error of words whose tokens a slow tokenizer does not tell."""
    return AdvisedError(
        f"{label}: it is not known which tokens belong to which word, because "
        f"{type(tokenizer).__name__} reports no places of tokens and gives the words other tokens "
        "in the text than alone",
        "pass the text as one string, whose words are read from the vocabulary, or its ids",
    )
