"""Inputs of one shape share a batch, so padding never changes a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from attnwidget.capture.hub_model.media_input import EncodedMedia
from attnwidget.capture.hub_model.text_encoder import Encoded


class HasEncoded(Protocol):
    """Something with one encoded input."""

    @property
    def encoded(self) -> Encoded | EncodedMedia:
        """The input."""


Item = TypeVar("Item", bound=HasEncoded)


def of_one_length(inputs: Sequence[Item], batch_size: int) -> Iterator[Sequence[Item]]:
    """Yield batches of at most `batch_size` consecutive inputs of one shape.

    The shape of a text is its number of tokens.
    """
    start = 0
    while start < len(inputs):
        shape = inputs[start].encoded.shape
        batch = [item for item in inputs[start : start + batch_size] if item.encoded.shape == shape]
        start += len(batch)
        yield batch
