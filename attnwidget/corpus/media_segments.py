"""Pictures and sounds as the inputs of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from attnwidget.inputs.media_input import MediaInput, media_input
from attnwidget.text.segments import Segment


@dataclass(frozen=True)
class MediaSegment(Segment):
    """Pictures and sounds, and the text beside them, as an input of a study.

    `first` has a hash of the pictures and sounds, by which resume files know them.
    """

    given: MediaInput | None = field(default=None, compare=False, repr=False)


def media_segments(items: Iterable[Any]) -> Iterator[MediaSegment]:
    """Yield pictures and sounds as segments with their numbers.

    Segments of pictures and sounds are passed on as they are.

    Raises:
        TypeError: An item is no picture and no sound.
        ValueError: A row has no pictures and no sounds, or an array is no picture.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.media_segments import media_segments
        >>> [segment.index for segment in media_segments([np.zeros((8, 8, 3))] * 2)]
        [0, 1]
    """
    for number, item in enumerate(items):
        if isinstance(item, MediaSegment):
            yield item
            continue
        given = media_input(item, number)
        yield MediaSegment((given.digest,), index=number, given=given)
