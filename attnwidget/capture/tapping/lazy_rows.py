"""A layer tensor that is computed in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

    from attnwidget.kernels.streaming import Spans

# Indices of queries or keys. Tensors are int64, on the indexed tensor's device.
Index: TypeAlias = "slice | Sequence[int] | Tensor"


@dataclass(frozen=True, eq=False)
class LazyRows:
    """A tensor [n_heads, Q, K] that is computed in parts, and indexed like a tensor.

    Attributes:
        n_heads: Number of heads; 1 if all heads share the numbers.
        part: Function that computes the numbers for some queries and keys, [n_heads, q, k].
        spans: Known spans of visible keys if the tensor is a mask, as in `stream_attention`. Layers
            that share a mask share its spans.
    """

    n_heads: int
    part: Callable[[Index, Index], Tensor]
    spans: Spans = field(default_factory=dict)

    def span(self, rows: slice, keys: slice, shape: tuple[int, int]) -> tuple[slice, slice]:
        """Return the keys of a mask that some queries see, and the keys that not all of them see.

        Args:
            rows: Slice of the queries, with a step of 1.
            keys: Slice of the keys, with a step of 1.
            shape: Number of queries and number of keys, (Q, K).
        """
        # Import here, because maps that were computed elsewhere need no torch.
        from attnwidget.kernels.streaming import visible_span

        first_row, last_row, _ = rows.indices(shape[0])
        first, last, _ = keys.indices(shape[1])
        row_key = (first_row, last_row, 1)
        if row_key not in self.spans:
            searched = slice(first, last)
            outer, partly_outer = searched, searched
            if last - first == shape[1]:
                outer, partly_outer = self._span_around(first_row, last_row, searched)
                # All of these queries see the keys beside `partly_outer`: one of them on each side
                # says so, and the other keys need no search.
                searched = slice(
                    max(partly_outer.start - 1, outer.start),
                    min(partly_outer.stop + 1, outer.stop),
                )
            visible = self.part(slice(first_row, last_row), searched)
            seen, partly = (
                slice(searched.start + part.start, searched.start + part.stop)
                for part in visible_span(visible, searched.stop - searched.start, 1)
            )
            if last - first < shape[1]:
                return seen, partly
            start = outer.start if seen.start < partly_outer.start else seen.start
            stop = outer.stop if seen.stop > partly_outer.stop else seen.stop
            is_partial = partly.start < partly.stop
            self.spans[row_key] = slice(start, stop), partly if is_partial else slice(start, start)
        seen, partly = (
            slice(min(max(part.start, first), last), max(min(part.stop, last), first))
            for part in self.spans[row_key]
        )
        return seen, partly

    def _span_around(self, first: int, last: int, keys: slice) -> tuple[slice, slice]:
        """Return the narrowest known span of queries that include these; else `keys` twice."""
        around = [
            span
            for (first_row, last_row, _), span in list(self.spans.items())
            if first_row <= first and last <= last_row
        ]
        return min(around, key=lambda span: span[1].stop - span[1].start, default=(keys, keys))

    def __copy__(self) -> LazyRows:
        return self

    def __deepcopy__(self, memo: object) -> LazyRows:
        # A copy may share this object, because the numbers do not change.
        return self

    def __reduce__(self) -> str:
        raise TypeError(
            "the attention of a long input cannot be pickled: its mask is a rule of the running "
            "model, and no table. Keep the text and read it again, pickle attend(text, "
            "long=False), or pickle the numbers (tile, rows)"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of the first axis; the other lengths are unknown."""
        return (self.n_heads,)

    def __getitem__(self, at: Any) -> Tensor:
        everything = slice(None)
        if at is Ellipsis or not isinstance(at, tuple):
            at = (everything if at is Ellipsis else at,)
        if at[0] is Ellipsis:
            at = (everything, everything, *at[1:])
        heads, rows, keys = (*at, everything, everything)[:3]
        return self.part(rows, keys)[heads]
