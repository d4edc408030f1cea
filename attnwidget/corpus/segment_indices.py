"""Indices of segments in their study, because batches change the order of segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attnwidget.inputs.cut_segments import watched_segments
from attnwidget.inputs.input_list import INPUTS
from attnwidget.text.segments import Segment


def with_index(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield segments with their indices, from 0.

    Args:
        segments: Segments in the order of the study.

    Raises:
        TypeError: An item is not a segment.

    Example:
        >>> from attnwidget.corpus.segment_indices import with_index
        >>> from attnwidget.text.segments import Segment
        >>> [segment.index for segment in with_index([Segment(("a",)), Segment(("b",))])]
        [0, 1]
    """
    for index, segment in enumerate(watched_segments(segments)):
        if not isinstance(segment, Segment):
            raise TypeError(
                f"expected segments, got {type(segment).__name__} as number {index}: {INPUTS}"
            )
        yield replace(segment, index=index)


def segment_indices(segments: Sequence[Segment]) -> NDArray[np.int64]:
    """Return the index of each segment, int64 [B].

    Args:
        segments: B segments.

    Raises:
        TypeError: Some segments have no index.
    """
    indices = [segment.index for segment in segments if segment.index is not None]
    if len(indices) < len(segments):
        raise TypeError("this study needs the index of each segment: number them by with_index")
    return np.array(indices, np.int64)
