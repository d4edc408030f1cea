"""Rotary position encodings: rotations, and query-key products per pair of dimensions."""

from __future__ import annotations

import torch
from torch import Tensor


def turned(vectors: Tensor, pairs: Tensor, angles: Tensor) -> Tensor:
    """Rotate vectors by an angle in each pair of dimensions (Su et al. 2021).

    Args:
        vectors: Vectors [..., D].
        pairs: Dimensions of each pair, int64 [F, 2]; other dimensions are unchanged.
        angles: Angles in radians, from the first dimension of a pair to the second, [F].

    Example:
        >>> import torch
        >>> quarter = torch.tensor([torch.pi / 2])
        >>> turned(torch.tensor([1.0, 5.0, 0.0]), torch.tensor([[0, 2]]), quarter).round()
        tensor([-0.,  5.,  1.])
    """
    first, second = (vectors[..., pairs[:, side]] for side in (0, 1))
    cos, sin = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    result = vectors.clone()
    result[..., pairs[:, 0]] = first * cos - second * sin
    result[..., pairs[:, 1]] = second * cos + first * sin
    return result


def pair_products(query: Tensor, key: Tensor, pairs: Tensor) -> Tensor:
    """Return the product of a query and a key in each pair of dimensions, as complex numbers.

    The real parts are the contributions to query . key. A product times exp(i angle) is the product
    after rotating the query by the angle.

    Args:
        query: Queries [..., D].
        key: Keys [..., D].
        pairs: Dimensions of each pair, int64 [F, 2].

    Returns:
        Products, complex [..., F].

    Example:
        >>> import torch
        >>> query, key = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
        >>> pair_products(query, key, torch.tensor([[0, 1]]))
        tensor([11.+2.j])
    """
    queries, keys = (
        torch.complex(side[..., pairs[:, 0]], side[..., pairs[:, 1]]) for side in (query, key)
    )
    return queries * keys.conj()
