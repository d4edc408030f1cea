"""Attention in one pass over blocks of rows, without storing complete maps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attnwidget.kernels.cells_at_once import cells_at_once
from attnwidget.kernels.pooling import SIDE, block_maxima

# Number of cells whose scores and weights stay in the cache of a CPU core.
_CELLS_AT_ONCE = 1024 * 1024
# Largest number of queries in one operation on the CPU. With a causal mask, a larger block has more
# keys that most of its queries do not see.
_ROWS = 256
# Smallest number of queries in one operation on a GPU, for which fewer heads are computed at once.
_ROWS_ON_A_GPU = 256

Rows = Callable[[slice, slice], Tensor]
#: Attended keys of query blocks. The dict key is (first query, end, side of blocks). The value has
#: the span of keys that some of the queries see, and the span of keys that not all of them see.
Spans = dict[tuple[int, int, int], tuple[slice, slice]]


@dataclass(frozen=True, eq=False)
class Streamed:
    """Results of one pass over a layer with H heads, float32.

    A weight can be computed from its score: largest * exp(score - top).

    Attributes:
        top: Largest score of each query, [H, Q]; the lowest float32 if the query sees no key.
        largest: Weight of the largest score, [H, Q]. For a query that sees no key, all keys have
            this weight.
        blocks: Largest weight in each block of `block` queries and `block` keys, [H, R, C].
        block: Number of tokens on each side of a block.
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
    spans: Spans | None = None,
) -> tuple[Tensor, Streamed]:
    """Return the head outputs of a layer, [H, Q, Dv], and a summary of its maps.

    The weights are the same as in `attention_weights`, but complete maps are never stored. In
    addition to the results, the function needs two blocks of about 4 MiB per thread.

    Args:
        query: Queries after position encoding, floating point, [H, Q, D].
        key: Keys after position encoding, [Hkv, K, D]; query head h reads key head h // (H / Hkv).
        value: Values [Hkv, K, Dv].
        scaling: Factor of the scores.
        softcap: Bound of the scores, softcap * tanh(scores / softcap); None = no bound.
        sinks: Additional logit per row whose probability is dropped, [H]; None = no sinks.
        visible: Function of query and key slices that returns the visible cells, bool
            [1 or H, q, k]; None = all cells are visible.
        bias: Function of query and key slices that returns numbers to add to the scores; None = no
            bias.
        without_keys: Queries that see no key, whose weights are `weight_without_keys`, bool
            [1 or H, Q]; None = these queries attend to all keys equally.
        weight_without_keys: Weight of every key for these queries, 0 or NaN.
        spans: Spans that are known for the same `visible`, to which the function adds new spans;
            None = compute all spans. Computing a span waits for the GPU.

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
    arguments = _Arguments(
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
        spans=spans,
    )
    # On a GPU, compute all heads at once: a few large operations instead of many small ones.
    group = n_heads // len(key)
    cells = cells_at_once(query.device, _CELLS_AT_ONCE)
    heads_at_once = 1
    if cells > _CELLS_AT_ONCE:
        heads_at_once = group * max(1, min(len(key), cells // (group * n_key * _ROWS_ON_A_GPU)))
    step = max(1, cells // (n_key * heads_at_once))
    if query.device.type == "cpu":
        step = min(step, _ROWS)
    # A row of `blocks` must not belong to two threads, because each would overwrite its maximum.
    step = max(1, step // block) * block
    firsts = range(0, n_query, step)

    def stream(first: int) -> None:
        rows = slice(first, min(first + step, n_query))
        _stream_rows(arguments, rows, heads_at_once, outputs, streamed)

    with single_threads(query.device) as workers:
        # With a causal mask, the last rows are the longest, so start with them.
        list(workers(stream, reversed(firsts)))
    return outputs, streamed


@dataclass(frozen=True, eq=False)
class _Arguments:
    """Arguments of `stream_attention`."""

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
    spans: Spans | None


def _stream_rows(
    stored: _Arguments, rows: slice, together: int, outputs: Tensor, streamed: Streamed
) -> None:
    """Compute some rows of all heads; `together` heads at once, which is 1 or entire groups."""
    n_heads = len(stored.query)
    block = streamed.block
    group = n_heads // len(stored.key)
    keys, partly_visible, hidden_cells = _keys_of(stored, rows, block)
    partly_visible = slice(partly_visible.start - keys.start, partly_visible.stop - keys.start)
    bias = None if stored.bias is None else stored.bias(rows, keys)
    count = rows.stop - rows.start
    width = keys.stop - keys.start
    for first in range(0, n_heads, together):
        heads = slice(first, min(first + together, n_heads))
        size = (heads.stop - first, count, width)
        scores, weights = (
            buffer[: size[0] * count * width].view(size)
            for buffer in _buffers(size[0] * count * width, stored.query)
        )
        key_heads = slice(first // group, -(-heads.stop // group))
        query = stored.query[heads, rows]
        key = stored.key[key_heads, keys]
        _score(query, key, stored.scaling, scores)
        if stored.softcap is not None:
            scores.div_(stored.softcap).tanh_().mul_(stored.softcap)
        if bias is not None:
            scores += bias[heads] if len(bias) > 1 else bias
        if hidden_cells is not None:
            mask = hidden_cells[heads] if len(hidden_cells) > 1 else hidden_cells
            _hide(scores[..., partly_visible], mask)
        torch.softmax(scores, -1, out=weights)
        top = scores.amax(-1)
        largest = weights.amax(-1)
        if stored.sinks is not None:
            # The row's sum of exp(score - top) is 1 / largest.
            sinks = stored.sinks[heads, None].float()
            share = 1 / (1 + (sinks - top).exp() * largest)
            largest = largest * share
            weights *= share[..., None]
        if stored.without_keys is not None:
            sees_no_key = stored.without_keys[
                heads if len(stored.without_keys) > 1 else slice(1), rows
            ]
            weights.masked_fill_(sees_no_key[..., None], stored.weight_without_keys)
            largest = largest.masked_fill(sees_no_key, stored.weight_without_keys)
        cells = (heads, rows)
        streamed.top[cells] = top
        streamed.largest[cells] = largest
        # Pool over queries first, because pooling over neighboring keys is ten times slower.
        pooled = block_maxima(block_maxima(weights, block, axis=-2), block)
        low = rows.start // block
        left = keys.start // block
        high, right = low + pooled.shape[1], left + pooled.shape[2]
        streamed.blocks[heads, low:high, left:right] = pooled
        _sum_values(weights, stored.value[key_heads, keys], outputs[cells])


def _score(query: Tensor, key: Tensor, scaling: float, scores: Tensor) -> None:
    """Fill `scores` [h, r, k] with the scores of queries [h, r, D] and keys [h / group, k, D]."""
    exact = query.dtype == torch.float32
    # Scale the product and not the query, so that rounding is the same as in `attention_scores`.
    if len(query) == 1:
        if exact:
            scores[0].addmm_(query[0], key[0].T, beta=0, alpha=scaling)
        else:
            scores[0].copy_(torch.mm(query[0], key[0].T) * scaling)
        return
    by_key_head = scores.view(len(key), -1, scores.shape[-1])
    query = query.reshape(len(key), -1, query.shape[-1])
    if exact:
        by_key_head.baddbmm_(query, key.mT, beta=0, alpha=scaling)
    else:
        by_key_head.copy_(torch.bmm(query, key.mT) * scaling)


def _hide(scores: Tensor, hidden: Tensor) -> None:
    """Set hidden scores to the lowest number; numpy takes a third of torch's time."""
    lowest = torch.finfo(scores.dtype).min
    if scores.device.type == "cpu":
        np.copyto(scores.numpy(), lowest, where=hidden.numpy())
    else:
        scores.masked_fill_(hidden, lowest)


