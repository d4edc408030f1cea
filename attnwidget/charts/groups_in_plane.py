"""Heads in the plane in two panels: with the names of their groups, and by layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnwidget.charts.frame_columns import checked, inline, row_names
from attnwidget.charts.heads_in_plane import layer_color, pixel_positions, reading
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.series_style import REST, color_cycle
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    LINE,
    PADDING,
    WIDTH,
    publication,
    text_width,
    wrapped_text,
)

_GAP = 20
_LEAST = 240
"""Smallest width of a panel that shares its row, in pixels."""
_ROOMY = 300
"""Width from which a map has space for names, in pixels."""
_HEADING = 24
"""Height of the heading of a panel in pixels."""
_WIDEST_NAME = 110
"""Width from which a name is wrapped, in pixels."""
_FAR = 2.2
"""Distance of outliers from the middle of their group, in multiples of the median distance."""
_FEWEST = 3
"""Smallest number of heads that are outlined."""
_APART = 0.25
"""Distance of heads with a name of their own, as a share of the width of a panel."""
_ORDERS = 4
"""Largest number of rotations of the order in which small groups get their names."""
_STEP = 6
_REACH = 120.0
"""Largest distance of a name from its group in pixels."""
_COVERED = 400.0
_NEAR_OTHERS = 12.0
_ON_A_NAME = 1e6
"""Costs of a name: per head under it, per head of another group next to it, and per name."""
_CROSSED = 200.0
"""Cost of a name whose line crosses another name, or that lies on the line of another name."""
_ALONG = np.linspace(0, 1, 12)
"""Shares of a line at which it is compared with names."""
_TOUCH = 5.0
_NEAR = 12.0
"""Distances in pixels from which a head is not under a name, and not next to it."""
_LEADER = 12.0
"""Smallest distance of a name from its heads that gets a line, in pixels."""
_MARGIN = 56.0
"""Space for names above and below a narrow map, in pixels."""
_OUTLINE = 16
"""Width of the soft border of an outline in pixels."""
_NO_NAME = "no name"


def groups_in_plane(frame: pd.DataFrame, *, title: str, width: int = WIDTH) -> alt.LayerChart:
    """Draw heads at their positions, once by group and once by layer: Clark et al., Figure 6.

    The names stand at their groups, so there is no legend. Three or more heads near each other are
    outlined. The second panel has the same positions. Panels stand below each other in a narrow
    figure.

    Args:
        frame: Table with the columns layer and head (from 0), x, y and group; "" or "other" is no
            group.
        title: Figure title; further lines become the subtitle.
        width: Figure width in pixels.

    Raises:
        ValueError: If a column or every position is missing.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.charts.groups_in_plane import groups_in_plane
        >>> frame = pd.DataFrame(
        ...     {"layer": [0, 0], "head": [0, 1], "x": [0, 1], "y": [1, 0], "group": ["a", ""]}
        ... )
        >>> groups_in_plane(frame, title="Two heads").layer[0].mark.type
        'text'
    """
    table = checked(frame, ["layer", "head", "x", "y", "group"], "groups_in_plane")
    table = table.assign(name=row_names(table))
    available = width - 2 * PADDING
    is_wide = available >= 2 * _LEAST + _GAP
    plot = (available - _GAP) / 2 if is_wide else available
    centers, height, is_moved = pixel_positions(table, plot)
    # A narrow map has no space for names beside its heads.
    margin = 0.0 if plot >= _ROOMY else _MARGIN
    widest = min(_WIDEST_NAME, plot / 2.5)
    centers[:, 1] += margin
    top = float(_HEADING)
    bottom = top + height + 2 * margin
    second = (plot + _GAP, top) if is_wide else (0.0, bottom + _GAP + top - margin)
    total = (available, second[1] + height + margin)
    across = alt.Scale(domain=[0, total[0]], nice=False, zero=False)
    down = alt.Scale(domain=[total[1], 0], nice=False, zero=False)
    axes = {
        "x": alt.X("x:Q", axis=None, scale=across),
        "y": alt.Y("y:Q", axis=None, scale=down),
    }
    groups = [group if group and group not in REST else _NO_NAME for group in table["group"]]
    names = [name for name, _ in Counter(groups).most_common() if name != _NO_NAME]
    color_of = dict(zip(names, color_cycle(names), strict=True))
    by_group = np.array(groups)
    layers = []
    to_place: list[_Name] = []
    for name in names:
        members = np.flatnonzero(by_group == name)
        parts = _parts(centers[members], _APART * plot)
        core = _core(centers[members[parts[0]]])
        if len(core) >= _FEWEST:
            layers.append(_outline(core + np.array([0.0, top]), color_of[name], axes))
        # Far heads of a small group have the name too; in a large group, the color tells enough.
        named_parts = parts if len(members) <= _FEWEST else parts[:1]
        for part in named_parts:
            own = members[part]
            count = f" ({len(members)})" if len(members) > 1 and len(named_parts) == 1 else ""
            lines = wrapped_text(name + count, widest)
            to_place.append(_Name(name, lines, own, _core(centers[own])))
    labels: list[dict[str, Any]] = []
    leaders: list[dict[str, Any]] = []
    for label in _placed(to_place, centers, (plot, bottom - top)):
        for index, text_line in enumerate(label.lines):
            y = top + label.center[1] + (index - (len(label.lines) - 1) / 2) * LINE
            labels.append({"x": label.center[0], "y": y, "text": text_line, "group": label.name})
        if label.leader is not None:
            (x, y), (x2, y2) = label.leader.tolist()
            leaders.append({"x": x, "y": y + top, "x2": x2, "y2": y2 + top, "group": label.name})
    numbers = pd.DataFrame({"layer": table["layer"], "name": table["name"], "group": groups})
    named = numbers.assign(x=centers[:, 0], y=centers[:, 1] + top)
    by_layer = numbers.assign(x=centers[:, 0] + second[0], y=centers[:, 1] + second[1])
    domain = [*names, _NO_NAME]
    scale = alt.Scale(domain=domain, range=[*(color_of[name] for name in names), LIGHT.rest])
    group_color = alt.Color("group:N", scale=scale, legend=None)
    if leaders:
        rules = alt.Chart(alt.InlineData(values=leaders)).mark_rule(strokeWidth=1, opacity=0.6)
        layers.append(rules.encode(**axes, x2="x2:Q", y2="y2:Q", color=group_color))
    layers.append(_numbers(named, group_color, axes))
    layers.append(_numbers(by_layer, layer_color(table), axes))
    if labels:
        text = alt.Chart(alt.InlineData(values=labels)).mark_text(
            fontSize=LABEL, fontWeight=600, baseline="middle"
        )
        layers.append(text.encode(**axes, text="text:N", color=group_color))
    n_named = sum(group != _NO_NAME for group in groups)
    headings: list[dict[str, Any]] = [
        {"x": 0, "y": 8, "text": f"By name: {n_named} of {len(groups)} heads have one"},
        {"x": second[0], "y": second[1] + (0 if is_wide else margin) - top + 8, "text": "By layer"},
    ]
    heading = alt.Chart(alt.InlineData(values=headings)).mark_text(
        align="left", baseline="middle", fontSize=12, fontWeight=600, color=LIGHT.text
    )
    layers.append(heading.encode(**axes, text="text:N"))
    chart = alt.LayerChart(layer=layers).properties(width=total[0], height=total[1])
    return offline(publication(chart, f"{title}\n{reading(is_moved)}", width))


@dataclass
class _Name:
    """Name of a group, with the heads that it stands at and its position in the panel.

    Attributes:
        name: Name of the group.
        lines: Lines of the name.
        own: Indices of the heads.
        core: Positions of the heads without outliers, [M, 2].
        center: Center of the name.
        leader: Both ends of a line from the name to a head, [2, 2]; None if they are close.
    """

    name: str
    lines: list[str]
    own: NDArray[np.intp]
    core: NDArray[np.float64]
    center: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    leader: NDArray[np.float64] | None = None


def _placed(
    names: Sequence[_Name], centers: NDArray[np.float64], size: tuple[float, float]
) -> list[_Name]:
    """Return the names at their places: the best of several orders in which they get a place.

    Args:
        names: Names, those of large groups first.
        centers: Positions of all heads, [N, 2].
        size: Width and height of the panel.
    """
    n_large = sum(len(name.core) >= _FEWEST for name in names)
    large, small = list(names[:n_large]), list(names[n_large:])
    best: tuple[float, list[_Name]] = (np.inf, list(names))
    for turn in range(min(_ORDERS, max(1, len(small)))):
        for rotated in (small[turn:] + small[:turn], (small[turn:] + small[:turn])[::-1]):
            cost, placed = _placed_in_order([*large, *rotated], centers, size)
            if cost < best[0]:
                best = cost, placed
    return best[1]


def _placed_in_order(
    names: Sequence[_Name], centers: NDArray[np.float64], size: tuple[float, float]
) -> tuple[float, list[_Name]]:
    """Return the sum of the costs of the names, and the names at their places."""
    total = 0.0
    taken: list[NDArray[np.float64]] = []
    crossings = np.zeros((0, 2))
    placed = []
    for name in names:
        cost, center, box = _name_place(
            name.lines, name.core, name.own, centers, taken, crossings, size
        )
        total += cost
        taken.append(box)
        leader = _leader(box, name.core)
        if leader is not None:
            on_line = leader[0] + (leader[1] - leader[0]) * _ALONG[:, None]
            crossings = np.concatenate([crossings, on_line])
        placed.append(replace(name, center=center, leader=leader))
    return total, placed


def _numbers(rows: pd.DataFrame, color: alt.Color, axes: dict[str, Any]) -> alt.Chart:
    chart = alt.Chart(inline(rows)).mark_text(fontSize=LABEL, fontWeight=600)
    tooltip = [alt.Tooltip("name:N", title="head"), alt.Tooltip("group:N", title="name")]
    return chart.encode(**axes, text="layer:N", color=color, tooltip=tooltip)


def _parts(points: NDArray[np.float64], apart: float) -> list[NDArray[np.intp]]:
    """Return the indices of points that chains of short distances connect, largest part first."""
    near = np.linalg.norm(points[:, None] - points[None], axis=-1) <= apart
    part = np.arange(len(points))
    for _ in points:
        part = np.where(near, part[None], len(points)).min(1)
    parts = [np.flatnonzero(part == number) for number in np.unique(part)]
    return sorted(parts, key=len, reverse=True)


def _core(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points without those far from the middle of all."""
    distance = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    return points[distance <= _FAR * np.median(distance) + 1e-9]


