"""How differently two heads look at the same input: Jensen-Shannon divergences of all pairs."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# numpy's vectorized log2 needs AVX-512 and Linux; elsewhere torch's is the faster one.
_NUMPY_LOG = sys.platform == "linux" and torch.backends.cpu.get_cpu_capability() == "AVX512"
# Cells and heads of one block: what is added, logged and summed stays in the second-level cache.
# torch would spread more than 32768 values over threads of its own.
_CELLS = 4096
_HEADS = 16 if _NUMPY_LOG else 4
# Heads whose two maps are compared together: three sums of each fit in a block.
_PAIRS = 2
# Share of cells with weights below which the other cells are left out.
_FEW_SEEN = 0.9
# Rounding errors of equal maps are smaller, in nats a query.
_ROUNDING = 1e-5


# Weights of two maps of a head in the same cells, [C] each.
_TwoMaps: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]


def js_divergences(weights: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Jensen-Shannon divergence between the maps of every two heads, summed over queries, in nats.

    Rows are first smoothed to p = (1 - smoothing) a + smoothing / K (Clark et al. 2019, section 6,
    as released). With m = p + q, a cell adds (p log p + q log q - m log m + m log 2) / 2: an
    addition, a logarithm and a product per pair of heads. Cells that no head sees, as in causal
    maps, contribute 0 and are left out; rows with sinks are compared unchanged, with sums below 1.
    The divergence itself, not its square root; for the mean divide by the queries.

    `weights` [H, Q, K] of one input without padding, heads of all layers or of some. Returns
    float64 [H, H] on the CPU, symmetric with a diagonal of 0. Computed in float32 with sums in
    float64: right to 1e-6 nats a query. Raises ValueError where `smoothing` is not above 0 and
    below 1.

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
    # A head with itself gives what p log p and p log 2 sum to.
    entropies = joint.diagonal() / 2
    divergences = np.triu(entropies[:, None] + entropies - joint, 1) * (math.log(2) / 2)
    # Two heads that are the same can come out a rounding error below 0.
    return torch.from_numpy(np.maximum(divergences + divergences.T, 0))


def js_between(weights: Tensor, others: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Jensen-Shannon divergence between two sets of maps, summed over queries, in nats.

    As `js_divergences`, without the pairs of maps that are on one side: `weights` [H, Q, K] and
    `others` [G, Q, K], both of the same input. Returns float64 [H, G] on the CPU, 0 or more,
    exactly 0 where two maps are equal.

    Raises:
        ValueError: The maps differ in queries or keys; or as `js_divergences`.

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
    # Of equal maps, rounding can give values just above 0.
    for i, j in np.argwhere(divergences < _ROUNDING * weights.shape[1]):
        if torch.equal(weights[i], others[j]):
            divergences[i, j] = 0
    return torch.from_numpy(divergences)


def js_changes(weights: Tensor, others: Tensor, *, smoothing: float = 1e-3) -> Tensor:
    """Jensen-Shannon divergence between two maps of each head, the mean over queries, in nats.

    As `js_divergences`, of each head with itself in another reading of the same input: `weights`
    and `others` [H, Q, K]. Returns float64 [H] on the CPU, exactly 0 where the two are equal.
    Raises ValueError where the shapes differ.

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
    changed = [head for head, pair in enumerate(pairs) if not torch.equal(*pair)]
    for first in range(0, len(changed), _PAIRS):
        heads = changed[first : first + _PAIRS]
        cells = [_seen_by_two(weights[head], others[head]) for head in heads]
        joints = _joint_of_pairs(cells, smoothing, weights.shape[-1])
        for head, joint in zip(heads, joints, strict=True):
            entropies = joint[[0, 2]] / 2
            apart = entropies[0] + entropies[1] - joint[1]
            changes[head] = max(apart * (math.log(2) / 2), 0) / max(weights.shape[1], 1)
    return changes


