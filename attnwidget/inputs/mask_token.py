"""Mask token of a tokenizer, and its positions in an input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def mask_id_of(tokenizer: Any, purpose: str, otherwise: str = "") -> int:
    """Return the vocabulary id of the mask token.

    Args:
        tokenizer: Tokenizer of a model, or None.
        purpose: Feature that needs the mask token, to begin an error message.
        otherwise: Alternative without a mask token, to end an error message.

    Raises:
        ValueError: There is no tokenizer, or the tokenizer has no mask token.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.mask_token import mask_id_of
        >>> tokenizer = load_model().tokenizer
        >>> tokenizer.convert_ids_to_tokens(mask_id_of(tokenizer, "a masked word"))
        '[MASK]'
    """
    mask_id = getattr(tokenizer, "mask_token_id", None)
    if mask_id is None:
        raise ValueError(
            f"{purpose} needs a tokenizer with a mask token: pass one with "
            f"load_model(model, tokenizer){otherwise}"
        )
    return int(mask_id)


def mask_places(tokenizer: Any, ids: Iterable[int]) -> list[int]:
    """Return the positions of mask tokens among vocabulary ids; none without a mask token.

    Args:
        tokenizer: Tokenizer of a model, or None.
        ids: Vocabulary ids of the input.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.mask_token import mask_places
        >>> tokenizer = load_model().tokenizer
        >>> mask_places(tokenizer, tokenizer("The [MASK] sat.")["input_ids"])
        [2]
    """
    mask_id = getattr(tokenizer, "mask_token_id", None)
    return [position for position, token in enumerate(ids) if token == mask_id]
