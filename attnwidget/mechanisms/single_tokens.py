"""Words as the single vocabulary entries that they are."""

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
    """Return the ids int64 [n] of words, vocabulary entries or ids, and their readable texts.

    Args:
        model: A model; with a tokenizer for words.
        words: A word counts as it stands within a text, after a space.
        n_tokens: Number of entries of the vocabulary.

    Raises:
        TypeError: One text in place of a list, or an entry that is neither text nor a number.
        ValueError: No words, a word of several tokens, an id outside of the vocabulary, or words
            without a tokenizer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms.single_tokens import single_tokens
        >>> model = load_model(device="cpu")
        >>> ids, texts = single_tokens(model, ["Mary", 100], 8192)
        >>> int(ids[1]), texts[0]
        (100, 'mary')
    """
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        raise TypeError(f"tokens are a list of words or ids, got {words!r}: {_HOW}")
    ids = [_id_of(model, word, n_tokens) for word in words]
    if not ids:
        raise ValueError(f"tokens is empty: {_HOW}")
    if model.tokenizer is None:
        return torch.tensor(ids, dtype=torch.long, device="cpu"), tuple(map(str, ids))
    return torch.tensor(ids, dtype=torch.long, device="cpu"), tuple(
        name for name, _ in entry_names(model.tokenizer, ids)
    )


def token_of_word(tokenizer: Any, word: str) -> int | None:
    """Return the id of a word that is one token, within a text or at its start; else None."""
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
    found = token_of_word(model.tokenizer, word)
    if found is None:
        found = entry
    if found is None:
        pieces = model.tokenizer.tokenize(word)
        raise ValueError(f"{word!r} is no single token, but {', '.join(map(repr, pieces))}: {_HOW}")
    return int(found)
