"""Maps as crisp images, for what is too fine to be drawn cell by cell."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from attnwidget.figures.levels import colour_table


def map_image(levels: NDArray[np.uint8], ramp: Sequence[str], *, cell: int = 1) -> str:
    """Levels of a colour ramp as a PNG with sharp cells, in a data URL.

    Args:
        levels: uint8 [rows, columns]; 0 is the start of the ramp, 255 its end.
        ramp: two or more colours "#rrggbb", equally spaced.
        cell: pixels of a cell's side.

    Raises:
        ValueError: `levels` is not [rows, columns] of uint8, or empty; `cell` is under 1.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.images import map_image
        >>> map_image(np.eye(2, dtype=np.uint8), ["#ffffff", "#190074"], cell=8)[:22]
        'data:image/png;base64,'
    """
    if levels.ndim != 2 or levels.dtype != np.uint8 or not levels.size:
        raise ValueError(
            f"map_image takes uint8 levels [rows, columns], not {levels.dtype} {levels.shape}"
        )
    picture = Image.fromarray(_enlarged(levels, cell))
    picture.putpalette(colour_table(ramp).tobytes())
    return _data_url(picture)


def colour_image(pixels: NDArray[np.uint8], *, cell: int = 1) -> str:
    """Colours as a PNG with sharp cells, in a data URL.

    Args:
        pixels: uint8 [rows, columns, 4]: red, green, blue, opacity.
        cell: pixels of a cell's side.

    Raises:
        ValueError: `pixels` is not [rows, columns, 4] of uint8, or empty; `cell` is under 1.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.images import colour_image
        >>> colour_image(np.zeros((1, 1, 4), np.uint8))[:22]
        'data:image/png;base64,'
    """
    if pixels.ndim != 3 or pixels.shape[-1] != 4 or pixels.dtype != np.uint8 or not pixels.size:
        raise ValueError(
            f"colour_image takes uint8 [rows, columns, 4], not {pixels.dtype} {pixels.shape}"
        )
    opaque = bool((pixels[..., 3] == 255).all())
    return _data_url(Image.fromarray(_enlarged(pixels[..., :3] if opaque else pixels, cell)))


def _enlarged(pixels: NDArray[np.uint8], cell: int) -> NDArray[np.uint8]:
    if cell < 1:
        raise ValueError(f"cell is 1 or more pixels, got {cell}")
    large: NDArray[np.uint8] = pixels.repeat(cell, axis=0).repeat(cell, axis=1)
    return large


def _data_url(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
