"""Named series: a color and a shape each, and labels at the ends of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from attnwidget.charts.theme import HEIGHT, LIGHT, LINE, PADDING, text_width

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES = ([1, 0], [6, 3], [2, 2])
_REST_SHAPE = "triangle-right"
_SYMBOL = 32
"""Pixels of the symbol of an entry of a legend, with the space around it."""
REST = frozenset({"other", "other tokens", "heterogeneous", "even attention"})
"""What has no name of its own is gray and comes last."""
MEANINGS = ("[CLS]", "[SEP]", ". ,", "previous token", "next token", "attends broadly")
"""What looks the same in every figure; others take the colors that these leave."""


def ordered(names: Iterable[str]) -> list[str]:
    """Return the distinct names: known meanings first, names in `REST` last."""
    known = {name: place for place, name in enumerate(MEANINGS)}
    ranks = {**known, **dict.fromkeys(REST, len(known) + 1)}
    return sorted(dict.fromkeys(names), key=lambda name: ranks.get(_key(name), len(known)))


def colors(names: Sequence[str], figure: str, *, lines: bool = False) -> alt.Scale:
    """Return a color for each name. Series that are `lines` also differ by `shapes` and `dashes`.

    Raises:
        ValueError: there are more names than a reader can tell apart.
    """
    most = len(LIGHT.series) * (len(_DASHES) if lines else 1)
    if (count := sum(name not in REST for name in names)) > most:
        raise ValueError(
            f"{figure} tells {most} {'series' if lines else 'colors'} apart, not {count} "
            f"({', '.join(names)}): choose some, or draw several figures"
        )
    of = _places(names)
    return alt.Scale(
        domain=list(names),
        range=[
            LIGHT.series[of[name] % len(LIGHT.series)] if name in of else LIGHT.rest
            for name in names
        ],
    )


def shapes(names: Sequence[str]) -> alt.Scale:
    """Return a shape for each name. Names that share a color have different shapes."""
    of = _places(names)
    count = len(SHAPES)
    return alt.Scale(
        domain=list(names),
        range=[
            SHAPES[(of[name] + of[name] // count) % count] if name in of else _REST_SHAPE
            for name in names
        ],
    )


def dashes(names: Sequence[str]) -> alt.Scale:
    """Return a dash of lines for each name: solid for the first names, one for each color."""
    of = _places(names)
    return alt.Scale(
        domain=list(names),
        range=[_DASHES[of.get(name, 0) // len(LIGHT.series)] for name in names],
    )


def legend_columns(names: Iterable[str], width: float) -> int:
    """Return how many entries of a legend fit side by side in a figure of a width.

    Example:
        >>> from attnwidget.charts.series_style import legend_columns
        >>> legend_columns(["attention", "offset"], 640) > 4
        True
    """
    widest = max(map(text_width, names), default=0) + _SYMBOL
    return max(1, int((width - 2 * PADDING) // widest))


def _places(names: Sequence[str]) -> dict[str, int]:
    """The place in the palette of each name that is not `REST`."""
    meant = {name: MEANINGS.index(key) for name in names if (key := _key(name)) in MEANINGS}
    most = len(LIGHT.series) * len(_DASHES)
    left = (place for place in range(most) if place not in meant.values())
    return {
        name: meant[name] if name in meant else next(left) for name in names if name not in REST
    }


def _key(name: str) -> str:
    return name.removeprefix("to ")


def spread(
    places: Mapping[str, float], low: float, high: float, height: float = HEIGHT
) -> dict[str, float]:
    """Return heights for labels: near their places, and at least a line of text apart.

    `places` and the answer are in units of the y axis, which spans `low` to `high` over `height`
    pixels. Least squares under that distance: the pool-adjacent-violators algorithm.

    Example:
        >>> from attnwidget.charts.series_style import spread
        >>> spread({"a": 0.50, "b": 0.52, "c": 0.90}, 0, 1, height=130)
        {'a': 0.46, 'b': 0.56, 'c': 0.9}
    """
    gap = LINE * (high - low) / height
    names = sorted(places, key=places.__getitem__)
    pools: list[list[float]] = []  # [mean of place - rank * gap, how many labels]
    for rank, name in enumerate(names):
        pools.append([places[name] - rank * gap, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, count = pools.pop()
            before = pools[-1]
            before[0] = (before[0] * before[1] + mean * count) / (before[1] + count)
            before[1] += count
    top = max(low, high - (len(names) - 1) * gap)
    bases = [min(max(mean, low), top) for mean, count in pools for _ in range(int(count))]
    return {
        name: round(base + rank * gap, 12)
        for rank, (name, base) in enumerate(zip(names, bases, strict=True))
    }
