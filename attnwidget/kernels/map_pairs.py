"""How alike two maps of each head are: cosines, Jensen-Shannon divergences, changes of entropy."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnwidget.kernels.cache_blocks import cache_blocks, from_zero, scratch
from attnwidget.kernels.divergence import log2


class PairSums(NamedTuple):
    """Sums over the keys of every query of two maps, float64 [3, B, H, n] each.

    Attributes:
        whole: of the products of both maps, of the first with itself, of the second with itself.
        without: the same without the keys that are `apart`.
        logs: of p log p in the first map, in the second and in their mean, in nats, p smoothed.
    """

    whole: Tensor
    without: Tensor
    logs: Tensor


def pair_sums(
    weights: Tensor, others: Tensor, apart: Tensor, keys: Tensor, *, smoothing: float = 1e-4
) -> PairSums:
    """The sums behind `map_cosines` and `map_divergences`, from one walk over both maps.

    Rows are smoothed for logarithms to p = (1 - smoothing) a + smoothing / K, as `entropy` does.
    A row is summed in float32: means over a row's queries are right to 1e-6.

    Args:
        weights: float32 [B, H, n, n], 0 in columns of padding.
        others: the same of another reading.
        apart: bool [B, n], the keys that `without` is without.
        keys: int64 [B], K of each document.
        smoothing: 0 to 1, without the ends.

    Raises:
        ValueError: the shapes differ, or `smoothing` is not above 0 and below 1.

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
        raise ValueError(f"smoothing is above 0 and below 1, got {smoothing}")
    uniform = (smoothing / keys.double()).to(weights.dtype)[:, None, None, None]
    kept = (~apart)[:, None, None].to(weights.dtype)  # [B, 1, 1, n]
    sums_of = _by_numpy if weights.device.type == "cpu" else _by_torch
    exact = sums_of(weights, others, kept, uniform, 1 - smoothing).double()
    return PairSums(exact[:3], exact[3:6], exact[6:] * math.log(2))


def _by_torch(a: Tensor, b: Tensor, kept: Tensor, uniform: Tensor, share: float) -> Tensor:
    """Those of `PairSums` [9, B, H, n], logarithms to the base 2, of maps that are on a GPU."""
    # A difference of sums would lose the smaller one: what is without `apart` is summed by itself.
    products = [(a, b), (a, a), (b, b), (a * kept, b), (a * kept, a), (b * kept, b)]
    p = uniform + share * a
    q = uniform + share * b
    products += [(smooth, smooth.log2()) for smooth in (p, q, (p + q) / 2)]
    return torch.stack([torch.linalg.vecdot(*pair) for pair in products])


def _by_numpy(a: Tensor, b: Tensor, kept: Tensor, uniform: Tensor, share: float) -> Tensor:
    """The same, a part of the maps at a time: numpy takes half as long for it as torch."""
    sums = a.new_empty(9, *a.shape[:3])
    totals = sums.numpy()
    room = scratch(a, 3).numpy()
    firsts, seconds, inside, even = (array.detach().numpy() for array in (a, b, kept, uniform))
    columns_apart = [np.flatnonzero(is_kept == 0) for is_kept in inside[:, 0, 0]]
    factor = totals.dtype.type(share)
    half = totals.dtype.type(0.5)
    for block in cache_blocks(a.shape):
        first = firsts[block]
        second = seconds[block]
        documents = block[0]
        p, q, logs = room[(slice(None), *from_zero(block))]
        # A product with `inside` would take twice as long as a copy.
        for maps, inner in ((first, p), (second, q)):
            np.copyto(inner, maps)
            for document, columns in zip(inner, columns_apart[documents], strict=True):
                document[..., columns] = 0
        out = totals[(slice(None), *block)]
        for place, pair in enumerate(((p, second), (p, first), (q, second)), 3):
            np.vecdot(*pair, out=out[place])
        # Few keys are `apart`: their products are added, so that no product is taken twice.
        for document, columns in enumerate(columns_apart[documents]):
            of_first = first[document][..., columns]
            of_second = second[document][..., columns]
            pairs = ((of_first, of_second), (of_first, of_first), (of_second, of_second))
            for place, pair in enumerate(pairs):
                np.add(out[3 + place, document], np.vecdot(*pair), out=out[place, document])
        for place, (maps, smooth) in enumerate(((first, p), (second, q)), 6):
            np.multiply(maps, factor, out=smooth)
            smooth += even[documents]
            log2(smooth, logs)
            np.vecdot(smooth, logs, out=out[place])
        p += q
        p *= half
        log2(p, logs)
        np.vecdot(p, logs, out=out[8])
    return sums


def map_cosines(products: Tensor, rows: Tensor) -> Tensor:
    """Cosine between two maps of each head, flattened to vectors (Kovaleva et al. 2019, 4.3).

    `products` [3, B, H, n], `whole` or `without` of `pair_sums`; `rows` bool [B, n], the queries
    that count. Returns float64 [B, H], 0 to 1: exactly 1 where the two are equal, 0 where one has
    no weight at all, NaN where no row counts.
    """
    both, first, second = torch.linalg.vecdot(products, rows[:, None].double())
    lengths = (first * second).sqrt().clamp(min=torch.finfo(torch.float64).tiny)
    cosines = torch.where((both == first) & (both == second), 1.0, (both / lengths).clamp(0, 1))
    return cosines.masked_fill(~rows.any(-1)[:, None], torch.nan)


def map_divergences(logs: Tensor) -> tuple[Tensor, Tensor]:
    """Jensen-Shannon divergence of each query between two maps, and its change of entropy, in nats.

    `logs` [3, B, H, n] of `pair_sums`: the divergence is H((p + q) / 2) - (H(p) + H(q)) / 2, so
    that three entropies give both numbers. Returns two float64 [B, H, n]: the divergence, exactly 0
    where rows are equal, and the entropy in the second map minus that in the first. Rows of padding
    are arbitrary.
    """
    first, second, middle = logs
    return ((first + second) / 2 - middle).clamp(min=0), first - second
