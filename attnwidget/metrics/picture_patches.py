"""Patches of the pictures of a batch, for picture metrics."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.text.patch_geometry import Patches


def patches_of(batch: Batch, metric: str) -> list[Patches]:
    """Return the patches of each input of a batch.

    Raises:
        ValueError: If an input has no token with a position in a picture.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> measure_attention(load_model().attend("The cat sat."), ["attention_distance"])
        Traceback (most recent call last):
        ...
        ValueError: 'attention_distance' is of pictures, and no token of input 0 has a place in ...
    """
    patches_by_input = []
    for number, tokens in enumerate(batch.tokens):
        patches = Patches.from_regions(tokens.places)
        if not len(patches):
            raise ValueError(
                f"{metric!r} is of pictures, and no token of input {number} has a place in a "
                "picture: pass the attention of a picture, or weights with places, "
                "Attention.from_weights(weights, tokens, places=boxes, images=[picture])"
            )
        patches_by_input.append(patches)
    return patches_by_input


def rows_of(patches: Patches, layer: LayerBatch) -> tuple[slice, Tensor]:
    """Return the slice of patches whose rows are present, and the indices of these rows."""
    low, high = np.searchsorted(patches.tokens, (layer.first, layer.first + layer.weights.shape[2]))
    rows = torch.from_numpy(patches.tokens[low:high] - layer.first)
    return slice(int(low), int(high)), rows.to(layer.weights.device)
