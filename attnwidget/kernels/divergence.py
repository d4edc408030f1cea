"""Jensen-Shannon divergences between the attention maps of head pairs."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# numpy's vectorized log2 needs AVX-512 and Linux; elsewhere torch's log2 is faster.
_NUMPY_LOG = sys.platform == "linux" and torch.backends.cpu.get_cpu_capability() == "AVX512"
# Numbers of cells and heads per block, so that all operations on a block stay in the L2 cache.
# torch would distribute more than 32768 values over its own threads.
_CELLS = 4096
_HEADS = 16 if _NUMPY_LOG else 4
# Number of heads whose two maps are compared together, so that three sums per head fit in a block.
_PAIRS = 2
# If the share of cells with weights is smaller, cells without weights are left out.
_FEW_SEEN = 0.9
# Upper bound for rounding errors of equal maps, in nats per query.
_ROUNDING = 1e-5


# Weights of two maps of one head in the same cells, [C] each.
_TwoMaps: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]


def js_divergences(weights: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Return Jensen-Shannon divergences between all pairs of heads, summed over queries, in nats.

    Rows are first smoothed to p = (1 - smoothing) a + smoothing / K (Clark et al. 2019, section 6,
    as released). With m = p + q, a cell adds (p log p + q log q - m log m + m log 2) / 2. For each
    pair of heads, this is an addition, a logarithm and a product. Cells that no head sees, as in
    causal maps, contribute 0 and are left out. Rows with sinks are compared unchanged, with sums
    below 1. The result is the divergence, not its square root; divide by the number of queries to
    get the mean.

    Args:
        weights: Attention weights [H, Q, K] for one input without padding; heads of one or several
            layers.
        smoothing: Weight of the uniform distribution, above 0 and below 1.

    Returns:
        Divergences, float64 [H, H] on the CPU, symmetric with a diagonal of 0. They are computed in
        float32 and summed in float64, and are accurate to 1e-6 nats per query.

    Raises:
        ValueError: `smoothing` is not above 0 and below 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.divergence import js_divergences
        >>> js_divergences(torch.eye(2).repeat(3, 1, 1)).sum()
        tensor(0., dtype=torch.float64)
        >>> js_divergences(torch.stack([torch.eye(2), torch.eye(2).flip(0)])).div(2)[0, 1]
        tensor(0.6888, dtype=torch.float64)
    """
    smooth = _smoothed(weights, smoothing)
    joint = _joint(smooth, smooth, once=True)
    # For a head and itself, half of the joint sum is the sum of p log p and p log 2.
    entropies = joint.diagonal() / 2
    divergences = np.triu(entropies[:, None] + entropies - joint, 1) * (math.log(2) / 2)
    # Rounding can make the divergence of two equal heads slightly negative.
    return torch.from_numpy(np.maximum(divergences + divergences.T, 0))


