"""The plane that shows the scores of a head best: a biplot of its queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor


def score_plane(query: Tensor, key: Tensor, scaling: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return points of queries and keys whose inner products are the scores, as well as two can.

    A constant for each query leaves the softmax unchanged, so the mean key is subtracted first. The
    points are the best rank-2 form of scaling * query (key - mean)^T in the sense of least squares
    (Gabriel 1971). Signs are fixed: the key farthest along an axis is on its positive side.

    Args:
        query: [Q, D].
        key: [K, D].
        scaling: Factor of the scores.

    Returns:
        Points of the queries [Q, 2], points of the keys [K, 2], and the singular values of the
        centred scores, largest first.

    Example:
        >>> import torch
        >>> query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> key = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> queries, keys, values = score_plane(query, key, 1.0)
        >>> scores = query @ (key - key.mean(0)).T
        >>> torch.allclose((queries @ keys.T).float(), scores, atol=1e-6)
        True
    """
    query, key = query.double(), key.double()
    # The singular values of a product of tall matrices are those of their small factors.
    left = torch.linalg.qr(scaling * query)
    right = torch.linalg.qr(key - key.mean(0))
    u, values, vh = torch.linalg.svd(left.R @ right.R.T)
    pad = max(0, 2 - len(values))
    roots = torch.nn.functional.pad(values, (0, pad))[:2].sqrt()
    queries = torch.nn.functional.pad(left.Q @ u[:, :2], (0, pad)) * roots
    keys = torch.nn.functional.pad(right.Q @ vh[:2].T, (0, pad)) * roots
    farthest = keys.gather(0, keys.abs().argmax(0, keepdim=True))
    signs = torch.ones_like(farthest).masked_fill(farthest < 0, -1.0)
    return queries * signs, keys * signs, values
