"""Ablation: replacement weights for an attention head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def uniform_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """Return weights of 1/L on the L visible keys of a query (Kovaleva et al. 2019, section 4.3).

    The output of the attention head becomes the mean of the visible values. A query without visible
    keys (for example padding) gets 1/K on every key, like a softmax of equal scores.

    Args:
        weights: Attention weights [..., Q, K]. The result has the same shape and dtype.
        visible: Mask of visible keys, bool, broadcastable to `weights`; None = all keys.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import uniform_weights
        >>> uniform_weights(torch.eye(3), torch.ones(3, 3).tril().bool())[1].tolist()
        [0.5, 0.5, 0.0]
    """
    is_visible = _expanded(weights, visible)
    exact = torch.promote_types(weights.dtype, torch.float32)
    return (is_visible.to(exact) / is_visible.sum(-1, keepdim=True)).to(weights.dtype)


def first_key_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """Return weights of 1 on the first visible key of each query, and 0 on other keys.

    The arguments are the same as in `uniform_weights`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import first_key_weights
        >>> first_key_weights(torch.eye(3))[2].tolist()
        [1.0, 0.0, 0.0]
    """
    first = _expanded(weights, visible).byte().argmax(-1, keepdim=True)
    return torch.zeros_like(weights).scatter(-1, first, 1.0)


def weights_without_edges(
    weights: Tensor, edges: Sequence[tuple[int, int]], sink: Tensor | None = None
) -> Tensor:
    """Set the weights of (query, key) edges to 0, like scores of minus infinity before the softmax.

    The weight of an edge goes to the other keys of its query, in proportion to their weights. An
    attention sink also gets a share, so the sum of the row decreases. A row that loses all of its
    weight is 0.

    Args:
        weights: Attention weights [..., Q, K].
        edges: Pairs (query, key), both counted from 0.
        sink: Weight of each query on the attention sink, [..., Q, 1]; None = the model has no sink.

    Raises:
        ValueError: An edge is not among the Q queries and K keys.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import weights_without_edges
        >>> weights_without_edges(torch.tensor([[0.5, 0.25, 0.25]]), [(0, 0)]).tolist()
        [[0.0, 0.5, 0.5]]
        >>> beside_sink = torch.tensor([[0.5, 0.25]])
        >>> weights_without_edges(beside_sink, [(0, 0)], torch.tensor([[0.25]])).tolist()
        [[0.0, 0.5]]
    """
    n_query, n_key = weights.shape[-2:]
    is_edge = torch.zeros(n_query, n_key, dtype=torch.bool, device=weights.device)
    for query, key in edges:
        if not (0 <= query < n_query and 0 <= key < n_key):
            raise ValueError(
                f"edge ({query}, {key}) is not among the {n_query} queries and {n_key} keys of "
                "this input: an edge is (query, key), both counted from 0"
            )
        is_edge[query, key] = True
    remaining = weights.masked_fill(is_edge, 0)
    remaining_sum = remaining.sum(-1, keepdim=True)
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        remaining_sum, total = remaining_sum + sink, total + sink
    scaled = (remaining * (total / remaining_sum.where(remaining_sum > 0, 1))).to(weights.dtype)
    # Scaling rounds, so copy rows without an edge unchanged.
    return torch.where(is_edge.any(-1, keepdim=True), scaled, weights)


def _expanded(weights: Tensor, visible: Tensor | None) -> Tensor:
    """Expand `visible` to the shape of `weights`; a query without visible keys sees all keys."""
    if visible is None:
        return torch.ones_like(weights, dtype=torch.bool)
    return (visible | ~visible.any(-1, keepdim=True)).expand(weights.shape)
