"""Indices of unpadded tokens in the input of a model, and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention

# Masks of the queries and keys of each stack. A text mask hides nothing in towers.
_MASKS = {
    "self": ("attention_mask", "attention_mask"),
    "encoder": ("attention_mask", "attention_mask"),
    "decoder": ("decoder_attention_mask", "decoder_attention_mask"),
    "cross": ("decoder_attention_mask", "attention_mask"),
}


def input_places(attention: Attention, stack: str) -> tuple[list[int], list[int]]:
    """Return the indices of queries and keys among all tokens of the input, including padding.

    Example:
        >>> from attnwidget import load_model
        >>> input_places(load_model().attend("It sat."), "self")[0]
        [0, 1, 2, 3, 4]
    """
    axes = attention.stacks[stack]
    inputs = {} if attention.reading is None else attention.reading.inputs
    sides = zip(_MASKS.get(stack, ("", "")), (axes.query, axes.key), strict=True)
    queries, keys = (_kept(inputs.get(mask), len(tokens)) for mask, tokens in sides)
    return queries, keys


def positions(attention: Attention, stack: str) -> list[int]:
    """Return the position of each token of a stack whose queries and keys are the same tokens.

    Raises:
        ValueError: If a mask hides tokens between visible tokens, because models count positions
            differently then.
    """
    indices, _ = input_places(attention, stack)
    inputs = {} if attention.reading is None else attention.reading.inputs
    position_ids = inputs.get("position_ids")
    if (
        stack == "self"
        and position_ids is not None
        and position_ids.shape[0] == 1
        and position_ids.ndim == 2
    ):
        return [int(position_ids[0, index]) for index in indices]
    if indices and indices != list(range(indices[0], indices[0] + len(indices))):
        raise ValueError(
            "the attention mask hides tokens between visible tokens, and models number their "
            "positions in different ways: pass position_ids, or leave these tokens out"
        )
    return indices


def _kept(mask: Tensor | None, count: int) -> list[int]:
    if mask is None or mask.ndim != 2:
        return list(range(count))
    visible = torch.nonzero(mask[0] != 0)[:, 0].tolist()
    return visible if len(visible) == count else list(range(count))
