"""Inputs of one shape share a batch, so padding never changes a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from attnwidget.inputs.example import StudyExample
from attnwidget.inputs.pad_id import reads_single_texts

AnyExample = TypeVar("AnyExample", bound=StudyExample)


def of_one_length(
    examples: Sequence[AnyExample], batch_size: int, hf_model: Any
) -> Iterator[Sequence[AnyExample]]:
    """Yield batches of at most `batch_size` consecutive examples of one shape.

    The shape of a text is its number of tokens. A model that refuses batches reads one example at a
    time.
    """
    if reads_single_texts(hf_model):
        batch_size = 1
    start = 0
    while start < len(examples):
        shape = examples[start].encoded.shape
        following = examples[start : start + batch_size]
        batch = [example for example in following if example.encoded.shape == shape]
        start += len(batch)
        yield batch
