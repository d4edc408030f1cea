"""Other links beside predicted links: what a head gives to them, its predictions must exceed."""

from __future__ import annotations

import torch
from torch import Tensor


def controls_at_offsets(links: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of the other visible links at the same offsets.

    The sum of a map with the weights is the mass of the predicted links if each link had the mean
    weight of the other links of its offset. A weight counts in multiples of even attention, because
    a query of a causal model that sees few tokens gives each more weight. Predicted links without
    other links of their offset are left out.

    Args:
        links: Predicted links, bool [..., n, n].
        visible: Links that the model can make, bool [..., n, n].

    Returns:
        The links that have controls, bool [..., n, n], and float32 weights of the same shape.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.link_controls import controls_at_offsets
        >>> links = torch.zeros(3, 3, dtype=torch.bool)
        >>> links[1, 0] = True
        >>> controls_at_offsets(links, torch.ones(3, 3, dtype=torch.bool))[1]
        tensor([[0., 0., 0.],
                [0., 0., 0.],
                [0., 1., 0.]])
    """
    n = links.shape[-1]
    places = torch.arange(n, dtype=torch.long, device=links.device)
    offset = (places[None, :] - places[:, None] + n - 1).flatten()  # key minus query, from 0
    others = visible & ~links
    n_seen = visible.sum(-1, keepdim=True).clamp_min(1)
    even = _by_offset(links.float() / n_seen, offset)
    n_others = _by_offset(others, offset)
    has_others = n_others > 0
    share = torch.where(has_others, even / n_others.clamp_min(1), 0)
    weights = others * n_seen * share[..., offset].unflatten(-1, (n, n))
    return links & has_others[..., offset].unflatten(-1, (n, n)), weights


def controls_beside(links: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of the links to the keys before and after their keys.

    The sum of a map with the weights is the mass that the predicted links would get if each got the
    mean weight of its neighbours. Predicted links without a visible neighbour are left out.

    The arguments and results are the same as in `controls_at_offsets`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.link_controls import controls_beside
        >>> links = torch.tensor([[False, True, False]] + 2 * [[False] * 3])
        >>> controls_beside(links, torch.ones(3, 3, dtype=torch.bool))[1][0]
        tensor([0.5000, 0.0000, 0.5000])
    """
    others = visible & ~links
    n_neighbours = _moved(others, 1).float() + _moved(others, -1).float()
    kept = links & (n_neighbours > 0)
    share = kept.float() / n_neighbours.clamp_min(1)
    return kept, others * (_moved(share, 1) + _moved(share, -1))


def _by_offset(cells: Tensor, offset: Tensor) -> Tensor:
    """Return the number of cells of each offset, float32 [..., 2 n - 1]."""
    flat = cells.flatten(-2).float()
    sums = flat.new_zeros(*flat.shape[:-1], int(offset.max()) + 1)
    return sums.index_add_(-1, offset, flat)


def _moved(cells: Tensor, by: int) -> Tensor:
    """Return the cells moved along the keys by 1 or -1; the free column is 0."""
    moved = cells.roll(by, -1)
    moved[..., 0 if by > 0 else -1] = 0
    return moved
