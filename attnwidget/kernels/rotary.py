"""Rotary position encodings: scores of queries and keys by their pairs of dimensions."""

from __future__ import annotations

import torch
from torch import Tensor


def turned(vectors: Tensor, pairs: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair of dimensions of some vectors by an angle (Su et al. 2021).

    Args:
        vectors: [..., D].
        pairs: int64 [F, 2], the dimensions of each pair; the other dimensions stay.
        angles: [F] radians, from the first dimension of a pair towards the second one.

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
    after the query has turned by the angle.

    Args:
        query: [..., D].
        key: [..., D].
        pairs: int64 [F, 2], the dimensions of each pair.

    Returns:
        [..., F] complex.

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
