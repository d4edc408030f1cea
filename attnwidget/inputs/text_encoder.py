"""Encoding of texts for a model: ids, token types and their axis, within the model's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from attnwidget.inputs.advised_error import AdvisedError
from attnwidget.inputs.chat_text import Chat, ChatText, as_chat
from attnwidget.inputs.given_words import TextsOfTokens, unknown_owners
from attnwidget.inputs.length_limit import LengthLimit
from attnwidget.inputs.listed_ids import listed
from attnwidget.inputs.text_ids import TextEncoding, TextIds
from attnwidget.inputs.token_axes import token_axis
from attnwidget.text.counted import counted
from attnwidget.text.token_words import words_without_tokens
from attnwidget.text.tokens import Tokens
from attnwidget.text.whole_number import whole_number

Text = str | Sequence[str] | Sequence[int] | Sequence[Mapping[str, Any]] | Chat


class TooLongError(AdvisedError):
    """Error for a text with more tokens than the model reads.

    Attributes:
        limit: Largest number of input tokens.
    """

    def __init__(self, count: int, length_limit: LengthLimit) -> None:
        self.limit = length_limit.tokens or 0
        super().__init__(
            f"too long: {counted(count, 'token')}; {length_limit.reads} {self.limit} at most",
            length_limit.advice,
        )


@dataclass(frozen=True)
class Encoded:
    """One text: n `ids`, the model's `token_types`, and the axis.

    `token_types` is None if the tokenizer has no types. `chat` is a chat's text with message
    positions, otherwise None.
    """

    ids: list[int]
    token_types: list[int] | None
    tokens: Tokens
    chat: ChatText | None = None

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.ids)

    @property
    def shape(self) -> object:
        """Number of tokens; inputs of the same shape share a batch."""
        return len(self.ids)

    def continued(self, whole: Tokens) -> Tokens:
        """Return the tokens of this text and its continuation, with roles in a chat."""
        if self.chat is not None:
            return self.chat.continued(self.tokens, whole)
        return replace(whole, remark=self.tokens.remark, n_cut=self.tokens.n_cut)


class Encoder:
    """Encoder of texts for one model and its tokenizer.

    Args:
        tokenizer: Tokenizer of the model, or None.
        hf_model: Transformers model.
        limit: Limit on the number of tokens; None uses the limits of model and tokenizer.

    Attributes:
        texts: Converter of texts to ids.

    Raises:
        ValueError: The tokenizer's vocabulary is far larger than the model's.
    """

    def __init__(self, tokenizer: Any, hf_model: Any, limit: LengthLimit | None = None) -> None:
        self._tokenizer = tokenizer
        self.texts = TextIds(tokenizer)
        self._model = type(hf_model).__name__
        self._hf_model = hf_model
        n_entries = vocabulary_size(hf_model)
        self._length_limit = LengthLimit(hf_model, tokenizer) if limit is None else limit
        size = getattr(tokenizer, "vocab_size", None)
        # A tokenizer may have a few more entries than the model: special tokens that were added
        # after training.
        if n_entries and isinstance(size, int) and size > n_entries + 256:
            raise ValueError(
                f"the tokenizer has {size} entries, {self._model} {n_entries}: they do not "
                "belong together; pass the tokenizer that the model was trained with"
            )

    @property
    def limit(self) -> int | None:
        """Largest number of input tokens; None if there is no limit."""
        return self._length_limit.tokens

    def __call__(
        self, text: Text, pair: Text | None = None, *, truncate: bool = False, target: bool = False
    ) -> Encoded:
        """Encode a text or a pair of texts.

        Args:
            text: String, list of words, list or array of vocabulary ids (which are used unchanged),
                or chat. Words are read with spaces between them.
            pair: Second sentence, of the same form (not for ids).
            truncate: Whether to cut texts that are too long for the model.
            target: Whether the text is for the decoder.

        Raises:
            ValueError: The text is empty or too long, a word in a list has no tokens, ids are
                outside the vocabulary, or there is no tokenizer.
            TypeError: The text has another form.
        """
        content: Any = as_chat(listed(text))
        if is_ids(content):
            if pair is not None:
                raise TypeError(
                    "pair goes with texts; ids are taken as they are, special ones included"
                )
            ids = [whole_number("a vocabulary id", i) for i in content]
            ids, n_cut = self._shortened(ids, truncate)
            return Encoded(ids, None, replace(self.axis(ids), n_cut=n_cut))
        if self._tokenizer is None:
            raise ValueError(
                f"this {self._model} has no tokenizer: pass one to load_model(model, tokenizer), "
                "or attend to a dict of model inputs"
            )
        if isinstance(content, Chat):
            if pair is not None:
                raise TypeError("pair goes with texts; a chat is one input")
            return self._from_chat(content, truncate)
        for name, part in (("text", content), ("pair", pair)):
            _check_text(name, part)
        return self._from_text(content, pair, truncate, target)

    def refuse_unknown(self, ids: Sequence[int]) -> None:
        """Raise ValueError for ids that are not in the model's vocabulary."""
        # Read the size again, because the embeddings may have been resized since loading.
        n_entries = vocabulary_size(self._hf_model)
        for token_id in (min(ids, default=0), max(ids, default=0)):
            if token_id < 0 or (n_entries and token_id >= n_entries):
                raise ValueError(
                    f"token id {token_id} is not in the vocabulary of {self._model}, which has ids "
                    f"0 to {(n_entries or 0) - 1}: does the tokenizer belong to the model? After "
                    "tokenizer.add_tokens, call hf_model.resize_token_embeddings(len(tokenizer))"
                )

    def axis(
        self,
        ids: Sequence[int],
        *,
        word_ids: Sequence[int | None] | None = None,
        segments: Sequence[int] | None = None,
    ) -> Tokens:
        """Return the axis of `ids`, after checking that the model's vocabulary has them."""
        self.refuse_unknown(ids)
        if self._tokenizer is None:
            names = tuple(str(i) for i in ids)
            n = len(names)
            special = ("first", *("",) * (n - 1))
            return Tokens(names, names, tuple(ids), special, (0,) * n, tuple(range(n)))
        return token_axis(self._tokenizer, ids, word_ids=word_ids, segments=segments)

    def _from_text(self, text: Any, pair: Any, truncate: bool, target: bool) -> Encoded:
        contents = [
            None if content is None else _Content.from_input(content) for content in (text, pair)
        ]
        strings = [None if item is None else item.text for item in contents]
        # A tokenizer whose vocabulary marks spaces would join the words of a list. Words are
        # therefore read as running text.
        encoding = self.texts.encoded(strings[0] or "", strings[1], target=target)
        n_cut = 0
        if truncate and self.limit is not None and len(encoding.ids) > self.limit:
            n_tokens = len(encoding.ids)
            encoding = self.texts.encoded(
                strings[0] or "", strings[1], max_tokens=self.limit, target=target
            )
            n_cut = n_tokens - len(encoding.ids)
        ids = self.within_limit(encoding.ids)
        types = encoding.types
        remark = self._remark(encoding)
        words_or_texts = [item.words or item.text for item in contents if item is not None]
        texts = TextsOfTokens(self._tokenizer, encoding.encoding, words_or_texts, target)
        segments = [min(int(kind), 1) for kind in types] if types is not None else []
        if not any(segments) and pair is not None:
            segments = _carried_forward(encoding.around(texts.sequences(), None, None))
        if not isinstance(text, str):
            given_words = self._given_words(texts, "target" if target else "text", truncate)
            words = encoding.around(given_words, None, None)
            tokens = self.axis(ids, word_ids=words, segments=segments or None)
            return Encoded(ids, types, replace(tokens, remark=remark, n_cut=n_cut))
        tokens = self.axis(ids, segments=segments or None)
        if not tokens.words_known:
            # The words are not known from the vocabulary, but from the text.
            owners = texts.words()
            words_of_text = None if owners is None else encoding.around(owners, None, None)
            tokens = self.axis(ids, word_ids=words_of_text, segments=segments or None)
        return Encoded(ids, types, replace(tokens, remark=remark, n_cut=n_cut))

    def _remark(self, read: TextEncoding) -> str:
        """Return a remark about special tokens that the text itself contains."""
        template_ids = read.encoding["input_ids"]
        first, last = read.n_doubled
        doubled_ids = {
            "begins": template_ids[:first],
            "ends": template_ids[len(template_ids) - last :],
        }
        remarks = [
            f"the text {verb} with {' '.join(self.texts.entries(ids))}, which was not added again"
            for verb, ids in doubled_ids.items()
            if ids
        ]
        return ", ".join(remarks)

    def _from_chat(self, chat: Chat, truncate: bool) -> Encoded:
        chat_text = ChatText.from_chat(self._tokenizer, chat)
        refuse_half_characters(chat_text.text, "the chat")
        # The template writes all special tokens itself.
        ids = self.texts.alone(chat_text.text)
        ids, n_cut = self._shortened(ids, truncate)
        tokens = chat_text.on(self.axis(ids), self.texts)
        return Encoded(ids, None, replace(tokens, n_cut=n_cut), chat_text)

    def _shortened(self, ids: list[int], truncate: bool) -> tuple[list[int], int]:
        """Return the ids within the limit, and the number of ids that were cut off."""
        ids_within_limit = self.within_limit(ids[: self.limit] if truncate else ids)
        return ids_within_limit, len(ids) - len(ids_within_limit)

    def _given_words(self, texts: TextsOfTokens, name: str, truncate: bool) -> list[int | None]:
        """Return each token's word in lists of words, after checking that all words have tokens."""
        words = texts.words()
        if words is None:
            raise unknown_owners(self._tokenizer, name)
        sequences = texts.sequences()
        for number, (label, part_words) in enumerate(
            zip((name, "pair"), texts.texts, strict=False)
        ):
            words_of_part = [
                word for word, part in zip(words, sequences, strict=True) if part == number
            ]
            _check_tokens(label, part_words, words_of_part, truncate)
        return words

    def within_limit(self, ids: list[int]) -> list[int]:
        """Return `ids`; raise ValueError if there are none, or too many for the model."""
        if not ids:
            raise ValueError("the text has no tokens: pass at least one")
        if self.limit is not None and len(ids) > self.limit:
            raise TooLongError(len(ids), self._length_limit)
        return ids


