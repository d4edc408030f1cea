"""Other links beside predicted links: what a head gives to them, its predictions must exceed."""

from __future__ import annotations

import torch
from torch import Tensor

# Weight of the penalty of the fit: a tenth of a link for each key.
_PENALTY = 0.1


def controls_at_offsets(links: Tensor, visible: Tensor, compared: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of the other links of the same offsets and keys.

    The sum of a map with the weights is the mass of the predicted links if only offsets and keys
    decided the map. Least squares fit a sum of three parts to the remaining links: a number for
    each offset, a number for each key, and a share of even attention. The fit then predicts the
    mass. Heads with even attention, with attention to a single key, or with attention to a fixed
    offset have a mass equal to their score. Keys without remaining links have the mean number.

    Rules about a kind of token predict links from all queries, so their keys have no remaining
    links. A link then has the mean weight at its offset, in multiples of even attention: in a
    causal model, the weight of a query is larger if the query sees few tokens. Predicted links
    without remaining links at their offset are left out.

    Args:
        links: Predicted links, bool [..., n, n].
        visible: Links that the model can make, bool [..., n, n].
        compared: Keys of the other links, bool [..., n].

    Returns:
        The links that have controls, bool [..., n, n], and float32 weights of the same shape.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.link_controls import controls_at_offsets
        >>> links = torch.zeros(3, 3, dtype=torch.bool)
        >>> links[:, 0] = True
        >>> every = torch.ones(3, dtype=torch.bool)
        >>> controls_at_offsets(links, torch.ones(3, 3, dtype=torch.bool), every)[1]
        tensor([[0.0000, 0.0000, 0.0000],
                [0.0000, 0.5000, 0.0000],
                [0.0000, 1.0000, 0.5000]])
    """
    n = links.shape[-1]
    offset = _offsets(n, links.device)
    others = visible & ~links & compared[..., None, :]
    even = visible.float() / visible.sum(-1, keepdim=True).clamp_min(1)  # even attention
    n_others = _by_offset(others, offset)
    kept = links & _at_offset(n_others > 0, offset)
    of_fit = (kept & others.any(-2, keepdim=True)).flatten(-2).any(-1)[..., None, None]
    fitted = kept & of_fit
    share = _by_offset((kept & ~fitted) * even, offset) / n_others.clamp_min(1)
    weights = others * _at_offset(share, offset) / even.where(visible, even.new_ones(()))
    if bool(fitted.any()):
        weights = weights + _fit(fitted, others, even, offset)
    return kept, weights


def _fit(links: Tensor, others: Tensor, even: Tensor, offset: Tensor) -> Tensor:
    """Return weights of the remaining links, whose sum is the prediction of a fit, [..., n, n].

    The numbers of offsets are eliminated: the unknowns are the numbers of the n keys and the share
    of even attention. Values are differences from the mean of the offset.
    """
    n = links.shape[-1]
    cells = others.double()
    shared = cells * even
    n_others = _by_offset(cells, offset).clamp_min(1)
    # Which keys have another link at an offset, [..., 2 n - 1, n].
    keys = cells.new_zeros(*cells.shape[:-2], 2 * n - 1, n)
    keys.scatter_(-2, offset.unflatten(0, (n, n)).expand(cells.shape), cells)
    known = torch.cat([keys, _by_offset(shared, offset)[..., None]], -1)  # [..., 2 n - 1, n + 1]
    products = cells.new_zeros(*cells.shape[:-2], n + 1, n + 1)
    products[..., :n, :n] = torch.diag_embed(cells.sum(-2))
    products[..., :n, n] = products[..., n, :n] = shared.sum(-2)
    products[..., n, n] = (shared * even).sum((-2, -1))
    products = products - known.mT @ (known / n_others[..., None])
    penalty = torch.full_like(products[..., 0], _PENALTY)
    # Even attention of a model without a causal mask is no unknown: offsets have its part.
    penalty[..., n] = 1e-6
    per_offset = _by_offset(links, offset).double() / n_others
    of_keys = links.sum(-2).double()
    has_others = others.any(-2)
    without = (of_keys * ~has_others).sum(-1, keepdim=True) / has_others.sum(-1, keepdim=True)
    of_keys = torch.where(has_others, of_keys + without, 0)
    asked = torch.cat([of_keys, (links * even).double().sum((-2, -1))[..., None]], -1)
    asked = asked - (known.mT @ per_offset[..., None])[..., 0]
    solved = torch.linalg.solve(products + torch.diag_embed(penalty), asked)
    parts = solved[..., None, :n] + solved[..., None, n:] * even
    apart = per_offset - _by_offset(cells * parts, offset) / n_others
    return (cells * (parts + _at_offset(apart, offset))).float()


def controls_beside(links: Tensor, visible: Tensor, compared: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of the links to the keys before and after their keys.

    The sum of a map with the weights is the mass that the predicted links would get if each got the
    mean weight of its neighbors. Predicted links without a visible neighbor are left out.

    The arguments and results are the same as in `controls_at_offsets`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.link_controls import controls_beside
        >>> links = torch.tensor([[False, True, False]] + 2 * [[False] * 3])
        >>> every = torch.ones(3, dtype=torch.bool)
        >>> controls_beside(links, torch.ones(3, 3, dtype=torch.bool), every)[1][0]
        tensor([0.5000, 0.0000, 0.5000])
    """
    others = visible & ~links & compared[..., None, :]
    n_neighbors = _moved(others, 1).float() + _moved(others, -1).float()
    kept = links & (n_neighbors > 0)
    share = kept.float() / n_neighbors.clamp_min(1)
    return kept, others * (_moved(share, 1) + _moved(share, -1))


def _offsets(n: int, device: torch.device) -> Tensor:
    """Return the offset of each link, key minus query, counted from 0; int64 [n * n]."""
    places = torch.arange(n, dtype=torch.long, device=device)
    return (places[None, :] - places[:, None] + n - 1).flatten()


def _by_offset(cells: Tensor, offset: Tensor) -> Tensor:
    """Return the sum over the cells of each offset, [..., 2 n - 1]; float32 for bools."""
    flat = cells.flatten(-2)
    flat = flat if flat.is_floating_point() else flat.float()
    sums = flat.new_zeros(*flat.shape[:-1], int(offset.max()) + 1)
    return sums.index_add_(-1, offset, flat)


def _at_offset(values: Tensor, offset: Tensor) -> Tensor:
    """Return the value of the offset of each link, [..., n, n], from [..., 2 n - 1]."""
    n = (values.shape[-1] + 1) // 2
    return values[..., offset].unflatten(-1, (n, n))


def _moved(cells: Tensor, by: int) -> Tensor:
    """Return the cells moved along the keys by 1 or -1; the free column is 0."""
    moved = cells.roll(by, -1)
    moved[..., 0 if by > 0 else -1] = 0
    return moved
