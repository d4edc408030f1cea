"""Comparison of two maps per head: cosine, Jensen-Shannon divergence and change of entropy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnwidget.kernels.cache_blocks import cache_blocks, from_zero, scratch
from attnwidget.kernels.divergence import log2


class PairSums(NamedTuple):
    """Sums over keys for each query of two maps, float64 [3, B, H, n] each.

    Attributes:
        whole: Sums of three products: both maps, the first map squared, the second map squared.
        without: The same sums without the keys in `apart`.
        logs: Sums of p log p in nats, with smoothed p, for the first map, the second map and their
            mean.
    """

    whole: Tensor
    without: Tensor
    logs: Tensor


def pair_sums(
    weights: Tensor, others: Tensor, apart: Tensor, keys: Tensor, *, smoothing: float = 1e-4
) -> PairSums:
    """Return the sums for `map_cosines` and `map_divergences`, in a single pass over both maps.

    For logarithms, rows are smoothed to p = (1 - smoothing) a + smoothing / K, as in `entropy`.
    Rows are summed in float32, so means over queries are accurate to 1e-6.

    Args:
        weights: Attention weights, float32 [B, H, n, n]; 0 in padding columns.
        others: Attention weights of the same heads in another forward pass, with the same shape.
        apart: Keys to leave out in `without`, bool [B, n].
        keys: Number of keys K of each document, int64 [B].
        smoothing: Weight of the uniform distribution, above 0 and below 1.

    Raises:
        ValueError: The shapes differ, or `smoothing` is not above 0 and below 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.map_pairs import map_cosines, map_divergences, pair_sums
        >>> itself, even = torch.eye(2)[None, None], torch.full((1, 1, 2, 2), 0.5)
        >>> none = torch.zeros(1, 2, dtype=torch.bool)
        >>> sums = pair_sums(itself, even, none, torch.tensor([2]))
        >>> map_cosines(sums.whole, ~none)
        tensor([[0.7071]], dtype=torch.float64)
        >>> divergence, change = map_divergences(sums.logs)
        >>> divergence[0, 0, 0], change[0, 0, 0]
        (tensor(0.2155, dtype=torch.float64), tensor(0.6926, dtype=torch.float64))
    """
    if weights.shape != others.shape:
        raise ValueError(
            f"maps of one shape are compared, got {list(weights.shape)} and {list(others.shape)}"
        )
    if not 0 < smoothing < 1:
        raise ValueError(f"smoothing must be above 0 and below 1, got {smoothing}")
    uniform = (smoothing / keys.double()).to(weights.dtype)[:, None, None, None]
    is_included = (~apart)[:, None, None].to(weights.dtype)  # [B, 1, 1, n]
    compute_sums = _by_numpy if weights.device.type == "cpu" else _by_torch
    exact = compute_sums(weights, others, is_included, uniform, 1 - smoothing).double()
    return PairSums(exact[:3], exact[3:6], exact[6:] * math.log(2))


def _by_torch(a: Tensor, b: Tensor, kept: Tensor, uniform: Tensor, share: float) -> Tensor:
    """Return the sums of `PairSums` for maps on a GPU, with base-2 logarithms, [9, B, H, n]."""
    # A difference of sums would lose precision, so sum the products without `apart` directly.
    products = [(a, b), (a, a), (b, b), (a * kept, b), (a * kept, a), (b * kept, b)]
    p = uniform + share * a
    q = uniform + share * b
    products += [(smooth, smooth.log2()) for smooth in (p, q, (p + q) / 2)]
    return torch.stack([torch.linalg.vecdot(*pair) for pair in products])


def _by_numpy(a: Tensor, b: Tensor, kept: Tensor, uniform: Tensor, share: float) -> Tensor:
    """Return the same sums for maps on the CPU, block by block, in half of torch's time."""
    sums = a.new_empty(9, *a.shape[:3])
    totals = sums.numpy()
    buffers = scratch(a, 3).numpy()
    first_maps, second_maps, included, even = (
        array.detach().numpy() for array in (a, b, kept, uniform)
    )
    columns_apart = [np.flatnonzero(is_kept == 0) for is_kept in included[:, 0, 0]]
    factor = totals.dtype.type(share)
    half = totals.dtype.type(0.5)
    for block in cache_blocks(a.shape):
        first = first_maps[block]
        second = second_maps[block]
        documents = block[0]
        p, q, logs = buffers[(slice(None), *from_zero(block))]
        # Copying and clearing columns takes half as long as multiplying by `included`.
        for maps, inner in ((first, p), (second, q)):
            np.copyto(inner, maps)
            for document, columns in zip(inner, columns_apart[documents], strict=True):
                document[..., columns] = 0
        out = totals[(slice(None), *block)]
        for index, pair in enumerate(((p, second), (p, first), (q, second)), 3):
            np.vecdot(*pair, out=out[index])
        # Only a few keys are `apart`, so add their products instead of repeating all products.
        for document, columns in enumerate(columns_apart[documents]):
            first_columns = first[document][..., columns]
            second_columns = second[document][..., columns]
            pairs = (
                (first_columns, second_columns),
                (first_columns, first_columns),
                (second_columns, second_columns),
            )
            for index, pair in enumerate(pairs):
                np.add(out[3 + index, document], np.vecdot(*pair), out=out[index, document])
        for index, (maps, smooth) in enumerate(((first, p), (second, q)), 6):
            np.multiply(maps, factor, out=smooth)
            smooth += even[documents]
            log2(smooth, logs)
            np.vecdot(smooth, logs, out=out[index])
        p += q
        p *= half
        log2(p, logs)
        np.vecdot(p, logs, out=out[8])
    return sums


def map_cosines(products: Tensor, rows: Tensor) -> Tensor:
    """Return the cosine between two flattened maps of each head (Kovaleva et al. 2019, 4.3).

    Args:
        products: Result `whole` or `without` of `pair_sums`, [3, B, H, n].
        rows: Mask of the queries to count, bool [B, n].

    Returns:
        Cosines from 0 to 1, float64 [B, H]: exactly 1 if the maps are equal, 0 if one map has no
        weight, NaN if no row counts.
    """
    both, first, second = torch.linalg.vecdot(products, rows[:, None].double())
    lengths = (first * second).sqrt().clamp(min=torch.finfo(torch.float64).tiny)
    cosines = torch.where((both == first) & (both == second), 1.0, (both / lengths).clamp(0, 1))
    return cosines.masked_fill(~rows.any(-1)[:, None], torch.nan)


def map_divergences(logs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the Jensen-Shannon divergence and the entropy change of each query, in nats.

    The divergence is H((p + q) / 2) - (H(p) + H(q)) / 2, so three entropies determine both values.

    Args:
        logs: Result `logs` of `pair_sums`, [3, B, H, n].

    Returns:
        The divergence, exactly 0 if rows are equal, and the entropy of the second map minus the
        entropy of the first map; float64 [B, H, n] each. Values in padding rows are arbitrary.
    """
    first, second, middle = logs
    return ((first + second) / 2 - middle).clamp(min=0), first - second