@dataclass(frozen=True)
class _Content:
    """A text as a string, and as a list of words if the caller passed one."""

    text: str
    words: list[str]

    @classmethod
    def from_input(cls, content: Any) -> _Content:
        text, words = (
            (content, []) if isinstance(content, str) else (" ".join(content), list(content))
        )
        refuse_half_characters(text)
        return cls(text, words)


def refuse_half_characters(text: str, label: str = "the text") -> None:
    """Raise ValueError for a text that no tokenizer accepts.

    Args:
        text: Text to check.
        label: Name of the text in the error message.

    Example:
        >>> from attnwidget.inputs.text_encoder import refuse_half_characters
        >>> refuse_half_characters("a whole one: 🙂")
    """
    index = next((i for i, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if index is not None:
        raise ValueError(
            f"{label} has half a character ({text[index]!a}) at {index}, as a cut between two "
            "UTF-16 units leaves it: no vocabulary has it, take it out"
        )


def vocabulary_size(hf_model: Any) -> int | None:
    """Return the number of rows in a model's token embeddings, or None without a table."""
    try:
        embeddings = hf_model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None
    return embeddings.num_embeddings if isinstance(embeddings, nn.Embedding) else None


def is_ids(text: object) -> bool:
    """Return whether an input is a list of vocabulary ids, not a text or a list of words.

    Example:
        >>> from attnwidget.inputs.text_encoder import is_ids
        >>> is_ids([2, 7, 3]), is_ids(["Cats", "purr"])
        (True, False)
    """
    if isinstance(text, (str, bytes)) or not isinstance(text, Sequence):
        return False
    return len(text) > 0 and all(hasattr(i, "__index__") for i in text)


def _check_text(name: str, content: object) -> None:
    if content is None and name == "pair":
        return
    if isinstance(content, str):
        if not content.strip():
            raise ValueError(f"{name} is empty: pass at least one word")
    elif not isinstance(content, (list, tuple)) or not all(isinstance(w, str) for w in content):
        raise TypeError(
            f"{name} must be a string, a list of words, a list of ids or a list of messages, got "
            f"{type(content).__name__}; several texts at once: attend_batch(texts)"
        )
    elif not content or not all(word.strip() for word in content):
        raise ValueError(f"{name} has empty words: pass at least one word, without empty words")
    elif all(len(word.split()) > 1 for word in content):
        raise TypeError(
            f"{name} is a list of {counted(len(content), 'item')} with spaces, such as "
            f"{content[0][:40]!r}: "
            "are they texts or words? Write attend(text, pair) for two sentences of one input, "
            "attend_batch(texts) for separate texts, and a list of single words, such as "
            "text.split(), for words"
        )


def _check_tokens(
    name: str, words: Sequence[str], owners: Sequence[int | None], truncate: bool
) -> None:
    """Raise ValueError if some `words` have no tokens, by the word of each token."""
    # Words after the last word with tokens were cut off.
    end = max((owner + 1 for owner in owners if owner is not None), default=0)
    missing_words = words_without_tokens(owners, end if truncate else len(words))
    if missing_words:
        examples = ", ".join(f"{words[i]!r} (number {i + 1})" for i in missing_words[:5])
        more = f" and {len(missing_words) - 5} more" if len(missing_words) > 5 else ""
        raise ValueError(
            f"{name} has words without tokens, which no map could show: {examples}{more}; the "
            "tokenizer keeps none of their characters, take them out"
        )


def _carried_forward(sequences: Sequence[int | None]) -> list[int]:
    """Return the sentence of every token; a special token belongs to the preceding sentence."""
    segments = []
    last = 0
    for sequence in sequences:
        last = last if sequence is None else sequence
        segments.append(last)
    return segments
