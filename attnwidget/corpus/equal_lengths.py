"""Batches of inputs with equal shape, so that padding never changes a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from attnwidget.inputs.example import StudyExample
from attnwidget.inputs.pad_id import reads_single_texts

AnyExample = TypeVar("AnyExample", bound=StudyExample)


def of_one_length(
    examples: Sequence[AnyExample], batch_size: int, hf_model: Any
) -> Iterator[Sequence[AnyExample]]:
    """Yield batches of consecutive examples with equal shape.

    The shape of a text is its number of tokens. A model that refuses batches reads one example at a
    time.

    Args:
        examples: Examples of a study.
        batch_size: Largest number of examples per batch.
        hf_model: Model that reads the examples.
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
