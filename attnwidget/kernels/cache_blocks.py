"""Maps a part at a time, small enough that a few copies of it stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

# 256 KB of float32: less costs more calls than it saves, more goes out to memory and back.
_CELLS = 64 * 1024

Block = tuple[slice, slice, slice]


def cache_blocks(shape: Sequence[int]) -> Iterator[Block]:
    """Documents, heads and queries of maps [B, H, Q, K], so many at a time as fit together.

    Example:
        >>> from attnwidget.kernels.cache_blocks import cache_blocks
        >>> [block[0] for block in cache_blocks((3, 12, 32, 64))]
        [slice(0, 2, None), slice(2, 3, None)]
        >>> len(list(cache_blocks((1, 12, 512, 512))))
        48
    """
    sizes = list(shape[:3])
    steps, room = [1, 1, 1], max(1, _CELLS // max(1, shape[3]))
    for axis in (2, 1, 0):
        steps[axis] = max(1, min(sizes[axis], room))
        room //= max(1, sizes[axis])
    for document in range(0, sizes[0], steps[0]):
        documents = slice(document, min(document + steps[0], sizes[0]))
        for head in range(0, sizes[1], steps[1]):
            heads = slice(head, min(head + steps[1], sizes[1]))
            for query in range(0, sizes[2], steps[2]):
                yield documents, heads, slice(query, min(query + steps[2], sizes[2]))


def scratch(like: Tensor, count: int) -> Tensor:
    """Room for `count` copies of any block of maps `like`, made once: [count, ...].

    `made[i][fitting(block)]` has the block's shape.
    """
    first = next(cache_blocks(like.shape))
    return like.new_empty(count, *(part.stop - part.start for part in first), like.shape[3])


def fitting(block: Block) -> Block:
    """The beginning of each axis of a scratch, as long as those of `block`."""
    documents, heads, queries = (slice(part.stop - part.start) for part in block)
    return documents, heads, queries
