"""A layer tensor that is computed in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

# Indices of queries or keys. Tensors are int64, on the indexed tensor's device.
Index: TypeAlias = "slice | Sequence[int] | Tensor"


@dataclass(frozen=True, eq=False)
class LazyRows:
    """A tensor [n_heads, Q, K] that is computed in parts, and indexed like a tensor.

    Attributes:
        n_heads: Number of heads; 1 if all heads share the numbers.
        part: Function that computes the numbers for some queries and keys, [n_heads, q, k].
    """

    n_heads: int
    part: Callable[[Index, Index], Tensor]

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
