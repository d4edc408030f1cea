"""Segments with their number in the corpus, by which examples name their text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import Batch
from attnwidget.corpus.batches import HOW
from attnwidget.text.segments import Segment


@dataclass(frozen=True)
class NumberedSegment(Segment):
    """A segment and its `index` in the corpus, from 0, because batches change the order."""

    index: int = field(default=0, kw_only=True)


def numbered(segments: Iterable[Segment]) -> Iterator[NumberedSegment]:
    """Yield the segments with their numbers.

    Raises:
        TypeError: An item is not a segment.

    Example:
        >>> from attnwidget.behaviours.examples.numbered_segments import numbered
        >>> from attnwidget.text.segments import Segment
        >>> [segment.index for segment in numbered([Segment(("a",)), Segment(("b",))])]
        [0, 1]
    """
    for index, segment in enumerate(segments):
        if not isinstance(segment, Segment):
            raise TypeError(
                f"expected segments, got {type(segment).__name__} as number {index}: {HOW}"
            )
        yield NumberedSegment(
            segment.first,
            segment.second,
            document=segment.document,
            roles=segment.roles,
            turns=segment.turns,
            index=index,
        )


def indices_of(batch: Batch) -> NDArray[np.int64]:
    """Return the number of each segment of a batch in the corpus, int64 [B].

    Raises:
        TypeError: Some segments have no number.
    """
    indices = [getattr(segment, "index", None) for segment in batch.segments]
    if None in indices:
        raise TypeError("examples are of numbered segments: read them with head_examples")
    return np.array(indices, np.int64)
