"""Pictures and sounds as the inputs of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from attnwidget.inputs.media_input import MediaInput, media_input
from attnwidget.text.segments import Segment


@dataclass(frozen=True)
class MediaSegment(Segment):
    """Pictures and sounds, with their text, as an input of a study.

    `first` has a hash of the pictures and sounds, which identifies them in resume files.
    """

    given: MediaInput | None = field(default=None, compare=False, repr=False)


def media_segments(items: Iterable[Any]) -> Iterator[MediaSegment]:
    """Yield pictures and sounds as segments with an `index`.

    Items that are already such segments are not changed.

    Args:
        items: Pictures, sounds or rows with both.

    Raises:
        TypeError: An item is neither a picture nor a sound.
        ValueError: A row has no pictures and no sounds, or an array is not a picture.

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
        media = media_input(item, number)
        yield MediaSegment((media.digest,), index=number, given=media)
