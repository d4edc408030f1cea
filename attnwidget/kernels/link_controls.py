"""Control links for predicted links: a head must attend more to its predictions than to these."""

from __future__ import annotations

import torch
from torch import Tensor

# Weight of the penalty in the fit, in links per key.
_PENALTY = 0.1


def controls_at_offsets(links: Tensor, visible: Tensor, compared: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of other links with the same offsets and keys.

    The weighted sum of a map is the mass that the predicted links would have if the map depended
    only on offsets and keys. Least squares fit a sum of three parts to the remaining links: a value
    per offset, a value per key, and a share of even attention. The fit then predicts the mass. For
    heads with even attention, with attention to a single key, or with attention to a fixed offset,
    this mass equals their score. Keys without remaining links have the mean value.

    Rules about a kind of token predict links from all queries, so their keys have no remaining
    links. Such a link then has the mean weight at its offset, in multiples of even attention,
    because in a causal model the weights of a query are larger if the query sees few tokens.
    Predicted links without remaining links at their offset are left out.

    Args:
        links: Predicted links, bool [..., n, n].
        visible: Possible links in the model, bool [..., n, n].
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
    links_with_controls = links & _at_offset(n_others > 0, offset)
    has_fit = (
        (links_with_controls & others.any(-2, keepdim=True)).flatten(-2).any(-1)[..., None, None]
    )
    fitted_links = links_with_controls & has_fit
    share = _by_offset((links_with_controls & ~fitted_links) * even, offset) / n_others.clamp_min(1)
    weights = others * _at_offset(share, offset) / even.where(visible, even.new_ones(()))
    if bool(fitted_links.any()):
        weights = weights + _fit(fitted_links, others, even, offset)
    return links_with_controls, weights


def _fit(links: Tensor, others: Tensor, even: Tensor, offset: Tensor) -> Tensor:
    """Return weights of the remaining links whose weighted sum is the fit's prediction.

    The offset values are eliminated, so the unknowns are the values of the n keys and the share of
    even attention. All terms are differences from the mean at the offset. The result is
    [..., n, n].
    """
    n = links.shape[-1]
    cells = others.double()
    even_cells = cells * even
    n_others = _by_offset(cells, offset).clamp_min(1)
    # Mask of the keys that have another link at each offset, [..., 2 n - 1, n].
    keys = cells.new_zeros(*cells.shape[:-2], 2 * n - 1, n)
    keys.scatter_(-2, offset.unflatten(0, (n, n)).expand(cells.shape), cells)
    features = torch.cat(
        [keys, _by_offset(even_cells, offset)[..., None]], -1
    )  # [..., 2 n - 1, n + 1]
    products = cells.new_zeros(*cells.shape[:-2], n + 1, n + 1)
    products[..., :n, :n] = torch.diag_embed(cells.sum(-2))
    products[..., :n, n] = products[..., n, :n] = even_cells.sum(-2)
    products[..., n, n] = (even_cells * even).sum((-2, -1))
    products = products - features.mT @ (features / n_others[..., None])
    penalty = torch.full_like(products[..., 0], _PENALTY)
    # Without a causal mask, even attention is part of the offset values, so its own share is not
    # determined: a tiny penalty keeps the system solvable.
    penalty[..., n] = 1e-6
    per_offset = _by_offset(links, offset).double() / n_others
    key_counts = links.sum(-2).double()
    has_others = others.any(-2)
    mean_share = (key_counts * ~has_others).sum(-1, keepdim=True) / has_others.sum(-1, keepdim=True)
    key_counts = torch.where(has_others, key_counts + mean_share, 0)
    target = torch.cat([key_counts, (links * even).double().sum((-2, -1))[..., None]], -1)
    target = target - (features.mT @ per_offset[..., None])[..., 0]
    solution = torch.linalg.solve(products + torch.diag_embed(penalty), target)
    parts = solution[..., None, :n] + solution[..., None, n:] * even
    residual = per_offset - _by_offset(cells * parts, offset) / n_others
    return (cells * (parts + _at_offset(residual, offset))).float()


def controls_beside(links: Tensor, visible: Tensor, compared: Tensor) -> tuple[Tensor, Tensor]:
    """Return predicted links, and weights of the links to neighboring keys.

    The weighted sum of a map is the mass that the predicted links would have if each had the mean
    weight of its neighbors. Predicted links without a visible neighbor are left out.

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
    links_with_controls = links & (n_neighbors > 0)
    share = links_with_controls.float() / n_neighbors.clamp_min(1)
    return links_with_controls, others * (_moved(share, 1) + _moved(share, -1))


def _offsets(n: int, device: torch.device) -> Tensor:
    """Return the offset of each link, key minus query plus n - 1, int64 [n * n]."""
    positions = torch.arange(n, dtype=torch.long, device=device)
    return (positions[None, :] - positions[:, None] + n - 1).flatten()


def _by_offset(cells: Tensor, offset: Tensor) -> Tensor:
    """Return the sum of the cells at each offset, [..., 2 n - 1]; float32 for bools."""
    flat = cells.flatten(-2)
    flat = flat if flat.is_floating_point() else flat.float()
    sums = flat.new_zeros(*flat.shape[:-1], int(offset.max()) + 1)
    return sums.index_add_(-1, offset, flat)


def _at_offset(values: Tensor, offset: Tensor) -> Tensor:
    """Return offset values [..., 2 n - 1] at each link, [..., n, n]."""
    n = (values.shape[-1] + 1) // 2
    return values[..., offset].unflatten(-1, (n, n))


def _moved(cells: Tensor, by: int) -> Tensor:
    """Return the cells shifted along the keys by 1 or -1; the vacated column is 0."""
    shifted = cells.roll(by, -1)
    shifted[..., 0 if by > 0 else -1] = 0
    return shifted
