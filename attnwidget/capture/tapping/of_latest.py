"""Cache of answers about tensors that many layers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

T = TypeVar("T")

# Models with local and global layers have two masks.
_KEPT = 2


class OfLatest(Generic[T]):
    """Cache of answers about the latest tensors, for the next layer with the same tensors.

    Most models pass one mask to all their layers. A question about its numbers reads the entire
    mask, and waits for all work on a GPU.

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
        """Return the cached answer about the same objects, or the answer of `find`.

        Args:
            about: Tensors, and other objects that the answer depends on. Tensors are the same if
                they are the same objects, and were not changed in place.
            find: Function that computes the answer.
        """
        tensors = [value for value in about if isinstance(value, Tensor)]
        if any(tensor.is_inference() for tensor in tensors):
            return find()  # Inference tensors have no version counter.
        versions = tuple(tensor._version for tensor in tensors)
        for known_objects, known_versions, answer in self._kept:
            if versions == known_versions and _are_same(known_objects, about):
                return answer
        answer = find()
        self._kept = [(about, versions, answer), *self._kept][:_KEPT]
        return answer


def _are_same(first: tuple[object, ...], second: tuple[object, ...]) -> bool:
    return len(first) == len(second) and all(
        item is other_item or (not isinstance(item, Tensor) and item == other_item)
        for item, other_item in zip(first, second, strict=True)
    )
