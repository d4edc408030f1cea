"""Ablation: the weights that a head has in place of its own, and the outputs it is given."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def uniform_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """1/L on each of the L keys that a query may see (Kovaleva et al. 2019, section 4.3).

    The head's output becomes the mean of the values it may see. A query that may see none, as
    padding can be, gets 1/K on every key, as the softmax of equal scores gives it.

    Args:
        weights: [..., Q, K], whose shape and dtype are kept.
        visible: bool, broadcastable to `weights`; None = all.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import uniform_weights
        >>> uniform_weights(torch.eye(3), torch.ones(3, 3).tril().bool())[1].tolist()
        [0.5, 0.5, 0.0]
    """
    seen = _expanded(weights, visible)
    return (seen / seen.sum(-1, keepdim=True)).to(weights.dtype)


def first_key_weights(weights: Tensor, visible: Tensor | None = None) -> Tensor:
    """All weight on the first key that a query may see; arguments as in `uniform_weights`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import first_key_weights
        >>> first_key_weights(torch.eye(3))[2].tolist()
        [1.0, 0.0, 0.0]
    """
    first = _expanded(weights, visible).byte().argmax(-1, keepdim=True)
    return torch.zeros_like(weights).scatter(-1, first, 1.0)


def weights_without_edges(weights: Tensor, edges: Sequence[tuple[int, int]]) -> Tensor:
    """Weights [..., Q, K] without those of (query, key), the rest of the row scaled to its sum.

    The same as if the key's score were minus infinity before the softmax; a row keeps its sum, of
    less than 1 where the model has attention sinks. A row that loses all of its weight is 0.

    Raises:
        ValueError: an edge is not among the Q queries and K keys.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.ablation import weights_without_edges
        >>> weights_without_edges(torch.tensor([[0.5, 0.25, 0.25]]), [(0, 0)]).tolist()
        [[0.0, 0.5, 0.5]]
    """
    n_query, n_key = weights.shape[-2:]
    cut = torch.zeros(n_query, n_key, dtype=torch.bool, device=weights.device)
    for query, key in edges:
        if not (0 <= query < n_query and 0 <= key < n_key):
            raise ValueError(
                f"edge ({query}, {key}) is not among the {n_query} queries and {n_key} keys of "
                "this input: an edge is (query, key), both counted from 0"
            )
        cut[query, key] = True
    rest = weights.masked_fill(cut, 0)
    left = rest.sum(-1, keepdim=True)
    scaled = rest * (weights.sum(-1, keepdim=True) / left.where(left > 0, 1))
    # Rows without an edge stay what they are to the last bit.
    return torch.where(cut.any(-1, keepdim=True), scaled, weights)


def _expanded(weights: Tensor, visible: Tensor | None) -> Tensor:
    """Bool in the shape of `weights`: what is visible, everything where nothing is."""
    if visible is None:
        return torch.ones_like(weights, dtype=torch.bool)
    return (visible | ~visible.any(-1, keepdim=True)).expand(weights.shape)
