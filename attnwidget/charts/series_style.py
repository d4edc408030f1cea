"""Colors, shapes and dashes of named series, and label positions at the ends of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from attnwidget.charts.theme import HEIGHT, LIGHT, LINE, PADDING, text_width

SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES = ([1, 0], [6, 3], [2, 2])
_REST_SHAPE = "triangle-right"
_SYMBOL = 32
"""Width of a legend symbol with the space around it, in pixels."""
REST = frozenset({"other", "other tokens", "heterogeneous", "even attention", "random links"})
"""Names of residual classes, which are gray and come last."""
MEANINGS = ("[CLS]", "[SEP]", ". ,", "previous token", "next token", "attends broadly")
"""Names that have the same color in every figure; other names take the remaining colors."""


def ordered(names: Iterable[str]) -> list[str]:
    """Return the distinct names: names in `MEANINGS` first, names in `REST` last."""
    positions = {name: position for position, name in enumerate(MEANINGS)}
    ranks = {**positions, **dict.fromkeys(REST, len(positions) + 1)}
    return sorted(dict.fromkeys(names), key=lambda name: ranks.get(_key(name), len(positions)))


def colors(names: Sequence[str], figure: str, *, lines: bool = False) -> alt.Scale:
    """Return the color scale of the names.

    Args:
        names: Names of the series.
        figure: Name of the drawing function, for the error message.
        lines: Whether the series are lines, which also differ by `shapes` and `dashes`.

    Raises:
        ValueError: If there are more names than a reader can tell apart.
    """
    limit = len(LIGHT.series) * (len(_DASHES) if lines else 1)
    if (count := sum(name not in REST for name in names)) > limit:
        raise ValueError(
            f"{figure} tells {limit} {'series' if lines else 'colors'} apart, not {count} "
            f"({', '.join(names)}): choose some, or draw several figures"
        )
    color_numbers = _places(names)
    return alt.Scale(
        domain=list(names),
        range=[
            LIGHT.series[color_numbers[name] % len(LIGHT.series)]
            if name in color_numbers
            else LIGHT.rest
            for name in names
        ],
    )


def color_cycle(names: Sequence[str]) -> list[str]:
    """Return a color for each name, for figures that print the name at its data.

    Names in `MEANINGS` have their own color. The other names take turns with the remaining colors,
    so that names may share a color.

    Args:
        names: Names without names in `REST`.
    """
    fixed = {
        name: LIGHT.series[MEANINGS.index(_key(name))] for name in names if _key(name) in MEANINGS
    }
    free = [color for color in LIGHT.series if color not in fixed.values()] or list(LIGHT.series)
    others = [name for name in names if name not in fixed]
    turns = {name: free[i % len(free)] for i, name in enumerate(others)}
    return [(fixed | turns)[name] for name in names]


def shapes(names: Sequence[str]) -> alt.Scale:
    """Return the shape scale of the names; names that share a color have different shapes."""
    color_numbers = _places(names)
    count = len(SHAPES)
    return alt.Scale(
        domain=list(names),
        range=[
            SHAPES[(color_numbers[name] + color_numbers[name] // count) % count]
            if name in color_numbers
            else _REST_SHAPE
            for name in names
        ],
    )


def dashes(names: Sequence[str]) -> alt.Scale:
    """Return the dash scale of the names; the first name of each color has a solid line."""
    color_numbers = _places(names)
    return alt.Scale(
        domain=list(names),
        range=[_DASHES[color_numbers.get(name, 0) // len(LIGHT.series)] for name in names],
    )


def legend_columns(names: Iterable[str], width: float) -> int:
    """Return the number of legend entries that fit side by side into a figure.

    Args:
        names: Names of the entries.
        width: Width of the figure in pixels.

    Example:
        >>> from attnwidget.charts.series_style import legend_columns
        >>> legend_columns(["attention", "offset"], 640) > 4
        True
    """
    widest = max(map(text_width, names), default=0) + _SYMBOL
    return max(1, int((width - 2 * PADDING) // widest))


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the palette number of each name that is not in `REST`."""
    fixed = {name: MEANINGS.index(key) for name in names if (key := _key(name)) in MEANINGS}
    count = len(LIGHT.series) * len(_DASHES)
    free = (number for number in range(count) if number not in fixed.values())
    return {
        name: fixed[name] if name in fixed else next(free) for name in names if name not in REST
    }


def _key(name: str) -> str:
    return name.removeprefix("to ").removeprefix("rests on ")


def spread(
    places: Mapping[str, float], low: float, high: float, height: float = HEIGHT
) -> dict[str, float]:
    """Return label heights that are close to their places and at least one line of text apart.

    The heights minimize the squared distances under this constraint, with the
    pool-adjacent-violators algorithm.

    Args:
        places: Desired height of each label, in y axis units.
        low: Lower end of the y axis.
        high: Upper end of the y axis.
        height: Height of the plot in pixels.

    Example:
        >>> from attnwidget.charts.series_style import spread
        >>> spread({"a": 0.50, "b": 0.52, "c": 0.90}, 0, 1, height=130)
        {'a': 0.46, 'b': 0.56, 'c': 0.9}
    """
    gap = LINE * (high - low) / height
    names = sorted(places, key=places.__getitem__)
    pools: list[list[float]] = []  # [mean of place - rank * gap, number of labels]
    for rank, name in enumerate(names):
        pools.append([places[name] - rank * gap, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            mean, count = pools.pop()
            previous = pools[-1]
            previous[0] = (previous[0] * previous[1] + mean * count) / (previous[1] + count)
            previous[1] += count
    top = max(low, high - (len(names) - 1) * gap)
    bases = [min(max(mean, low), top) for mean, count in pools for _ in range(int(count))]
    return {
        name: round(base + rank * gap, 12)
        for rank, (name, base) in enumerate(zip(names, bases, strict=True))
    }
