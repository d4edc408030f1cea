"""Heat maps of a metric with one cell per head: layers as rows, heads as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from attnwidget.charts.color_bar import color_bar, color_bar_width
from attnwidget.charts.frame_columns import inline, row_names
from attnwidget.charts.layer_curves import NUMBER
from attnwidget.charts.offline_chart import offline
from attnwidget.charts.theme import (
    LABEL,
    LIGHT,
    PADDING,
    WIDTH,
    ink_scale,
    panel_width,
    panels_in_row,
    publication,
    text_width,
)
from attnwidget.hidden_frames import hides_frames

_CELL = 40
_SMALL_CELL = 20
_SMALLEST = 6
_AXIS = 46
"""Width of the layer labels in pixels."""
_PANEL = 48
"""Width of a panel's layer labels in pixels."""
_TALLEST = 640
_TALL = 440
"""Height of a figure in pixels above which the longer side of the model lies across."""
_WHOLE = "whole layer"
_COLUMNS = 3
"""Maximum number of heat maps per row."""
_GAP = 12


@hides_frames
def head_heatmap(
    values: ArrayLike,
    *,
    title: str,
    value_title: str,
    layers: ArrayLike | None = None,
    marked: ArrayLike | None = None,
    layers_marked: ArrayLike | None = None,
    diverging: bool = False,
    width: int = WIDTH,
) -> alt.LayerChart:
    """Draw any head metric with one cell per head.

    Layers are rows. If there are more layers than heads and the figure would be tall, heads are
    rows.

    Values of one sign are shaded from 0, which has the background color. Values of both signs use a
    diverging scale that is neutral gray at 0. NaN, for a head that was not measured, is drawn as a
    cross.

    Args:
        values: Metric of each head, [L, H].
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, above the color bar.
        layers: Metric of complete layers, [L], drawn in an extra column next to the heads.
        marked: Heads whose cells have a dot, bool [L, H].
        layers_marked: Layers whose cells in the extra column have a dot, bool [L].
        diverging: Whether to use a diverging scale even if all values have one sign.
        width: Figure width in pixels.

    Raises:
        ValueError: If `values` is not [L, H], has an infinite value, or has no finite value.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts import head_heatmap
        >>> chart = head_heatmap(np.eye(6, 12), title="Heads", value_title="weight")
        >>> chart.save("heads.svg")  # doctest: +SKIP
    """
    heads = _checked(values, layers)
    table = _cells(heads, marked)
    columns: list[int | str] = list(range(heads.shape[1]))
    if layers is not None:
        layer_cells = _cells(np.asarray(layers, np.float64)[:, None], layers_marked)
        layer_cells["name"] = [f"layer {layer}" for layer in layer_cells["layer"]]
        table = pd.concat([table.astype({"head": object}), layer_cells.assign(head=_WHOLE)])
        # Without heads there is no gap before the column of layers.
        columns = [_WHOLE] if np.isnan(heads).all() else [*columns, " ", _WHOLE]
        table = table[table["head"].isin(columns)]
    label = f"datum.value == '{_WHOLE}' ? 'all' : datum.value"
    columns_scale = alt.Scale(domain=columns) if layers is not None else alt.Undefined
    available = width - 2 * PADDING - _AXIS - color_bar_width(value_title)
    n_layers = len(heads)
    cell = _cell(_CELL, available, len(columns), n_layers)
    if is_turned := n_layers > heads.shape[1] and n_layers * cell > _TALL:
        cell = _cell(_CELL, available, n_layers, len(columns))
    head_label = label if layers is not None else "datum.value"
    head_axis: dict[str, Any] = {"title": "head"}
    layer_axis: dict[str, Any] = {"title": "layer"}
    (layer_axis if is_turned else head_axis)["orient"] = "top"
    (head_axis if is_turned else layer_axis)["domain"] = False
    across, down = (alt.Y, alt.X) if is_turned else (alt.X, alt.Y)
    encodings = [
        across("head:O", axis=_axis(head_label, **head_axis), scale=columns_scale),
        down("layer:O", axis=_axis("'L' + datum.value", **layer_axis)),
    ]
    base = alt.Chart().encode(*encodings)
    cells = base.mark_rect(stroke=LIGHT.ground, strokeWidth=1).encode(
        color=alt.Color(
            "value:Q",
            scale=_scale(table["value"].to_numpy(), diverging),
            legend=color_bar(value_title),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("value:Q", title=value_title, format=NUMBER),
        ],
    )
    is_measured = table["value"].notna()
    has_dot = table.pop("marked").astype(bool)
    chart_layers = [cells.properties(data=inline(table[is_measured]))]
    if not is_measured.all():
        crosses = base.mark_text(text="×", color=LIGHT.muted, fontSize=LABEL)
        chart_layers.append(
            crosses.properties(data=inline(table.loc[~is_measured, ["layer", "head"]]))
        )
    if has_dot.any():
        dots = base.mark_point(
            filled=True, opacity=1, size=24, color=LIGHT.text, stroke=LIGHT.ground, strokeWidth=1
        )
        chart_layers.append(dots.properties(data=inline(table.loc[has_dot, ["layer", "head"]])))
    step = alt.Step(cell)
    chart = alt.LayerChart(layer=chart_layers).properties(width=step, height=step)
    return offline(publication(chart, title, width))


