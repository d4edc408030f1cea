"""The vectors that attention really sums: f(x) = (x W_V + b_V) W_O, and how long they are."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.kernels.cells_at_once import cells_at_once

# Entries of the vectors f(x) made at a time: in a processor's cache they cost 40 % of the time,
# and long texts do not fill the memory.
_ENTRIES_AT_ONCE = 512 * 1024


def head_projections(weight: Tensor, n_heads: int) -> Tensor:
    """Each head's share of an output projection, [H, Dv, d] float32.

    `weight` [d, H * Dv], as `nn.Linear` keeps it: head h owns the columns h * Dv to (h + 1) * Dv.
    Raises ValueError where the columns do not divide among the heads.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import head_projections
        >>> head_projections(torch.arange(12.0).reshape(3, 4), n_heads=2)[1]
        tensor([[ 2.,  6., 10.],
                [ 3.,  7., 11.]])
    """
    if weight.shape[1] % n_heads:
        raise ValueError(
            f"an output projection of {weight.shape[1]} columns does not divide among {n_heads} "
            "heads"
        )
    return weight.float().reshape(weight.shape[0], n_heads, -1).permute(1, 2, 0).contiguous()


def projection_factors(projections: Tensor) -> Tensor:
    """Small matrices that lengthen vectors as `projections` do: ||v L_h|| = ||v W_O,h||.

    `projections` [H, Dv, d]; returns [H, Dv, min(Dv, d)], from the QR decomposition of each W_O,h
    transposed; on a CUDA GPU [H, Dv, Dv] from inner products. Computed once a model, it saves
    d / Dv of the work of `value_norms`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import projection_factors
        >>> (torch.tensor([3.0]) @ projection_factors(torch.tensor([[[3.0, 4.0]]]))).abs()
        tensor([[15.]])
    """
    if projections.device.type == "cuda":
        return _factors_of_products(projections)
    return torch.linalg.qr(projections.transpose(-1, -2), mode="r").R.transpose(-1, -2)


def _factors_of_products(projections: Tensor) -> Tensor:
    """Return the Cholesky factors of W_O W_O^T, which a GPU computes for all heads at once.

    The QR decompositions of 1,024 heads, head by head, take most of a second on a GPU. Squares
    lose half of the digits, so they are in float64.
    """
    exact = projections.double()
    products = exact @ exact.transpose(-1, -2)  # [H, Dv, Dv]
    # Heads of few dimensions have no factor without a diagonal. It adds 1e-6 of the length at most.
    diagonal = products.diagonal(dim1=-2, dim2=-1)
    diagonal += 1e-13 * diagonal.sum(-1, keepdim=True) + torch.finfo(torch.float64).tiny
    return torch.linalg.cholesky_ex(products).L.to(projections.dtype)


def value_norms(value: Tensor, projections: Tensor) -> Tensor:
    """Length of the transformed vector of every head and key, ||f(x_j)|| (Kobayashi et al. 2020).

    `value` [..., Hkv, K, Dv] with the value bias in it; `projections` [H, Dv, d] of
    `head_projections`, or their `projection_factors`; query head h reads value head
    h // (H / Hkv). The output bias belongs to no key and is left out. Returns [..., H, K] float32.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import value_norms
        >>> value_norms(torch.tensor([[[3.0, 4.0]]]), 2 * torch.eye(2)[None])
        tensor([[10.]])
    """
    return torch.linalg.vector_norm(_repeated(value, len(projections)) @ projections, dim=-1)


def norm_maps(weights: Tensor, norms: Tensor) -> Tensor:
    """||a_ij f(x_j)|| = a_ij ||f(x_j)||: how much of each key really reaches each query.

    `weights` [..., H, Q, K], `norms` [..., H, K] of `value_norms`. Returns [..., H, Q, K]; unlike
    weights, rows have no common sum (Kobayashi et al. 2020, section 3).

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import norm_maps
        >>> norm_maps(torch.tensor([[[0.25, 0.75]]]), torch.tensor([[8.0, 4.0]]))
        tensor([[[2., 3.]]])
    """
    return weights.float() * norms.unsqueeze(-2)


def value_products(value: Tensor, projections: Tensor) -> Tensor:
    """Inner products of the heads' transformed vectors, f_h(x_j) . f_g(x_j), for every key.

    `value` [..., Hkv, K, Dv], `projections` [H, Dv, d] (no factors: heads are compared with each
    other). Returns [..., K, H, H] float32, all that `summed_norm_maps` needs to know; the roots of
    its diagonals are `value_norms`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import value_products
        >>> value_products(torch.tensor([[[1.0]], [[2.0]]]), torch.tensor([[[3.0]], [[-1.0]]]))
        tensor([[[ 9., -6.],
                 [-6.,  4.]]])
    """
    heads, _, width = projections.shape
    value = _repeated(value, heads)
    batch = value.shape[:-3]
    n_key = value.shape[-2]
    flat = value.movedim(-3, 0).reshape(heads, -1, value.shape[-1])  # [H, all keys, Dv]
    step = max(1, cells_at_once(flat.device, _ENTRIES_AT_ONCE) // (heads * width))
    products = []
    for some in flat.split(step, dim=1):  # [H, some keys, Dv]
        vectors = (some @ projections).transpose(0, 1)  # [some keys, H, d]
        products.append(vectors @ vectors.transpose(-1, -2))
    return torch.cat(products).reshape(*batch, n_key, heads, heads)


def norms_of_products(products: Tensor) -> Tensor:
    """`value_norms` [..., H, K] from `value_products` [..., K, H, H].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import norms_of_products
        >>> norms_of_products(torch.tensor([[[9.0, -6.0], [-6.0, 4.0]]]))
        tensor([[3.],
                [2.]])
    """
    return products.diagonal(dim1=-2, dim2=-1).sqrt().transpose(-1, -2)


def summed_norm_maps(weights: Tensor, products: Tensor) -> Tensor:
    """||sum over heads of a_ij f(x_j)||: the update of a whole layer from key to query.

    Vectors are summed before their length is taken, so heads can cancel (Kobayashi et al. 2020,
    section 5). As a quadratic form in the weights of the heads, it needs no vector per query and
    key. `weights` [..., H, Q, K], `products` [..., K, H, H] of `value_products`. Returns
    [..., Q, K] float32.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import summed_norm_maps
        >>> products = torch.tensor([[[9.0, -6.0], [-6.0, 4.0]]])
        >>> summed_norm_maps(torch.tensor([[[1.0]], [[1.0]]]), products)
        tensor([[1.]])
    """
    by_key = weights.float().movedim(-1, -3).transpose(-1, -2).contiguous()  # [..., K, Q, H]
    squares = torch.linalg.vecdot(by_key @ products, by_key)  # [..., K, Q]
    # Where heads cancel, rounding can leave a square just under 0.
    return squares.clamp_min(0).sqrt().transpose(-1, -2)


def _repeated(value: Tensor, heads: int) -> Tensor:
    """`value` is float32, with one value head per group of query heads."""
    n_value_heads = value.shape[-3]
    if heads % n_value_heads:
        raise ValueError(f"{heads} query heads cannot share {n_value_heads} value heads evenly")
    value = value.float()
    return (
        value if n_value_heads == heads else value.repeat_interleave(heads // n_value_heads, dim=-3)
    )