def js_between(weights: Tensor, others: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Return Jensen-Shannon divergences between two sets of maps, summed over queries, in nats.

    The definition is the same as in `js_divergences`, but only pairs across the two sets are
    computed.

    Args:
        weights: Attention weights [H, Q, K].
        others: Attention weights for the same input, [G, Q, K].
        smoothing: Weight of the uniform distribution, above 0 and below 1.

    Returns:
        Divergences, float64 [H, G] on the CPU, not negative, and exactly 0 if two maps are equal.

    Raises:
        ValueError: The maps differ in queries or keys, or `smoothing` is not above 0 and below 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.divergence import js_between
        >>> same, flipped = torch.eye(2), torch.eye(2).flip(0)
        >>> js_between(torch.stack([same]), torch.stack([same, flipped])).div(2)
        tensor([[0.0000, 0.6888]], dtype=torch.float64)
    """
    if weights.shape[1:] != others.shape[1:]:
        raise ValueError(
            f"maps of one input are compared, got {list(weights.shape)} and {list(others.shape)}"
        )
    smooth = _smoothed(torch.cat([weights, others]), smoothing)
    first, second = np.split(smooth, [len(weights)])
    entropies = _with_themselves(smooth) / 2
    sums = entropies[: len(first), None] + entropies[len(first) :]
    divergences = np.maximum((sums - _joint(first, second, once=False)) * (math.log(2) / 2), 0)
    # Rounding can make the divergence of equal maps slightly larger than 0.
    for i, j in np.argwhere(divergences < _ROUNDING * weights.shape[1]):
        if torch.equal(weights[i], others[j]):
            divergences[i, j] = 0
    return torch.from_numpy(divergences)


def js_changes(weights: Tensor, others: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Return the Jensen-Shannon divergence between two maps of each head, averaged over queries.

    The definition is the same as in `js_divergences`. The two maps of a head come from two forward
    passes over the same input.

    Args:
        weights: Attention weights [H, Q, K].
        others: Attention weights of the same heads in the other forward pass, [H, Q, K].
        smoothing: Weight of the uniform distribution, above 0 and below 1.

    Returns:
        Divergences in nats, float64 [H] on the CPU, exactly 0 if the two maps are equal.

    Raises:
        ValueError: The shapes differ, or `smoothing` is not above 0 and below 1.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.divergence import js_changes
        >>> same, flipped = torch.eye(2), torch.eye(2).flip(0)
        >>> js_changes(torch.stack([same, same]), torch.stack([same, flipped]))
        tensor([0.0000, 0.6888], dtype=torch.float64)
    """
    if weights.shape != others.shape:
        raise ValueError(
            f"maps of one shape are compared, got {list(weights.shape)} and {list(others.shape)}"
        )
    _check_smoothing(smoothing)
    changes = torch.zeros(len(weights), dtype=torch.float64, device="cpu")
    pairs = zip(weights, others, strict=True)
    changed_heads = [head for head, pair in enumerate(pairs) if not torch.equal(*pair)]
    for first in range(0, len(changed_heads), _PAIRS):
        heads = changed_heads[first : first + _PAIRS]
        cells = [_seen_by_two(weights[head], others[head]) for head in heads]
        joints = _joint_of_pairs(cells, smoothing, weights.shape[-1])
        for head, joint in zip(heads, joints, strict=True):
            entropies = joint[[0, 2]] / 2
            difference = entropies[0] + entropies[1] - joint[1]
            changes[head] = max(difference * (math.log(2) / 2), 0) / max(weights.shape[1], 1)
    return changes


def _smoothed(weights: Tensor, smoothing: float) -> NDArray[np.float32]:
    """Return smoothed weights [H, C] in the cells where any head has weight.

    Raises:
        ValueError: `smoothing` is not above 0 and below 1.
    """
    _check_smoothing(smoothing)
    heads = weights.shape[0]
    keys = weights.shape[-1]
    cells = weights.detach().reshape(heads, -1).float().cpu()
    has_weight = cells.amax(0) > 0
    if has_weight.sum() < _FEW_SEEN * len(has_weight):
        cells = cells[:, has_weight]
    n_cells = cells.shape[1]
    # Align rows to 64 bytes, like torch's memory: numpy adds aligned rows twice as fast.
    smooth = torch.empty(heads, -(-n_cells // 16) * 16, dtype=torch.float32, device="cpu")[
        :, :n_cells
    ].numpy()
    np.multiply(cells.numpy(), 1 - smoothing, out=smooth)
    smooth += np.float32(smoothing / keys)
    return smooth


def _check_smoothing(smoothing: float) -> None:
    if not 0 < smoothing < 1:
        raise ValueError(f"smoothing must be above 0 and below 1, got {smoothing}")


def _seen_by_two(weights: Tensor, others: Tensor) -> _TwoMaps:
    """Return the weights of two maps [Q, K] in the cells where either map has weight, [C] each.

    As in `_smoothed`, cells without weights are kept if there are only a few.
    """
    first, second = (
        weight_map.detach().reshape(-1).float().cpu().numpy() for weight_map in (weights, others)
    )
    # Usually the first map already shows that nearly all cells have weights.
    if np.count_nonzero(first > 0) < _FEW_SEEN * len(first):
        cell_indices = np.flatnonzero(np.maximum(first, second) > 0)
        if len(cell_indices) < _FEW_SEEN * len(first):
            first, second = first[cell_indices], second[cell_indices]
    return first, second


def _joint(
    cells: NDArray[np.float32], others: NDArray[np.float32], *, once: bool
) -> NDArray[np.float64]:
    """Return the sum of m log2 m for each pair of heads, [H, G].

    Args:
        cells: Smoothed weights [H, C].
        others: Smoothed weights in the same cells, [G, C].
        once: Whether both arguments have the same heads, so that pairs i <= j are sufficient; the
            sums of other pairs are 0.
    """
    sums = np.zeros((len(cells), len(others)))
    for first in range(0, len(others), _HEADS):
        last = min(len(others), first + _HEADS)
        buffers = torch.empty(2, last - first, _CELLS, dtype=torch.float32, device="cpu").numpy()
        for start in range(0, cells.shape[1], _CELLS):
            block = slice(start, start + _CELLS)
            for i in range(last if once else len(cells)):
                low = max(first, i) if once else first
                other_cells = others[low:last, block]
                total, logs = buffers[:, : last - low, : other_cells.shape[1]]
                np.add(other_cells, cells[i, block], out=total)
                log2(total, logs)
                sums[i, low:last] += np.vecdot(total, logs)
    return sums


def _joint_of_pairs(pairs: Sequence[_TwoMaps], smoothing: float, keys: int) -> NDArray[np.float64]:
    """Return sums of m log2 m for each of P map pairs, float64 [P, 3].

    The three sums combine the first map with itself, both maps, and the second map with itself. For
    small arrays, the overhead of a call dominates, so all pairs share the calls. Cells are smoothed
    block by block, in the cache. The sums are identical to the sums of `_joint`.

    Args:
        pairs: Weights of the two maps of each pair, [C] each. Each pair has its own cells.
        smoothing: Weight of the uniform distribution, above 0 and below 1.
        keys: Number of keys in the maps.
    """
    sums = np.zeros((len(pairs), 3))
    lengths = [len(first) for first, _ in pairs]
    buffers = torch.empty(2, len(pairs), 3, _CELLS, dtype=torch.float32, device="cpu").numpy()
    # Shorter pairs are padded with positive numbers, for which the logarithm raises no warning.
    smooth = torch.ones(len(pairs), 2, _CELLS, dtype=torch.float32, device="cpu").numpy()
    for start in range(0, max(lengths), _CELLS):
        longest = min(_CELLS, max(lengths) - start)
        sizes = [max(0, min(_CELLS, length - start)) for length in lengths]
        for pair, block, size in zip(pairs, smooth, sizes, strict=True):
            for weights, out in zip(pair, block, strict=True):
                np.multiply(weights[start : start + size], 1 - smoothing, out=out[:size])
            block[:, :size] += np.float32(smoothing / keys)
        block = smooth[..., :longest]
        total, logs = buffers[..., :longest]
        np.add(block[:, :1], block, out=total[:, :2])
        np.add(block[:, 1], block[:, 1], out=total[:, 2])
        log2(total, logs)
        for number, size in enumerate(sizes):
            sums[number] += np.vecdot(total[number, :, :size], logs[number, :, :size])
    return sums


def _with_themselves(cells: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sum of m log2 m over `cells` [H, C] for each head and itself, [H]."""
    sums = np.zeros(len(cells))
    buffers = torch.empty(2, len(cells), _CELLS, dtype=torch.float32, device="cpu").numpy()
    for start in range(0, cells.shape[1], _CELLS):
        block = cells[:, start : start + _CELLS]
        total, logs = buffers[:, :, : block.shape[1]]
        np.add(block, block, out=total)
        log2(total, logs)
        sums += np.vecdot(total, logs)
    return sums


def log2(values: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Write base-2 logarithms to `out` with the faster library, which can be four times faster.

    Args:
        values: Positive numbers.
        out: Array for the logarithms, with the same shape.
    """
    if _NUMPY_LOG:
        np.log2(values, out=out)
    else:
        torch.log2(torch.from_numpy(values), out=torch.from_numpy(out))
