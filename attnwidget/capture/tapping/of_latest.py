"""Answers about tensors that many layers of a model share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

T = TypeVar("T")

# Models with local and global layers have two masks.
_KEPT = 2


class OfLatest(Generic[T]):
    """Keeps answers about the latest tensors, for the next layer that has the same tensors.

    Most models pass one mask to all of their layers. A question about its numbers costs a look at
    the whole mask, and waits for all work of a GPU.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.of_latest import OfLatest
        >>> any_of = OfLatest()
        >>> mask = torch.zeros(2)
        >>> any_of((mask,), lambda: bool(mask.any())), any_of((mask,), lambda: "asked again")
        (False, False)
        >>> mask[0] = 1
        >>> any_of((mask,), lambda: bool(mask.any()))
        True
    """

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], tuple[int, ...], T]] = []

    def __call__(self, about: tuple[object, ...], find: Callable[[], T]) -> T:
        """Return the answer about the same objects from before, or `find` it.

        Args:
            about: The tensors, and other objects that the answer depends on. Tensors are the same
                if they are the same objects, and were not changed in place.
            find: Function that computes the answer.
        """
        tensors = [thing for thing in about if isinstance(thing, Tensor)]
        if any(tensor.is_inference() for tensor in tensors):
            return find()  # such tensors do not count their changes
        versions = tuple(tensor._version for tensor in tensors)
        for known, known_versions, answer in self._kept:
            if versions == known_versions and _are_same(known, about):
                return answer
        answer = find()
        self._kept = [(about, versions, answer), *self._kept][:_KEPT]
        return answer


def _are_same(first: tuple[object, ...], second: tuple[object, ...]) -> bool:
    return len(first) == len(second) and all(
        one is other or (not isinstance(one, Tensor) and one == other)
        for one, other in zip(first, second, strict=True)
    )
