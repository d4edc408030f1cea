"""Regions of tokens in the pictures and sounds of a model's input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.counted import counted
from attnwidget.text.given_paths import refuse_no_file

# Number of the EXIF field for the orientation of a picture.
_ORIENTATION = 274


@dataclass(frozen=True)
class Box:
    """The part of a picture from which a token was made.

    The box describes the token at the model's input. Because layers mix tokens, the vector of the
    token at a higher layer may contain information from other parts of the picture.

    Attributes:
        picture: Index of the picture in `Attention.images`, from 0.
        left: Left edge, in pixels of the original picture that the user passed.
        top: Upper edge in pixels.
        right: Right edge in pixels, greater than `left`.
        bottom: Lower edge in pixels, greater than `top`.

    Raises:
        ValueError: The box has no area, or an edge is not a finite number.

    Example:
        >>> from attnwidget.results import Box
        >>> Box(0, 0, 0, 16, 16).area
        256
    """

    picture: int
    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        edges = (self.left, self.top, self.right, self.bottom)
        if not all(map(isfinite, edges)) or self.right <= self.left or self.bottom <= self.top:
            raise ValueError(
                "a box has finite edges with left < right and top < bottom, got "
                f"left {self.left}, top {self.top}, right {self.right}, bottom {self.bottom}"
            )

    @property
    def area(self) -> float:
        """Area in square pixels."""
        return (self.right - self.left) * (self.bottom - self.top)


@dataclass(frozen=True)
class Span:
    """The part of a sound from which a token was made.

    Attributes:
        sound: Index of the sound in `Attention.audio`, from 0.
        start: Start in seconds.
        end: End in seconds, greater than `start`.
        low: Lowest frequency in hertz, or None for all frequencies.
        high: Highest frequency in hertz, or None for all frequencies.

    Raises:
        ValueError: The span has no length, or a number is not finite.

    Example:
        >>> from attnwidget.results import Span
        >>> Span(0, 0.5, 0.75).seconds
        0.25
    """

    sound: int
    start: float
    end: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        numbers = [n for n in (self.start, self.end, self.low, self.high) if n is not None]
        if not all(map(isfinite, numbers)) or self.end <= self.start:
            raise ValueError(
                "a span has finite times with start < end, got "
                f"start {self.start}, end {self.end}, low {self.low}, high {self.high}"
            )

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.end - self.start


#: Region of a token: a box in a picture, or a span of a sound.
Place = Box | Span


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound in a model's input, with the samples that the user passed.

    Attributes:
        samples: Samples of one channel, float32 [n], usually between -1 and 1.
        rate: Samples per second.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import Sound
        >>> Sound(np.zeros(8000, dtype=np.float32), 16000).seconds
        0.5
    """

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate


@dataclass(frozen=True, eq=False, repr=False)
class Media:
    """Pictures and sounds of one input.

    Attributes:
        pictures: RGB pixels of each picture, uint8 [height, width, 3].
        sounds: The sounds.
    """

    pictures: tuple[NDArray[np.uint8], ...] = field(default=())
    sounds: tuple[Sound, ...] = field(default=())

    def __repr__(self) -> str:
        pictures = counted(len(self.pictures), "picture")
        return f"Media({pictures}, {counted(len(self.sounds), 'sound')})"

    def __bool__(self) -> bool:
        """Return whether there is a picture or a sound."""
        return bool(self.pictures or self.sounds)

    def check(self, places: Sequence[Place | None]) -> None:
        """Check that token regions are inside the pictures and sounds.

        Args:
            places: Region of each token, or None.

        Raises:
            ValueError: The picture or sound of a region does not exist, or the region is outside
                of it.
        """
        for token, region in enumerate(places):
            if isinstance(region, Box):
                if not 0 <= region.picture < len(self.pictures):
                    raise ValueError(
                        f"token {token} has a place in picture {region.picture}, and there are "
                        f"{len(self.pictures)} pictures: pass them as `images`"
                    )
                height, width = self.pictures[region.picture].shape[:2]
                if region.right <= 0 or region.bottom <= 0 or max(region.left, 0) >= width:
                    raise ValueError(_outside(token, region, width, height))
                if max(region.top, 0) >= height:
                    raise ValueError(_outside(token, region, width, height))
            elif isinstance(region, Span) and not 0 <= region.sound < len(self.sounds):
                raise ValueError(
                    f"token {token} has a place in sound {region.sound}, and there are "
                    f"{len(self.sounds)} sounds: pass them as `audio`"
                )


