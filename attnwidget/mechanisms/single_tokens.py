"""Lookup of words that are single vocabulary entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnwidget.inputs.token_axes import entry_names
from attnwidget.text.index_among import index_among

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_HOW = 'pass a list such as ["Mary", "John"]; model.tokenizer.tokenize(word) shows the tokens'


def single_tokens(
    model: AttentionModel, words: Iterable[str | int], n_tokens: int
) -> tuple[Tensor, tuple[str, ...]]:
    """Return the ids of words, vocabulary entries or ids, int64 [n], and their readable texts.

    Args:
        model: Model; words need its tokenizer.
        words: Words, entries or ids. A word is taken as within a text, after a space.
        n_tokens: Number of entries of the vocabulary.

    Raises:
        TypeError: If `words` is one text instead of a list, or an entry is neither text nor a
            number.
        ValueError: If there are no words, a word has several tokens, an id is outside of the
            vocabulary, or words come without a tokenizer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.single_tokens import single_tokens
        >>> model = load_model(device="cpu")
        >>> ids, texts = single_tokens(model, ["Mary", 100], 8192)
        >>> int(ids[1]), texts[0]
        (100, 'mary')
    """
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        raise TypeError(f"tokens must be a list of words or ids, got {words!r}: {_HOW}")
    ids = [_id_of(model, word, n_tokens) for word in words]
    if not ids:
        raise ValueError(f"tokens is empty: {_HOW}")
    if model.tokenizer is None:
        return torch.tensor(ids, dtype=torch.long, device="cpu"), tuple(map(str, ids))
    return torch.tensor(ids, dtype=torch.long, device="cpu"), tuple(
        name for name, _ in entry_names(model.tokenizer, ids)
    )


def token_of_word(tokenizer: Any, word: str) -> int | None:
    """Return the id of a word that is one token, within a text or at its start; otherwise None."""
    for text in (f" {word}", word):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            return int(ids[0])
    return None


def _id_of(model: AttentionModel, word: str | int, n_tokens: int) -> int:
    if not isinstance(word, str):
        return index_among("token id", word, n_tokens)
    if model.tokenizer is None:
        raise ValueError(f"{word!r} needs a tokenizer: pass ids, or load_model(model, tokenizer)")
    entry = model.tokenizer.get_vocab().get(word)
    token_id = token_of_word(model.tokenizer, word)
    if token_id is None:
        token_id = entry
    if token_id is None:
        pieces = model.tokenizer.tokenize(word)
        raise ValueError(f"{word!r} is no single token, but {', '.join(map(repr, pieces))}: {_HOW}")
    return int(token_id)
