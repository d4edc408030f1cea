"""Attention in one pass over blocks of its rows, no map ever whole: outputs, and what rows tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from attnwidget.kernels.pooling import SIDE, block_maxima
from attnwidget.kernels.row_sums import RowSums, Tile

# Scores and weights of so many cells stay in a core's cache together.
_CELLS_AT_ONCE = 1024 * 1024

Rows = Callable[[slice, slice], Tensor]


@dataclass(frozen=True, eq=False)
class Streamed:
    """The results of one pass over a layer of H heads, float32.

    Any weight follows from its score alone: largest * exp(score - top).

    Attributes:
        top: [H, Q] the largest score of each query; the lowest float32 if the query sees no key.
        largest: [H, Q] the weight that it has. A query that sees no key gives it to all keys.
        blocks: [H, R, C] largest weight in every block of `block` queries and as many keys.
        block: tokens on a side of such a block.
    """

    top: Tensor
    largest: Tensor
    blocks: Tensor
    block: int


def stream_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scaling: float,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    visible: Rows | None = None,
    bias: Rows | None = None,
    without_keys: Tensor | None = None,
    weight_without_keys: float = 0.0,
    sums: RowSums | None = None,
) -> tuple[Tensor, Streamed]:
    """The outputs of a layer's heads, [H, Q, Dv], and what its maps tell, without whole maps.

    The weights are those of `attention_weights`. Memory beyond the results: two blocks of about
    4 MiB a thread.

    Args:
        query: [H, Q, D] after position encoding, floating point.
        key: [Hkv, K, D] likewise; query head h reads key head h // (H / Hkv).
        value: [Hkv, K, Dv].
        scaling: factor of the scores.
        softcap: bounds the scores by softcap * tanh(scores / softcap).
        sinks: [H], an additional logit per row whose probability is dropped.
        visible: gives for some queries and keys bool [1 or H, q, k]; None = all are visible.
        bias: likewise what is added to the scores; None = nothing.
        without_keys: [1 or H, Q] bool, queries that see no key and whose weights are
            `weight_without_keys`; None = these queries attend to all keys equally.
        weight_without_keys: Weight of every key for these queries, 0 or NaN.
        sums: Sums over the keys of every query that are filled; None = no sums.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.streaming import stream_attention
        >>> alike = torch.zeros(1, 4, 8), torch.zeros(1, 4, 8), torch.eye(4)[None]
        >>> outputs, found = stream_attention(*alike, scaling=1.0)
        >>> outputs[0, 0], found.largest[0, 0]
        (tensor([0.2500, 0.2500, 0.2500, 0.2500]), tensor(0.2500))
    """
    n_heads, n_query, _ = query.shape
    n_key = key.shape[1]
    block = -(-max(n_query, n_key) // SIDE)
    size = (n_heads, n_query)
    top, largest = query.new_zeros((2, *size), dtype=torch.float32)
    streamed = Streamed(
        top,
        largest,
        blocks=query.new_zeros(
            (n_heads, -(-n_query // block), -(-n_key // block)), dtype=torch.float32
        ),
        block=block,
    )
    outputs = query.new_empty((*size, value.shape[-1]))
    given = _Given(
        query=query,
        key=key,
        value=value,
        scaling=scaling,
        softcap=softcap,
        sinks=sinks,
        visible=visible,
        bias=bias,
        without_keys=without_keys,
        weight_without_keys=weight_without_keys,
        sums=sums,
    )
    step = max(1, _CELLS_AT_ONCE // n_key)
    # No row of the picture belongs to two threads, because each would write a separate maximum.
    step = max(1, step // block) * block
    firsts = range(0, n_query, step)

    def rows(first: int) -> None:
        _stream_rows(given, slice(first, min(first + step, n_query)), outputs, streamed)

    with single_threads(query.device) as workers:
        # With a causal mask the last rows are the longest: they go first.
        list(workers(rows, reversed(firsts)))
    return outputs, streamed


@dataclass(frozen=True, eq=False)
class _Given:
    """The arguments of `stream_attention`."""

    query: Tensor
    key: Tensor
    value: Tensor
    scaling: float
    softcap: float | None
    sinks: Tensor | None
    visible: Rows | None
    bias: Rows | None
    without_keys: Tensor | None
    weight_without_keys: float
    sums: RowSums | None


def _stream_rows(stored: _Given, rows: slice, outputs: Tensor, streamed: Streamed) -> None:
    n_heads = len(stored.query)
    n_key = stored.key.shape[1]
    block = streamed.block
    group = n_heads // len(stored.key)
    seen = None if stored.visible is None else stored.visible(rows, slice(0, n_key))
    keys, partly = _span(seen, n_key, block)
    hidden = None if seen is None else ~seen[..., partly]
    partly = slice(partly.start - keys.start, partly.stop - keys.start)
    bias = None if stored.bias is None else stored.bias(rows, keys)
    count = rows.stop - rows.start
    width = keys.stop - keys.start
    scores_at, weights_at = _buffers(count * width, stored.query)
    for head in range(n_heads):
        scores = scores_at[: count * width].view(count, width)
        query = stored.query[head, rows]
        key = stored.key[head // group, keys]
        if query.dtype == torch.float32:
            # The product is scaled, and not the query, so that `attention_scores` rounds alike.
            scores.addmm_(query, key.T, beta=0, alpha=stored.scaling)
        else:
            scores.copy_(torch.mm(query, key.T) * stored.scaling)
        if stored.softcap is not None:
            scores.div_(stored.softcap).tanh_().mul_(stored.softcap)
        if bias is not None:
            scores += bias[head if len(bias) > 1 else 0]
        if hidden is not None and partly.stop > partly.start:
            mask = hidden[head if len(hidden) > 1 else 0]
            scores[:, partly].masked_fill_(mask, torch.finfo(scores.dtype).min)
        weights = weights_at[: count * width].view(count, width)
        torch.softmax(scores, -1, out=weights)
        maxima = block_maxima(weights, block)
        top = scores.amax(-1)
        largest = maxima.amax(-1)
        if stored.sinks is not None:
            # The row's sum of exp(score - top) is 1 / largest.
            share = 1 / (1 + (stored.sinks[head].float() - top).exp() * largest)
            largest, maxima = largest * share, maxima * share[:, None]
            weights *= share[:, None]
        if stored.without_keys is not None:
            unseen = stored.without_keys[head if len(stored.without_keys) > 1 else 0, rows]
            weights.masked_fill_(unseen[:, None], stored.weight_without_keys)
            largest = largest.masked_fill(unseen, stored.weight_without_keys)
            maxima = block_maxima(weights, block)
        at = (head, rows)
        streamed.top[at] = top
        streamed.largest[at] = largest
        pooled = block_maxima(maxima.T, block).T
        low = rows.start // block
        left = keys.start // block
        streamed.blocks[head, low : low + len(pooled), left : left + pooled.shape[1]] = pooled
        if stored.sums is not None:
            stored.sums.add(head, rows, keys, Tile(weights, scores, top, largest))
        torch.mm(weights.to(stored.value.dtype), stored.value[head // group, keys], out=outputs[at])


def _span(seen: Tensor | None, n_key: int, block: int) -> tuple[slice, slice]:
    """The keys that some of the rows see, from the edge of a block on, and those not all see."""
    if seen is None:
        return slice(0, n_key), slice(0, 0)
    if not bool(seen.any(-1).all()):  # a row that sees no key attends to all keys alike
        return slice(0, n_key), slice(0, n_key)
    some = seen.flatten(0, -2).any(0).nonzero()[:, 0]
    first = int(some[0]) // block * block
    last = int(some[-1]) + 1
    missing = (~seen[..., first:last].flatten(0, -2).all(0)).nonzero()[:, 0] + first
    if not len(missing):
        return slice(first, last), slice(first, first)
    return slice(first, last), slice(int(missing[0]), int(missing[-1]) + 1)


_own = threading.local()


def _buffers(cells: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Two float32 vectors of this thread: new memory for every block costs more than the block."""
    held = getattr(_own, "buffers", None)
    if held is None or held[0].numel() < cells or held[0].device != like.device:
        held = tuple(torch.empty(cells, dtype=torch.float32, device=like.device) for _ in range(2))
        _own.buffers = held
    return held


@contextmanager
def single_threads(device: torch.device) -> Iterator[Callable[..., Iterable[object]]]:
    """A `map` over as many threads as torch would use, each of which computes alone.

    Small operations on two threads spend more time waiting than computing.
    """
    count = torch.get_num_threads()
    if device.type != "cpu" or count == 1:
        yield map
        return
    with ThreadPoolExecutor(count, initializer=lambda: torch.set_num_threads(1)) as pool:
        try:
            yield pool.map
        finally:
            torch.set_num_threads(count)
