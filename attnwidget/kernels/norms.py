"""Norms of the vectors that attention sums, f(x) = (x W_V + b_V) W_O."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.kernels.cells_at_once import cells_at_once

# Number of entries of f(x) that are computed at a time. In the CPU cache, this takes 40 % of the
# time, and long texts do not fill the memory.
_ENTRIES_AT_ONCE = 512 * 1024


def head_projections(weight: Tensor, n_heads: int) -> Tensor:
    """Return the part of an output projection that belongs to each head, float32 [H, Dv, d].

    Args:
        weight: Weight of an `nn.Linear`, [d, H * Dv]; head h owns columns h * Dv to (h + 1) * Dv.
        n_heads: Number of heads, H.

    Raises:
        ValueError: The number of columns is not divisible by the number of heads.

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
    """Return small matrices L with the same effect on vector norms, ||v L_h|| = ||v W_O,h||.

    Computed once per model, the matrices reduce the work of `value_norms` by the factor d / Dv.

    Args:
        projections: Output projection of each head, [H, Dv, d].

    Returns:
        [H, Dv, min(Dv, d)], from the QR decomposition of each transposed W_O,h; on a CUDA GPU,
        [H, Dv, Dv] from inner products.

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

    On a GPU, separate QR decompositions of 1,024 heads take almost a second. Squares lose half of
    the digits, so they are computed in float64.
    """
    exact = projections.double()
    products = exact @ exact.transpose(-1, -2)  # [H, Dv, Dv]
    # A rank-deficient product has no Cholesky factor, so increase its diagonal. This changes norms
    # by a relative error of at most 1e-6.
    diagonal = products.diagonal(dim1=-2, dim2=-1)
    diagonal += 1e-13 * diagonal.sum(-1, keepdim=True) + torch.finfo(torch.float64).tiny
    return torch.linalg.cholesky_ex(products).L.to(projections.dtype)


def value_norms(value: Tensor, projections: Tensor) -> Tensor:
    """Return the norm of the transformed vector of each head and key, ||f(x_j)||.

    The definition is from Kobayashi et al. 2020. Query head h reads value head h // (H / Hkv). The
    output bias belongs to no key and is left out.

    Args:
        value: Values including the value bias, [..., Hkv, K, Dv].
        projections: Result [H, Dv, d] of `head_projections`, or its `projection_factors`.

    Returns:
        Norms, float32 [..., H, K].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import value_norms
        >>> value_norms(torch.tensor([[[3.0, 4.0]]]), 2 * torch.eye(2)[None])
        tensor([[10.]])
    """
    return torch.linalg.vector_norm(_repeated(value, len(projections)) @ projections, dim=-1)


def norm_maps(weights: Tensor, norms: Tensor) -> Tensor:
    """Return the norm of each key's contribution to each query, a_ij ||f(x_j)||.

    Unlike attention weights, rows have different sums (Kobayashi et al. 2020, section 3).

    Args:
        weights: Attention weights [..., H, Q, K].
        norms: Result of `value_norms`, [..., H, K].

    Returns:
        Norms [..., H, Q, K].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import norm_maps
        >>> norm_maps(torch.tensor([[[0.25, 0.75]]]), torch.tensor([[8.0, 4.0]]))
        tensor([[[2., 3.]]])
    """
    return weights.float() * norms.unsqueeze(-2)


def value_products(value: Tensor, projections: Tensor) -> Tensor:
    """Return inner products of the heads' transformed vectors, f_h(x_j) . f_g(x_j), for each key.

    Args:
        value: Values including the value bias, [..., Hkv, K, Dv].
        projections: Result [H, Dv, d] of `head_projections`. `projection_factors` do not work here,
            because different heads are combined.

    Returns:
        Inner products for `summed_norm_maps`, float32 [..., K, H, H]. The square roots of the
        diagonals are the `value_norms`.

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
    for key_block in flat.split(step, dim=1):  # [H, some keys, Dv]
        vectors = (key_block @ projections).transpose(0, 1)  # [some keys, H, d]
        products.append(vectors @ vectors.transpose(-1, -2))
    return torch.cat(products).reshape(*batch, n_key, heads, heads)


def norms_of_products(products: Tensor) -> Tensor:
    """Return the `value_norms` [..., H, K] that correspond to `value_products`.

    Args:
        products: Result of `value_products`, [..., K, H, H].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import norms_of_products
        >>> norms_of_products(torch.tensor([[[9.0, -6.0], [-6.0, 4.0]]]))
        tensor([[3.],
                [2.]])
    """
    return products.diagonal(dim1=-2, dim2=-1).sqrt().transpose(-1, -2)


def summed_norm_maps(weights: Tensor, products: Tensor) -> Tensor:
    """Return the norm of a layer's update from key to query, ||sum over heads of a_ij f(x_j)||.

    Vectors are summed before taking the norm, so heads can cancel (Kobayashi et al. 2020, section
    5). The squared norm is a quadratic form in the weights of the heads, so there is no need to
    compute a vector per query and key.

    Args:
        weights: Attention weights [..., H, Q, K].
        products: Result of `value_products`, [..., K, H, H].

    Returns:
        Norms, float32 [..., Q, K].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norms import summed_norm_maps
        >>> products = torch.tensor([[[9.0, -6.0], [-6.0, 4.0]]])
        >>> summed_norm_maps(torch.tensor([[[1.0]], [[1.0]]]), products)
        tensor([[1.]])
    """
    by_key = weights.float().movedim(-1, -3).transpose(-1, -2).contiguous()  # [..., K, Q, H]
    squares = torch.linalg.vecdot(by_key @ products, by_key)  # [..., K, Q]
    # If heads cancel, rounding can make a square slightly negative.
    return squares.clamp_min(0).sqrt().transpose(-1, -2)


def _repeated(value: Tensor, heads: int) -> Tensor:
    """Return float32 values with one value head per query head."""
    n_value_heads = value.shape[-3]
    if heads % n_value_heads:
        raise ValueError(f"{heads} query heads cannot share {n_value_heads} value heads evenly")
    value = value.float()
    return (
        value if n_value_heads == heads else value.repeat_interleave(heads // n_value_heads, dim=-3)
    )