def _sum_values(weights: Tensor, value: Tensor, outputs: Tensor) -> None:
    """Fill `outputs` [h, r, Dv] with sums of the values [h / group, k, Dv]."""
    weights = weights.to(value.dtype)
    if len(weights) == 1:
        torch.mm(weights[0], value[0], out=outputs[0])
    else:
        by_key_head = weights.view(len(value), -1, weights.shape[-1])
        outputs.copy_(torch.bmm(by_key_head, value).view(outputs.shape))


def _keys_of(stored: _Arguments, rows: slice, block: int) -> tuple[slice, slice, Tensor | None]:
    """Return the span of some queries, and the hidden cells in its second part, or None."""
    n_key = stored.key.shape[1]
    if stored.visible is None:
        return slice(0, n_key), slice(0, 0), None
    span_key = (rows.start, rows.stop, block)
    cached_span = None if stored.spans is None else stored.spans.get(span_key)
    if cached_span is not None:
        keys, partly_visible = cached_span
        is_empty = partly_visible.start == partly_visible.stop
        return keys, partly_visible, None if is_empty else ~stored.visible(rows, partly_visible)
    is_visible = stored.visible(rows, slice(0, n_key))
    keys, partly_visible = visible_span(is_visible, n_key, block)
    if stored.spans is not None:
        stored.spans[span_key] = keys, partly_visible
    return (
        keys,
        partly_visible,
        None if partly_visible.start == partly_visible.stop else ~is_visible[..., partly_visible],
    )