def _outside(token: int, box: Box, width: int, height: int) -> str:
    """Return the message for a box outside of its picture."""
    return (
        f"the place of token {token} is outside of its picture of {width} × {height} pixels: {box}"
    )


def picture_array(picture: Any) -> NDArray[np.uint8]:
    """Return the RGB pixels of a picture, uint8 [height, width, 3].

    Transparency is ignored, as processors do. The picture of a file is rotated according to its
    EXIF orientation.

    Args:
        picture: PIL image, file path, or array [height, width] or [height, width, 3 or 4], with
            bytes or numbers from 0 to 1.

    Raises:
        TypeError: `picture` is another kind of object.
        ValueError: The array has another shape or numbers that are not colors, the PIL image is
            stored rotated, or the file is not a picture.
        OSError: The file does not exist or cannot be read, or the path is a folder.

    Example:
        >>> import numpy as np
        >>> picture_array(np.zeros((2, 3))).shape
        (2, 3, 3)
    """
    from pathlib import Path

    from PIL import Image

    if isinstance(picture, (str, Path)):
        picture = _opened(picture)
    if isinstance(picture, Image.Image):
        orientation = picture.getexif().get(_ORIENTATION, 1)
        if orientation != 1:
            raise ValueError(
                f"the picture is stored turned (EXIF orientation {orientation}): pass its path, or "
                "PIL.ImageOps.exif_transpose(picture), to read it upright"
            )
        if picture.mode.startswith("I;16"):
            # PIL would clip 16-bit values at 255.
            picture = np.asarray(picture).astype(np.float64) / 65535
        elif picture.mode in ("I", "F"):
            picture = np.asarray(picture)
        else:
            return np.asarray(picture.convert("RGB"), dtype=np.uint8)
    if isinstance(picture, Mapping) or not hasattr(picture, "__array__"):
        raise TypeError(
            "a picture must be a PIL image, a path or an array [height, width, 3], got "
            f"{type(picture).__name__}"
        )
    return _bytes_of(np.asarray(picture))


def _opened(path: Any) -> Any:
    """Return the picture of a file, rotated upright."""
    from PIL import Image, ImageOps

    if "://" in str(path):
        raise ValueError(f"{str(path)!r} is an address, and nothing is fetched: pass a file")
    refuse_no_file(path, "a picture (PNG, JPEG or another format of PIL)")
    try:
        with Image.open(path) as image:
            return image.copy() if not image.getexif() else ImageOps.exif_transpose(image)
    except OSError as error:
        # PIL also raises OSError for files that are damaged or are not pictures.
        raise ValueError(
            f"{str(path)!r} cannot be read as a picture: {error}. Pass the path of an image file "
            "such as PNG or JPEG"
        ) from error


def _bytes_of(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a color array as bytes, uint8 [height, width, 3]."""
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[..., 0]
    if values.ndim == 2:
        values = values[..., None].repeat(3, axis=2)
    if values.ndim != 3 or values.shape[2] not in (3, 4) or 0 in values.shape:
        raise ValueError(
            f"a picture must be an array [height, width, 3] with colors last, got "
            f"{list(values.shape)}"
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(f"colors must be numbers, got an array of {values.dtype}")
    values = values[..., :3]
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    least, most = values.min(), values.max()
    # Both comparisons are False for NaN.
    if values.dtype.kind == "f" and least >= 0 and most <= 1:
        return (values.astype(np.float64) * 255).round().astype(np.uint8)
    # Integers up to 1 may be a mask, and 16-bit values up to 255 may be a dark picture.
    is_ambiguous = values.dtype == np.uint16 or most == 1
    if values.dtype.kind in "iu" and not is_ambiguous and least >= 0 and most <= 255:
        return values.astype(np.uint8)
    raise ValueError(
        f"colors must be bytes from 0 to 255 (uint8), or numbers from 0 to 1; got {values.dtype} "
        f"from {least} to {most}: divide by the largest possible value"
    )
