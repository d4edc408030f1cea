"""Parts of layer arrays: some heads, queries and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.array_library import Array

if TYPE_CHECKING:
    from torch import Tensor

AxisPart: TypeAlias = "slice | list[int] | Tensor"


def place_of(index: Index | None) -> AxisPart:
    """Return indices in a form that tensors and arrays accept; None selects everything."""
    if index is None:
        return slice(None)
    # Keep a tensor on its device: torch copies lists to a GPU, and waits for all work there.
    return list(index) if isinstance(index, Sequence) else index


def part_of(
    array: Array | LazyRows | None, heads: slice, rows: AxisPart, keys: AxisPart
) -> Array | None:
    """Return a part of an array [H, Q, K], or [1, Q, K] for all heads; None for None."""
    if array is None:
        return None
    heads = slice(None) if array.shape[0] == 1 else heads
    if isinstance(array, LazyRows):
        return array[heads, rows, keys]
    return array[heads][:, rows][..., keys]
