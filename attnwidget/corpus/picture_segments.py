"""Pictures as the inputs of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.places import picture_array
from attnwidget.text.segments import Segment

PICTURES = (
    "a picture is a PIL image, a path (pathlib.Path), an array [height, width, 3], or a dict with "
    "pictures in 'images' and a text in 'text'"
)


@dataclass(frozen=True)
class PictureSegment(Segment):
    """Pictures, and the text beside them, as an input of a study.

    `first` has a hash of the pictures, by which resume files know them. `pictures` are uint8
    [height, width, 3] each, and `text` is None for models without a text.
    """

    pictures: tuple[NDArray[np.uint8], ...] = field(default=(), compare=False, repr=False)
    text: Any = field(default=None, compare=False, repr=False)


def is_picture(item: object) -> bool:
    """Return whether an input of a study is a picture, or a row with pictures.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.picture_segments import is_picture
        >>> is_picture(np.zeros((8, 8, 3))), is_picture("a text")
        (True, False)
    """
    if isinstance(item, Mapping):
        return "images" in item
    if isinstance(item, (str, bytes, Segment, list, tuple)):
        return False
    return isinstance(item, Path) or hasattr(item, "__array__") or hasattr(item, "convert")


def picture_segments(items: Iterable[Any]) -> Iterator[PictureSegment]:
    """Yield pictures as segments with their numbers.

    Raises:
        TypeError: An item is no picture.
        ValueError: A row has no pictures, or an array is no picture.

    Example:
        >>> import numpy as np
        >>> from attnwidget.corpus.picture_segments import picture_segments
        >>> [segment.index for segment in picture_segments([np.zeros((8, 8, 3))] * 2)]
        [0, 1]
    """
    for number, item in enumerate(items):
        if not is_picture(item):
            raise TypeError(
                f"expected pictures, got {type(item).__name__} as number {number}: {PICTURES}"
            )
        row = item if isinstance(item, Mapping) else {"images": item}
        given = row["images"]
        several = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
        pictures = tuple(picture_array(one) for one in (given if several else [given]))
        if not pictures:
            raise ValueError(f"row {number} has no picture in 'images': {PICTURES}")
        digest = blake2b(digest_size=16)
        for picture in pictures:
            digest.update(repr(picture.shape).encode() + picture.tobytes())
        digest.update(repr(row.get("text")).encode())
        yield PictureSegment(
            (digest.hexdigest(),), index=number, pictures=pictures, text=row.get("text")
        )