def convex_hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of the convex hull in order, by Andrew's monotone chain.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.groups_in_plane import convex_hull
        >>> convex_hull(np.array([[0.0, 0], [2, 0], [2, 2], [0, 2], [1, 1]])).tolist()
        [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]
    """
    ordered = sorted(map(tuple, points.tolist()))

    def chain(corners: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        kept: list[tuple[float, ...]] = []
        for x, y in corners:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], (x, y)) <= 0:
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return np.array([*chain(ordered), *chain(ordered[::-1])] or ordered[:1])


def _turn(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _outline(points: NDArray[np.float64], color: str, axes: dict[str, Any]) -> alt.Chart:
    corners = convex_hull(points)
    rows = [{"x": x, "y": y, "order": i} for i, (x, y) in enumerate(corners.round(1).tolist())]
    # One opacity for the mark: with an opacity each, fill and border would add up.
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(
        interpolate="linear-closed",
        fill=color,
        color=color,
        opacity=0.1,
        strokeWidth=_OUTLINE,
        strokeJoin="round",
    )
    return chart.encode(**axes, order="order:Q")


def _name_place(
    lines: Sequence[str],
    core: NDArray[np.float64],
    own: NDArray[np.intp],
    centers: NDArray[np.float64],
    taken: Sequence[NDArray[np.float64]],
    crossings: NDArray[np.float64],
    size: tuple[float, float],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the cost, the center and the box of a name, near its group and over few heads.

    Args:
        lines: Lines of the name.
        core: Positions of the heads that the name stands at, [M, 2].
        own: Indices of all heads of the group part.
        centers: Positions of all heads, [N, 2].
        taken: Boxes of other names: left, top, right, bottom.
        crossings: Points on the lines of other names, [P, 2].
        size: Width and height of the panel.
    """
    half = np.array([max(map(text_width, lines)) / 2, len(lines) * LINE / 2])
    middle = core.mean(0)
    is_other = np.ones(len(centers), dtype=bool)
    is_other[own] = False
    limits = np.maximum(np.array(size) - half, half)
    reach = _REACH + np.ptp(core, axis=0) / 2
    steps = [np.arange(m - r, m + r + 1, _STEP) for m, r in zip(middle, reach, strict=True)]
    candidates = np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, 2)
    candidates = np.clip(candidates, half, limits)
    boxes = np.concatenate([candidates - half, candidates + half], axis=1)
    away = _distances(centers, boxes)
    cost = _COVERED * (away < _TOUCH).sum(1)
    cost = cost + _NEAR_OTHERS * ((away < _NEAR) & is_other).sum(1)
    nearest = core[_distances(core, boxes).argmin(1)]
    start = np.clip(nearest, boxes[:, :2], boxes[:, 2:])
    along = start[:, None] + (nearest - start)[:, None] * _ALONG[:, None]
    for other in taken:
        inside = (along >= other[:2] - 2).all(-1) & (along <= other[2:] + 2).all(-1)
        cost = cost + _CROSSED * inside.any(1)
        meets = (boxes[:, :2] < other[2:] + 2).all(1) & (other[:2] < boxes[:, 2:] + 2).all(1)
        cost = cost + _ON_A_NAME * meets
    cost = cost + _distances(core, boxes).min(1)
    cost = cost + np.linalg.norm(candidates - middle, axis=1) / 2
    if len(crossings):
        cost = cost + _CROSSED * (_distances(crossings, boxes) < 2).any(1)
    best = int(cost.argmin())
    return float(cost[best]), candidates[best], boxes[best]


def _distances(points: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each point from each box, [K, N]; 0 inside."""
    corner = boxes[:, None, :2] - points[None], points[None] - boxes[:, None, 2:]
    distances: NDArray[np.float64] = np.linalg.norm(np.maximum(0, np.maximum(*corner)), axis=-1)
    return distances


def _leader(box: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return both ends of a line from a name to its nearest head, [2, 2]; None if close."""
    nearest = points[int(_distances(points, box[None])[0].argmin())]
    start = np.clip(nearest, box[:2], box[2:])
    length = float(np.linalg.norm(nearest - start))
    if length < _LEADER:
        return None
    # The line ends before the number of the head.
    end = nearest + (start - nearest) * min(1.0, _TOUCH * 1.4 / length)
    return np.stack([start, end])