def _smoothed(weights: Tensor, smoothing: float) -> NDArray[np.float32]:
    """Return the smoothed weights [H, C] of the cells that some head sees.

    Raises:
        ValueError: `smoothing` is not above 0 and below 1.
    """
    _check_smoothing(smoothing)
    heads = weights.shape[0]
    keys = weights.shape[-1]
    cells = weights.detach().reshape(heads, -1).float().cpu()
    seen = cells.amax(0) > 0
    if seen.sum() < _FEW_SEEN * len(seen):
        cells = cells[:, seen]
    n_cells = cells.shape[1]
    # Rows start at multiples of 64 bytes, as torch's memory does: numpy adds twice as fast there.
    smooth = torch.empty(heads, -(-n_cells // 16) * 16, dtype=torch.float32, device="cpu")[
        :, :n_cells
    ].numpy()
    np.multiply(cells.numpy(), 1 - smoothing, out=smooth)
    smooth += np.float32(smoothing / keys)
    return smooth


def _check_smoothing(smoothing: float) -> None:
    if not 0 < smoothing < 1:
        raise ValueError(f"smoothing is above 0 and below 1, got {smoothing}")


def _seen_by_two(weights: Tensor, others: Tensor) -> _TwoMaps:
    """Return the weights of two maps [Q, K] in the cells with a weight in either, [C] each.

    As in `_smoothed`, cells without weights stay if they are few.
    """
    first, second = (each.detach().reshape(-1).float().cpu().numpy() for each in (weights, others))
    # One map shows most often that nearly all cells have weights.
    if np.count_nonzero(first > 0) < _FEW_SEEN * len(first):
        seen = np.flatnonzero(np.maximum(first, second) > 0)
        if len(seen) < _FEW_SEEN * len(first):
            first, second = first[seen], second[seen]
    return first, second


def _joint(
    cells: NDArray[np.float32], others: NDArray[np.float32], *, once: bool
) -> NDArray[np.float64]:
    """Return sums of m log2 m over `cells` [H, C] and `others` [G, C] for all pairs, [H, G].

    Args:
        cells: Smoothed weights.
        others: Smoothed weights of the same cells.
        once: Whether both are the same heads, so that pairs i <= j are enough; others are 0.
    """
    sums = np.zeros((len(cells), len(others)))
    for first in range(0, len(others), _HEADS):
        last = min(len(others), first + _HEADS)
        buffers = torch.empty(2, last - first, _CELLS, dtype=torch.float32, device="cpu").numpy()
        for start in range(0, cells.shape[1], _CELLS):
            block = slice(start, start + _CELLS)
            for i in range(last if once else len(cells)):
                low = max(first, i) if once else first
                added = others[low:last, block]
                total, logs = buffers[:, : last - low, : added.shape[1]]
                np.add(added, cells[i, block], out=total)
                log2(total, logs)
                sums[i, low:last] += np.vecdot(total, logs)
    return sums


def _joint_of_pairs(pairs: Sequence[_TwoMaps], smoothing: float, keys: int) -> NDArray[np.float64]:
    """Return sums of m log2 m for each of P pairs of maps, float64 [P, 3].

    The three sums are of the first map with itself, of both maps, and of the second with itself.
    Small calls take longer than the numbers in them, so the pairs share the calls. Cells are
    smoothed a block at a time, in the cache. The sums are those of `_joint` to the last bit.

    Args:
        pairs: The weights of the two maps of each pair, [C] each. Each pair has its own cells.
        smoothing: As in `js_divergences`.
        keys: Number of keys of the maps.
    """
    sums = np.zeros((len(pairs), 3))
    lengths = [len(first) for first, _ in pairs]
    buffers = torch.empty(2, len(pairs), 3, _CELLS, dtype=torch.float32, device="cpu").numpy()
    # Shorter pairs end with any positive numbers, which keep the logarithm quiet.
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
    """Return sums of m log2 m over `cells` [H, C] for each head with itself, [H]."""
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
    """Logarithms to the base 2 into `out`, by the faster library: up to four times as fast."""
    if _NUMPY_LOG:
        np.log2(values, out=out)
    else:
        torch.log2(torch.from_numpy(values), out=torch.from_numpy(out))