def visible_span(visible: Tensor, n_key: int, block: int) -> tuple[slice, slice]:
    """Return the keys that some rows see, from a block edge on, and the keys that not all see.

    If a row sees no key, it attends to all keys equally, and both spans have all keys.

    Args:
        visible: Visible cells, bool [1 or H, rows, K].
        n_key: Number of keys, K.
        block: Number of keys in a block.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.streaming import visible_span
        >>> visible = torch.tensor([[[True, True, False, False], [True, True, True, False]]])
        >>> visible_span(visible, 4, 1)
        (slice(0, 3, None), slice(2, 3, None))
    """
    flat = visible.flatten(0, -2)  # [rows, K]
    # Copy all results at once, because every copy waits for the GPU.
    summary = torch.cat([flat.any(0), flat.all(0), flat.any(-1).all()[None]]).cpu()
    any_row, all_rows, each_sees_keys = summary.split([n_key, n_key, 1])
    if not bool(each_sees_keys):
        return slice(0, n_key), slice(0, n_key)
    visible_keys = any_row.nonzero()[:, 0]
    first = int(visible_keys[0]) // block * block
    last = int(visible_keys[-1]) + 1
    missing = (~all_rows[first:last]).nonzero()[:, 0] + first
    if not len(missing):
        return slice(first, last), slice(first, first)
    return slice(first, last), slice(int(missing[0]), int(missing[-1]) + 1)


_own = threading.local()


def _buffers(cells: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return two float32 vectors; on the CPU, each thread reuses its vectors.

    On the CPU, allocating memory for a block takes longer than computing it. On a GPU, torch caches
    memory itself, and large buffers would occupy it needlessly.
    """
    buffers: tuple[Tensor, Tensor] | None = getattr(_own, "buffers", None)
    on_cpu = like.device.type == "cpu"
    if buffers is None or buffers[0].numel() < cells or not on_cpu:
        first, second = (
            torch.empty(cells, dtype=torch.float32, device=like.device) for _ in range(2)
        )
        buffers = first, second
        if on_cpu:
            _own.buffers = buffers
    return buffers


@contextmanager
def single_threads(device: torch.device) -> Iterator[Callable[..., Iterable[object]]]:
    """Yield a `map` function that uses as many threads as torch, with one torch thread in each.

    Small operations that run on two threads spend more time waiting than computing.

    Args:
        device: Device of the tensors. On a GPU, `map` uses only the current thread.
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
