"""Truncated segments that the running study has read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from attnwidget.text.segments import Segment

T = TypeVar("T")

# Truncated segments of the running study, or None outside of studies.
_cut_segments: ContextVar[set[Segment] | None] = ContextVar("cut_segments", default=None)


def watched_segments(segments: Iterable[T]) -> Iterator[T]:
    """Yield segments, and record truncated segments for the result of the running study."""
    for segment in segments:
        cut = _cut_segments.get()
        if cut is not None and isinstance(segment, Segment) and segment.n_cut:
            cut.add(segment)
        yield segment


@contextmanager
def watching() -> Iterator[set[Segment]]:
    """Collect the truncated segments of a study, and add them to an enclosing study."""
    outer = _cut_segments.get()
    segments: set[Segment] = set()
    token = _cut_segments.set(segments)
    try:
        yield segments
    finally:
        _cut_segments.reset(token)
        if outer is not None:
            outer |= segments