def head_heatmaps(
    values: Mapping[str, ArrayLike],
    *,
    title: str,
    value_title: str,
    same_scale: Mapping[str, str] | None = None,
    marked: Mapping[str, ArrayLike] | None = None,
    width: int = WIDTH,
) -> alt.VConcatChart:
    """Draw one heat map per quantity, at most three in a row, with one cell per head.

    Layers are rows. If there are more layers than heads and the figure would be tall, heads are
    rows.
    Each panel has its own scale, from 0 to the largest value, which is in the panel's title. A dark
    cell in one panel can therefore be a small number in another panel. Panels of `same_scale` share
    a scale, and are at most two in a row, so that the two panels are next to each other.

    Args:
        values: Non-negative arrays [L, H] by panel name. Cells with NaN, for heads that were not
            measured, stay empty.
        title: Figure title; further lines become the subtitle.
        value_title: Quantity and unit, for the tooltips.
        same_scale: Name of the panel before it whose scale a panel shares, by panel name; the scale
            ends at the largest value of both panels.
        marked: Heads whose cells have a dot, bool [L, H], by panel name.
        width: Figure width in pixels.

    Raises:
        ValueError: If there is no panel, shapes differ, or a value is negative or infinite.

    Example:
        >>> import numpy as np
        >>> from attnwidget.charts.head_heatmap import head_heatmaps
        >>> chart = head_heatmaps({"NOUN": np.eye(6, 12)}, title="Features", value_title="weight")
        >>> len(chart.vconcat)
        1
    """
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 2 for shape in shapes.values()):
        raise ValueError(f"head_heatmaps takes arrays [L, H] of equal shape, not {shapes}")
    for name, array in arrays.items():
        if np.isinf(array).any() or (array < 0).any():
            raise ValueError(f"head_heatmaps takes finite values from 0 on; {name!r} has others")
    headers = {name: _header(name, array) for name, array in arrays.items()}
    shared = same_scale or {}
    n_layers, n_heads = next(iter(shapes.values()))

    def columns_for(n_cells: int) -> int:
        header_width = max(map(text_width, headers.values())) - _PANEL
        min_width = max(header_width, _SMALLEST * n_cells)
        most = 2 if shared else _COLUMNS
        return panels_in_row(width, most, least=min_width, gap=_GAP, axis=_PANEL)

    columns = columns_for(n_heads)
    room = panel_width(width, columns, gap=_GAP, axis=_PANEL)
    height = -(-len(arrays) // columns) * n_layers * _cell(_SMALL_CELL, room, n_heads, n_layers)
    if is_turned := n_layers > n_heads and height > _TALL:
        columns = columns_for(n_layers)
    tops = {name: _top(array) for name, array in arrays.items()}
    for name, other in shared.items():
        tops[name] = tops[other] = max(tops[name], tops[other])
    available = panel_width(width, columns, gap=_GAP, axis=_PANEL)
    panels = [
        _panel(
            name,
            headers[name],
            array,
            tops[name],
            value_title,
            available,
            marked=(marked or {}).get(name),
            is_first=number % columns == 0,
            is_last=number + columns >= len(arrays),
            is_turned=is_turned,
        )
        for number, (name, array) in enumerate(arrays.items())
    ]
    rows = [
        alt.hconcat(*panels[i : i + columns], spacing=_GAP).resolve_scale(color="independent")
        for i in range(0, len(panels), columns)
    ]
    chart = alt.vconcat(*rows).resolve_scale(color="independent")
    return offline(publication(chart, title, width))


def _checked(values: ArrayLike, layers: ArrayLike | None = None) -> NDArray[np.float64]:
    heads = np.asarray(values, dtype=np.float64)
    if heads.ndim != 2 or not heads.size:
        raise ValueError(f"head_heatmap takes one number per head, [L, H], not {heads.shape}")
    layer_values = np.zeros(0) if layers is None else np.asarray(layers, dtype=np.float64)
    if layers is not None and layer_values.shape != heads.shape[:1]:
        raise ValueError(
            f"layers are one number per layer, [{len(heads)}], not {layer_values.shape}"
        )
    numbers = np.concatenate([heads.ravel(), layer_values])
    if np.isinf(numbers).any() or np.isnan(numbers).all():
        raise ValueError("head_heatmap needs finite values; these are infinite or all NaN")
    return heads


def _cells(values: NDArray[np.float64], marked: ArrayLike | None) -> pd.DataFrame:
    layer, head = (index.ravel() for index in np.indices(values.shape))
    dots = np.zeros(values.size, bool) if marked is None else np.asarray(marked, bool).ravel()
    table = pd.DataFrame({"layer": layer, "head": head, "value": values.ravel(), "marked": dots})
    return table.assign(name=row_names(table))


def _axis(label: str, **options: Any) -> alt.Axis:
    return alt.Axis(labelExpr=label, labelOverlap="parity", ticks=False, grid=False, **options)


def _scale(heads: NDArray[np.float64], diverging: bool = False) -> alt.Scale:
    low = float(np.nanmin(heads))
    high = float(np.nanmax(heads))
    if low < 0 < high or diverging:
        limit = max(-low, high) or 1.0
        domain = [-limit, 0.0, limit]
        colors = LIGHT.diverging
    elif low < 0:
        domain = [low, 0.0]
        colors = LIGHT.ramp[::-1]
    else:
        domain = [0.0, high or 1.0]
        colors = LIGHT.ramp
    return alt.Scale(domain=domain, range=list(colors), interpolate="rgb")


def _cell(largest: int, room: float, columns: int, rows: int) -> int:
    """Return the largest cell side at which all cells fit, in pixels."""
    return max(_SMALLEST, min(largest, int(room) // columns, _TALLEST // rows))


def _header(name: str, array: NDArray[np.float64]) -> str:
    """Return the panel title: its name and the end of its scale."""
    return f"{name}: up to {_top(array):.2g}"


def _top(array: NDArray[np.float64]) -> float:
    finite = array[~np.isnan(array)]
    return float(finite.max()) if finite.size else 0.0


def _panel(
    name: str,
    header: str,
    array: NDArray[np.float64],
    top: float,
    value_title: str,
    room: float,
    *,
    marked: ArrayLike | None,
    is_first: bool,
    is_last: bool,
    is_turned: bool,
) -> alt.Chart | alt.LayerChart:
    """Return a panel; only the first column has a title to its left, only the last row below."""
    layer, head = (index.ravel() for index in np.indices(array.shape))
    table = pd.DataFrame({"layer": layer, "head": head, "value": array.ravel()}).dropna()
    table = table.assign(name=row_names(table))
    layers, heads = (alt.Scale(domain=list(range(n))) for n in array.shape)
    sides = array.shape if is_turned else array.shape[::-1]
    step = _cell(_SMALL_CELL, room, *sides)
    across, down = (alt.Y, alt.X) if is_turned else (alt.X, alt.Y)
    has_head, has_layer = (is_first, is_last) if is_turned else (is_last, is_first)
    by_head = across(
        "head:O",
        axis=_axis("datum.value", domain=False),
        title="head" if has_head else None,
        scale=heads,
    )
    by_layer = down(
        "layer:O",
        axis=_axis("'L' + datum.value", domain=False),
        title="layer" if has_layer else None,
        scale=layers,
    )
    cells = alt.Chart(inline(table)).mark_rect(stroke=LIGHT.ground, strokeWidth=1)
    cells = cells.encode(
        by_head,
        by_layer,
        color=alt.Color(
            "value:Q",
            legend=None,
            scale=ink_scale(top),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="head"),
            alt.Tooltip("value:Q", title=f"{name}: {value_title}", format=NUMBER),
        ],
    )
    chart: alt.Chart | alt.LayerChart = cells
    if marked is not None and (at := np.argwhere(np.asarray(marked, bool))).size:
        rows = [{"layer": layer, "head": head} for layer, head in at.tolist()]
        dots = alt.Chart(alt.InlineData(values=rows)).mark_point(
            filled=True, opacity=1, size=24, color=LIGHT.text, stroke=LIGHT.ground, strokeWidth=1
        )
        chart = alt.LayerChart(layer=[cells, dots.encode(by_head, by_layer)])
    title = alt.TitleParams(header, anchor="start", frame="group", fontSize=LABEL + 1, offset=4)
    return chart.properties(width=alt.Step(step), height=alt.Step(step), title=title)
