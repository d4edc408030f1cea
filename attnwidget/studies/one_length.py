"""Inputs of one length share a batch, so that no padding changes a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from attnwidget.capture.encode import Encoded


class HasEncoded(Protocol):
    """Something with one encoded input."""

    @property
    def encoded(self) -> Encoded:
        """The input."""


Item = TypeVar("Item", bound=HasEncoded)


def of_one_length(inputs: Sequence[Item], batch_size: int) -> Iterator[Sequence[Item]]:
    """Batches of at most `batch_size` inputs that follow each other and have the same length."""
    start = 0
    while start < len(inputs):
        length = len(inputs[start].encoded.ids)
        batch = [
            item for item in inputs[start : start + batch_size] if len(item.encoded.ids) == length
        ]
        start += len(batch)
        yield batch
