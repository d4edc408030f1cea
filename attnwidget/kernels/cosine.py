"""How alike two maps are as wholes: the cosine of the angle between them."""

from __future__ import annotations

import torch
from torch import Tensor


def map_cosines(weights: Tensor, others: Tensor, tokens: Tensor) -> Tensor:
    """Cosine between two maps of each head, flattened to vectors (Kovaleva et al. 2019, 4.3).

    `weights` and `others` [B, H, n, n]; `tokens` bool [B, n]: those whose rows and columns count.
    Returns float64 [B, H], 0 to 1: exactly 1 where the two are equal, 0 where one has no weight
    at all, NaN where no token counts. Raises ValueError where the shapes differ.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.cosine import map_cosines
        >>> itself, even = torch.eye(4)[None, None], torch.full((1, 1, 4, 4), 0.25)
        >>> map_cosines(itself, even, torch.ones(1, 4, dtype=torch.bool))
        tensor([[0.5000]], dtype=torch.float64)
    """
    if weights.shape != others.shape:
        raise ValueError(
            f"maps of one shape are compared, got {list(weights.shape)} and {list(others.shape)}"
        )
    found = torch.full(weights.shape[:2], torch.nan, dtype=torch.float64, device=weights.device)
    for document, counted in enumerate(tokens):
        at = counted.nonzero()[:, 0]
        if len(at):
            # A document at a time: its vectors, in float64, stay in a core's cache.
            a, b = (m[document][:, at[:, None], at].double().flatten(1) for m in (weights, others))
            lengths = torch.linalg.vector_norm(a, dim=-1) * torch.linalg.vector_norm(b, dim=-1)
            cosines = torch.linalg.vecdot(a, b) / lengths.clamp(min=torch.finfo(a.dtype).tiny)
            # The quotient of two equal vectors may round to less than 1.
            found[document] = torch.where((a == b).all(-1), 1.0, cosines.clamp(0, 1))
    return found
