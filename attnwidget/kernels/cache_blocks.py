"""Blocks of attention maps that are small enough for the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

# This number of float32 cells takes 256 KB. Smaller blocks need more calls, and larger blocks do
# not stay in the cache.
_CELLS = 64 * 1024

Block = tuple[slice, slice, slice]


def cache_blocks(shape: Sequence[int]) -> Iterator[Block]:
    """Yield blocks that fit in the cache, as slices of documents, heads and queries.

    Args:
        shape: Shape of the maps, [B, H, Q, K].

    Example:
        >>> from attnwidget.kernels.cache_blocks import cache_blocks
        >>> [block[0] for block in cache_blocks((3, 12, 32, 64))]
        [slice(0, 2, None), slice(2, 3, None)]
        >>> len(list(cache_blocks((1, 12, 512, 512))))
        48
    """
    sizes = list(shape[:3])
    steps = [1, 1, 1]
    rows_left = max(1, _CELLS // max(1, shape[3]))
    for axis in (2, 1, 0):
        steps[axis] = max(1, min(sizes[axis], rows_left))
        rows_left //= max(1, sizes[axis])
    for document in range(0, sizes[0], steps[0]):
        documents = slice(document, min(document + steps[0], sizes[0]))
        for head in range(0, sizes[1], steps[1]):
            heads = slice(head, min(head + steps[1], sizes[1]))
            for query in range(0, sizes[2], steps[2]):
                yield documents, heads, slice(query, min(query + steps[2], sizes[2]))


def scratch(like: Tensor, count: int) -> Tensor:
    """Return an empty tensor [count, ...] that can hold `count` copies of any block of `like`.

    For the result `buffer`, `buffer[i][from_zero(block)]` has the shape of the block.

    Args:
        like: Maps [B, H, Q, K], which determine shape, dtype and device.
        count: Number of copies.
    """
    first = next(cache_blocks(like.shape))
    return like.new_empty(count, *(part.stop - part.start for part in first), like.shape[3])


def from_zero(block: Block) -> Block:
    """Return slices that start at 0 and have the same lengths as the slices of a block.

    Args:
        block: Slices of documents, heads and queries.
    """
    documents, heads, queries = (slice(part.stop - part.start) for part in block)
    return documents, heads, queries
