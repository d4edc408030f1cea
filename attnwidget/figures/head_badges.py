"""The metric of each head under its thumbnail: a bar, a name and a number where they fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.head_order import HeadMetric
from attnwidget.figures.map_numbers import aligned
from attnwidget.figures.text_width import text_width

SIZE = 10
# Room between two texts, in a cell and from one cell to the next.
_GAP = 4


def badge_texts(
    order: NDArray[np.int64], metric: HeadMetric, width: float
) -> list[tuple[str, str]]:
    """Name and number under each cell, in the longest spelling that fits under all of them.

    Numbers lose a digit first, then names their letters, then the numbers go. Names are only
    needed where the order does not tell them.

    Example:
        >>> import numpy as np
        >>> from attnwidget.figures.head_badges import badge_texts
        >>> from attnwidget.figures.head_order import HeadMetric
        >>> metric = HeadMetric("share", np.array([[0.25, 1]], np.float32))
        >>> badge_texts(np.array([[0, 1]]), metric, 40)
        [('', '0.25'), ('', '1.00')]
    """
    n_heads = metric.values.shape[1]
    low, high = float(metric.values.min()), float(metric.values.max())

    def spelt(make: Callable[[int, int, float], str]) -> list[str]:
        return [
            "" if i < 0 else make(i // n_heads, i % n_heads, float(metric.values.flat[i]))
            for i in map(int, order.ravel())
        ]

    def fits(names: list[str], numbers: list[str]) -> bool:
        return all(
            text_width(name, SIZE) + text_width(number, SIZE) + _GAP * bool(name and number)
            <= width - _GAP / 2
            for name, number in zip(names, numbers, strict=True)
        )

    nothing = spelt(lambda *_: "")
    names = {
        "none": [nothing],
        "rows": [spelt(lambda _, head, __: f"H{head}")],
        "all": [
            spelt(lambda layer, head, _: f"L{layer} H{head}"),
            spelt(lambda layer, head, _: f"{layer}·{head}"),
        ],
    }[metric.sort]
    prints = [aligned(low, high, digits) for digits in (3, 2)]
    numbers = [spelt(lambda _, __, value, p=show: p(value)) for show in prints]  # type: ignore[misc]
    for name in names:
        for number in numbers:
            if fits(name, number):
                return list(zip(name, number, strict=True))
    name = next((name for name in names if fits(name, nothing)), names[-1])
    return list(zip(name, nothing, strict=True))
