"""A tokenizer's vocabulary, with an entry cache for all studies of a model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from attnwidget.inputs.vocabulary_spelling import Spelling, readable


class Vocabulary:
    """The vocabulary of a tokenizer.

    A tokenizer needs microseconds to look up an entry, as long as a GPU needs for a token. Known
    entries are therefore cached.

    Args:
        tokenizer: Hugging Face tokenizer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.vocabulary import Vocabulary
        >>> vocabulary = Vocabulary(load_model().tokenizer)
        >>> [vocabulary.readable(token_id) for token_id in vocabulary.ids_of(["cat", "##s"])]
        ['cat', '##s']
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._kind = Spelling.from_tokenizer(tokenizer).kind
        self._ids: dict[str, int] = {}
        self._readable: dict[int, str] = {}
        #: Classes of entries, cached for later studies that request the same classes.
        self.classes: dict[Hashable, dict[int, frozenset[str]]] = {}

    def ids_of(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of vocabulary entries.

        Raises:
            ValueError: A token is not in the vocabulary.
        """
        for token in tokens:
            if token not in self._ids:
                self._ids[token] = self._id_of(token)
        return [self._ids[token] for token in tokens]

    def _id_of(self, token: str) -> int:
        token_id: int | None = self.tokenizer.convert_tokens_to_ids(token)
        is_unknown = token_id is None or token_id == self.tokenizer.unk_token_id
        if token_id is None or (is_unknown and token != self.tokenizer.unk_token):
            raise ValueError(
                f"token {token!r} is not in the model's vocabulary: cut segments with the model "
                "that reads them (read_segments, make_segments)"
            )
        return token_id

    def readable(self, token_id: int) -> str:
        """Return the readable form of the entry with an id."""
        text = self._readable.get(token_id)
        if text is None:
            raw = str(self.tokenizer.convert_ids_to_tokens(token_id))
            text = self._readable[token_id] = readable(raw, self._kind)
        return text
