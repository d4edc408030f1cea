"""Where a value lies on the widgets' colour scales, and the colour that it has there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

ScaleName = Literal["linear", "sqrt", "log"]

LOG_DECADES = 3
"""Decades that the log scale spans below the largest value."""
SCALE_WORDS = {"linear": "linear", "sqrt": "square-root", "log": "logarithmic"}


def transfer(share: ArrayLike, scale: str) -> NDArray[np.float64]:
    """Where a share of the maximum, 0 to 1, lies on a scale, 0 to 1; any shape.

    Example:
        >>> from attnwidget.figures.levels import transfer
        >>> transfer([0, 0.25, 1], "sqrt").tolist()
        [0.0, 0.5, 1.0]
    """
    x = np.asarray(share, dtype=np.float64)
    if scale == "linear":
        return x
    if scale == "sqrt":
        return np.sqrt(x)
    logs = np.log10(x, where=x > 0, out=np.full_like(x, -np.inf))
    return np.maximum(0.0, 1 + logs / LOG_DECADES)


def inverse(place: float, scale: str) -> float:
    """The share of the maximum at a place on a scale: `transfer` backwards.

    Example:
        >>> from attnwidget.figures.levels import inverse
        >>> inverse(0.5, "sqrt")
        0.25
    """
    if scale == "linear":
        return place
    return place**2 if scale == "sqrt" else 10.0 ** ((place - 1) * LOG_DECADES)


def levels(values: ArrayLike, maximum: float, scale: str) -> NDArray[np.uint8]:
    """The entry of a colour table that each value is drawn with, 0 to 255; any shape, NaN is 0.

    Example:
        >>> from attnwidget.figures.levels import levels
        >>> levels([0.0, 0.2, 0.8], 0.8, "sqrt").tolist()
        [0, 128, 255]
    """
    x = np.asarray(values, dtype=np.float64)
    if not maximum > 0:
        return np.zeros(x.shape, np.uint8)
    shares = np.clip(np.nan_to_num(x / maximum, nan=0.0), 0.0, 1.0)
    return np.floor(255 * transfer(shares, scale) + 0.5).astype(np.uint8)


def colour_table(ramp: Sequence[str]) -> NDArray[np.uint8]:
    """A ramp of "#rrggbb" as 256 colours, uint8 [256, 3]; entry 0 is its first.

    Example:
        >>> from attnwidget.figures.levels import colour_table
        >>> colour_table(["#000000", "#ff8000"])[[0, 255]].tolist()
        [[0, 0, 0], [255, 128, 0]]
    """
    anchors = np.stack([rgb(colour) for colour in ramp]).astype(np.float64)
    at = np.arange(256) / 255 * (len(anchors) - 1)
    low = np.minimum(np.floor(at).astype(int), len(anchors) - 2)
    mixed = anchors[low] + (anchors[low + 1] - anchors[low]) * (at - low)[:, None]
    table: NDArray[np.uint8] = np.floor(mixed + 0.5).astype(np.uint8)
    return table


def blended(ground: ArrayLike, colour: ArrayLike, part: Any) -> NDArray[np.uint8]:
    """`part` (0 to 1, or an array of it) of a colour over a ground, both uint8 [..., 3].

    Example:
        >>> from attnwidget.figures.levels import blended
        >>> blended([255, 255, 255], [0, 0, 0], 0.5).tolist()
        [128, 128, 128]
    """
    below, above = (np.asarray(c, dtype=np.float64) for c in (ground, colour))
    table: NDArray[np.uint8] = np.floor(below + (above - below) * part + 0.5).astype(np.uint8)
    return table


@lru_cache(4096)
def ramp_colour(ramp: tuple[str, ...], place: float) -> str:
    """The colour at a place, 0 to 1, on a ramp of "#rrggbb".

    Example:
        >>> from attnwidget.figures.levels import ramp_colour
        >>> ramp_colour(("#000000", "#ff8000"), 0.5)
        'rgb(128,64,0)'
    """
    at = min(max(place, 0.0), 1.0) * (len(ramp) - 1)
    low = min(int(at), len(ramp) - 2)
    return css(blended(rgb(ramp[low]), rgb(ramp[low + 1]), at - low))


def rgb(colour: str) -> NDArray[np.uint8]:
    """The colour "#rrggbb" as uint8 [3].

    Example:
        >>> from attnwidget.figures.levels import rgb
        >>> rgb("#ff8000").tolist()
        [255, 128, 0]
    """
    return np.frombuffer(bytes.fromhex(colour.removeprefix("#")), np.uint8)


def css(colour: ArrayLike) -> str:
    """A colour, [3] of 0 to 255, as "rgb(r,g,b)".

    Example:
        >>> from attnwidget.figures.levels import css
        >>> css([255, 128, 0])
        'rgb(255,128,0)'
    """
    return "rgb({},{},{})".format(*(int(c) for c in np.asarray(colour)))
