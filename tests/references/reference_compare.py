"""Two models compared by loops over single texts: what `compare` must agree with."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from references.reference_surface import entropy

Array = NDArray[np.float64]


def maps(hf_model: Any, ids: list[int], types: list[int], padded: int | None = None) -> Array:
    """[L, H, n, n] of one input as transformers computes them, alone or padded to a length."""
    missing = (padded or len(ids)) - len(ids)
    given = {
        "input_ids": torch.tensor([ids + [0] * missing]),
        "token_type_ids": torch.tensor([types + [0] * missing]),
        "attention_mask": torch.tensor([[1] * len(ids) + [0] * missing]),
    }
    hf_model.set_attn_implementation("eager")
    with torch.no_grad():
        attentions = hf_model(**given, output_attentions=True).attentions
    return torch.stack(attentions)[:, 0].double().numpy()


def cosine(first: Array, second: Array) -> float:
    """Of two maps as vectors."""
    dot = sum(a * b for a, b in zip(first.ravel(), second.ravel(), strict=True))
    squares = [sum(a * a for a in one.ravel()) for one in (first, second)]
    return float(dot / np.sqrt(squares[0] * squares[1]))


def divergence(first: Array, second: Array, smoothing: float = 1e-4) -> float:
    """Jensen-Shannon divergence of smoothed rows in nats, the mean over rows."""
    n = len(first)
    total = 0.0
    for row_a, row_b in zip(first, second, strict=True):
        p, q = ((1 - smoothing) * row + smoothing / len(row) for row in (row_a, row_b))
        for x, y in zip(p, q, strict=True):
            middle = (x + y) / 2
            total += (x * log(x / middle) + y * log(y / middle)) / 2
    return total / n


def compared(first: Array, second: Array, words: list[int]) -> dict[str, float]:
    """The numbers of one head on one text; `words` are the places of all but special tokens."""
    return {
        "cosine": cosine(first, second),
        "cosine without special tokens": cosine(
            first[np.ix_(words, words)], second[np.ix_(words, words)]
        ),
        "divergence": divergence(first, second),
        "entropy change": entropy(second) - entropy(first),
    }
