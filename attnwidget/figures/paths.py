"""Shapes as SVG paths, in pixels."""

from __future__ import annotations

from collections.abc import Sequence


def rectangle(x: float, y: float, width: float, height: float) -> str:
    """The path round a rectangle.

    Example:
        >>> from attnwidget.figures.paths import rectangle
        >>> rectangle(1, 2, 30, 4.5)
        'M1,2h30v4.5h-30Z'
    """
    return f"M{x:g},{y:g}h{width:g}v{height:g}h{-width:g}Z"


def disc(radius: float, x: float = 0, y: float = 0) -> str:
    """The path round a disc.

    Example:
        >>> from attnwidget.figures.paths import disc
        >>> disc(2, 10, 5)
        'M8,5a2,2,0,1,0,4,0a2,2,0,1,0,-4,0Z'
    """
    arc = f"a{radius:g},{radius:g},0,1,0"
    return f"M{x - radius:g},{y:g}{arc},{2 * radius:g},0{arc},{-2 * radius:g},0Z"


def polygon(points: Sequence[tuple[float, float]]) -> str:
    """The path of a closed polygon.

    Example:
        >>> from attnwidget.figures.paths import polygon
        >>> polygon([(0, 0), (4, 0), (0, 4)])
        'M0,0L4,0L0,4Z'
    """
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points) + "Z"
