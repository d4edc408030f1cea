"""Attention in one pass over blocks of its rows, no map ever whole: outputs, and what rows tell."""

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

# Scores and weights of so many cells stay in a core's cache together.
_CELLS_AT_ONCE = 1024 * 1024
# Number of queries in one operation on the CPU, at most. With a causal mask, more queries have more
# keys that most of them do not see.
_ROWS = 256
# Number of queries in one operation on a GPU, at least: fewer heads are computed at once then.
_ROWS_ON_A_GPU = 256

Rows = Callable[[slice, slice], Tensor]
#: By the first and last query of a block and the side of blocks: the keys that some of the queries
#: see, and the keys that not all of them see.
Spans = dict[tuple[int, int, int], tuple[slice, slice]]


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
    spans: Spans | None = None,
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
        spans: Spans that were found for the same `visible`, to which new spans are added; None =
            find all spans. To find a span waits for a GPU.

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
    given = _Arguments(
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
    # On a GPU, all heads are computed at once: a few large operations in place of many small ones.
    group = n_heads // len(key)
    cells = cells_at_once(query.device, _CELLS_AT_ONCE)
    together = 1
    if cells > _CELLS_AT_ONCE:
        together = group * max(1, min(len(key), cells // (group * n_key * _ROWS_ON_A_GPU)))
    step = max(1, cells // (n_key * together))
    if query.device.type == "cpu":
        step = min(step, _ROWS)
    # No row of the picture belongs to two threads, because each would write a separate maximum.
    step = max(1, step // block) * block
    firsts = range(0, n_query, step)

    def stream(first: int) -> None:
        rows = slice(first, min(first + step, n_query))
        _stream_rows(given, rows, together, outputs, streamed)

    with single_threads(query.device) as workers:
        # With a causal mask the last rows are the longest: they go first.
        list(workers(stream, reversed(firsts)))
    return outputs, streamed


@dataclass(frozen=True, eq=False)
class _Arguments:
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
    spans: Spans | None


def _stream_rows(
    stored: _Arguments, rows: slice, together: int, outputs: Tensor, streamed: Streamed
) -> None:
    """Compute some rows of all heads; `together` heads at once, one or whole groups."""
    n_heads = len(stored.query)
    block = streamed.block
    group = n_heads // len(stored.key)
    keys, partly, hidden = _keys_of(stored, rows, block)
    partly = slice(partly.start - keys.start, partly.stop - keys.start)
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
        if hidden is not None:
            mask = hidden[heads] if len(hidden) > 1 else hidden
            _hide(scores[..., partly], mask)
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
            unseen = stored.without_keys[heads if len(stored.without_keys) > 1 else slice(1), rows]
            weights.masked_fill_(unseen[..., None], stored.weight_without_keys)
            largest = largest.masked_fill(unseen, stored.weight_without_keys)
        at = (heads, rows)
        streamed.top[at] = top
        streamed.largest[at] = largest
        # Maxima of whole rows first: those of few neighbors take ten times as long.
        pooled = block_maxima(block_maxima(weights, block, axis=-2), block)
        low = rows.start // block
        left = keys.start // block
        high, right = low + pooled.shape[1], left + pooled.shape[2]
        streamed.blocks[heads, low:high, left:right] = pooled
        _sum_values(weights, stored.value[key_heads, keys], outputs[at])


def _score(query: Tensor, key: Tensor, scaling: float, scores: Tensor) -> None:
    """Fill `scores` [h, r, k] with the scores of queries [h, r, D] and keys [h / group, k, D]."""
    exact = query.dtype == torch.float32
    # The product is scaled, and not the query, so that `attention_scores` rounds alike.
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
    """Set hidden scores to the lowest number; numpy takes a third of the time of torch."""
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
    """Return the span of some queries, and the hidden keys in its second part; None = no key."""
    n_key = stored.key.shape[1]
    if stored.visible is None:
        return slice(0, n_key), slice(0, 0), None
    place = (rows.start, rows.stop, block)
    known = None if stored.spans is None else stored.spans.get(place)
    if known is not None:
        keys, partly = known
        is_empty = partly.start == partly.stop
        return keys, partly, None if is_empty else ~stored.visible(rows, partly)
    seen = stored.visible(rows, slice(0, n_key))
    keys, partly = _span(seen, n_key, block)
    if stored.spans is not None:
        stored.spans[place] = keys, partly
    return keys, partly, None if partly.start == partly.stop else ~seen[..., partly]


def _span(seen: Tensor, n_key: int, block: int) -> tuple[slice, slice]:
    """The keys that some of the rows see, from the edge of a block on, and those not all see."""
    flat = seen.flatten(0, -2)  # [rows, K]
    # One copy for all answers, because every copy waits for a GPU.
    facts = torch.cat([flat.any(0), flat.all(0), flat.any(-1).all()[None]]).cpu()
    some, all_rows, each_sees_keys = facts.split([n_key, n_key, 1])
    if not bool(each_sees_keys):  # a row that sees no key attends to all keys alike
        return slice(0, n_key), slice(0, n_key)
    shown = some.nonzero()[:, 0]
    first = int(shown[0]) // block * block
    last = int(shown[-1]) + 1
    missing = (~all_rows[first:last]).nonzero()[:, 0] + first
    if not len(missing):
        return slice(first, last), slice(first, first)
    return slice(first, last), slice(int(missing[0]), int(missing[-1]) + 1)


_own = threading.local()


def _buffers(cells: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Two float32 vectors, on the CPU of this thread.

    New memory for every block costs more than the block on the CPU. On a GPU torch keeps memory
    itself, and large buffers would stay there for nothing.
    """
    held: tuple[Tensor, Tensor] | None = getattr(_own, "buffers", None)
    on_cpu = like.device.type == "cpu"
    if held is None or held[0].numel() < cells or not on_cpu:
        first, second = (
            torch.empty(cells, dtype=torch.float32, device=like.device) for _ in range(2)
        )
        held = first, second
        if on_cpu:
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
