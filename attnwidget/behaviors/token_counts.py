"""Number of occurrences per token in the texts of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attnwidget.text.segments import Segment


def token_counts(segments: Iterable[Segment]) -> Counter[str]:
    """Return the number of occurrences of each vocabulary entry in texts.

    Example:
        >>> from attnwidget import Segment
        >>> from attnwidget.behaviors.token_counts import token_counts
        >>> token_counts([Segment(("the", "cat"), ("the", "mat"))]).most_common(1)
        [('the', 2)]
    """
    counts: Counter[str] = Counter()
    for segment in segments:
        counts.update(segment.first)
        counts.update(segment.second)
    return counts
