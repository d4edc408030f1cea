"""Words of tokens, if the text shows the words: a list of words, or a string."""

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
        ids: Vocabulary ids.
        owners: Word index of each token.
        offsets: First character and end of each token in the text; None if the tokenizer does not
            report them.
    """

    ids: list[int]
    owners: list[int]
    offsets: list[tuple[int, int]] | None


def read_words(texts: TextIds, text: RunningText) -> WordTokens:
    """Return the tokens of words in running text.

    Args:
        texts: Converter of texts to ids. A fast tokenizer reports each token's offsets. A slow
            tokenizer also encodes every word by itself.
        text: One or more words, with their spaces. A word may contain spaces.

    Raises:
        AdvisedError: A slow tokenizer splits the words of the text differently from single words.

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
    """Return the word index for each of `ids`, the tokens of a text; None if unknown.

    The tokenizer encodes every word by itself, or every prefix of the text. The result must equal
    `ids`.

    Args:
        tokenizer: Hugging Face tokenizer without offsets.
        text: One or more words, with their spaces.
        ids: Vocabulary ids without special tokens.
        target: Whether the text is for the decoder.
    """
    # Vocabularies with spaces inside of tokens give a word different ids after a space.
    for space in ("", " "):
        counts = []
        all_ids: list[int] = []
        for index, word in enumerate(text.words):
            after_space = index > 0 and (not text.space_after or text.space_after[index - 1])
            piece = ids_alone(tokenizer, space + word if after_space else word, target=target)
            counts.append(len(piece))
            all_ids += piece
        if all_ids == list(ids):
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
        tokenizer: Tokenizer that made the encoding.
        encoding: Output of the tokenizer, with the offset mapping from a fast tokenizer.
        texts: Text, and the second text of a pair; each as a string, or as a list of words that
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
        """Return the text index of each token, 0 or 1; None for special tokens.

        All entries are None if the encoding does not contain the tokens of the texts.
        """
        if self._is_fast:
            return list(self.encoding.sequence_ids())
        sequences: list[int | None] = [None] * len(self.encoding["input_ids"])
        for number, (start, end) in enumerate(self._places() or ()):
            sequences[start:end] = [number] * (end - start)
        return sequences

    def words(self) -> list[int | None] | None:
        """Return the word index of each token in its text, None for special tokens.

        A string has the pre-tokenizer's words, or with a slow tokenizer the parts between white
        space. The result is None if a slow tokenizer does not show the words.
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
            None if number is None else words[number][index]
            for index, number in enumerate(sequences)
        ]

    def _has_offsets(self, sequences: Sequence[int | None]) -> bool:
        """Return whether the offset mapping covers each text from its beginning."""
        spans = list(zip(sequences, self.encoding["offset_mapping"], strict=True))
        return all(
            _is_in_order([span for number, span in spans if number == text_number])
            for text_number in range(len(self.texts))
        )

    def _words_of_string(self, text: str) -> list[int | None]:
        """Return the pre-tokenizer's words, in which no word begins at a combining mark."""
        words: list[int | None] = list(self.encoding.word_ids())
        spans = self.encoding["offset_mapping"]
        owners = list(words)
        for index in range(1, len(words)):
            start = spans[index][0]
            if words[index] == words[index - 1] or (
                words[index] is not None
                and start == spans[index - 1][1]
                and is_within_word(text, start)
            ):
                owners[index] = owners[index - 1]
        return owners

    def _words_by_encoding(self) -> list[int | None] | None:
        regions = self._places()
        if regions is None:
            return None
        words: list[int | None] = [None] * len(self.encoding["input_ids"])
        for text, ids, (start, end) in zip(self.texts, self._ids(), regions, strict=True):
            text_words = RunningText(tuple(text.split() if isinstance(text, str) else text))
            owners = owners_by_encoding(self.tokenizer, text_words, ids, target=self.target)
            if owners is None:
                return None
            is_cut_left = _cuts_left(self.tokenizer)
            words[start:end] = (
                owners[len(ids) - (end - start) :] if is_cut_left else owners[: end - start]
            )
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
    """Return whether offsets are from one text. MarkupLM counts characters from each word on."""
    starts = [start for start, _ in offsets]
    return starts == sorted(starts)


def is_within_word(text: str, place: int) -> bool:
    """Return whether a word continues at a text position, because of a combining mark there.

    Byte-level pre-tokenizers split words at every mark: Devanagari vowels, Arabic vocalization.

    Args:
        text: Text with the word.
        place: Index of the character after the position.

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
    """Return the start and end of each text's ids among `ids`, which include special tokens.

    Texts may have been cut at the end (or at the beginning, for tokenizers that cut there). The
    result is None if the texts are not found.

    Args:
        tokenizer: Hugging Face tokenizer.
        ids: Vocabulary ids of the input, with special tokens.
        texts: Ids of each text, without special tokens.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.given_words import places_of_texts
        >>> places_of_texts(load_model().tokenizer, [2, 7, 8, 3, 9, 3], [[7, 8], [9]])
        [(1, 3), (4, 5)]
    """
    is_cut_left = _cuts_left(tokenizer)
    regions: list[tuple[int, int]] = []
    start = 0
    for text in texts:
        for length in range(len(text), 0, -1):
            part = list(text[len(text) - length :] if is_cut_left else text[:length])
            position = next(
                (
                    index
                    for index in range(start, len(ids) - length + 1)
                    if list(ids[index : index + length]) == part
                ),
                None,
            )
            if position is not None:
                regions.append((position, position + length))
                start = position + length
                break
        else:
            return None
    return regions


def _cuts_left(tokenizer: Any) -> bool:
    return getattr(tokenizer, "truncation_side", "right") == "left"


def unknown_owners(tokenizer: Any, label: str) -> AdvisedError:
    """Return the error for words whose tokens a slow tokenizer does not show."""
    return AdvisedError(
        f"{label}: it is not known which tokens belong to which word, because "
        f"{type(tokenizer).__name__} reports no places of tokens and gives the words other tokens "
        "in the text than alone",
        "pass the text as one string, whose words are read from the vocabulary, or its ids",
    )
