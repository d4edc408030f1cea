"""The picture of a HeadGrid: every head of the stack shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnwidget.capture.head import Head
from attnwidget.figures.caption import Caption
from attnwidget.figures.head_grid import HeadThumbnails, head_grid
from attnwidget.figures.head_order import HeadMetric, ordered_heads
from attnwidget.figures.levels import SCALE_WORDS
from attnwidget.figures.map_numbers import printer
from attnwidget.figures.printed import figures
from attnwidget.figures.theme import theme_named
from attnwidget.widgets.pictures.facts import (
    MERGED,
    axes_of,
    head_names,
    map_axis,
    quantity_name,
    texts_of,
)

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.head_grid import HeadGrid

_MOST_ROWS = 20


def figure(widget: HeadGrid, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The grid as it is shown now."""
    stack = widget.attention.stacks[widget.stack]
    thumbnails = widget._small_maps()
    said = caption(widget)
    kind = "" if stack.name == "self" else f"{stack.name} "
    title = f"{widget.attention.model_name}: all {kind}heads\n{said.quantity}"
    return head_grid(
        HeadThumbnails(
            thumbnails.values,
            thumbnails.maxima,
            scale=widget.scale,
            shared=widget.shared_scale,
            quantity=widget.quantity,
            n_key_heads=stack.n_key_heads,
        ),
        title=title,
        metric=_metric(widget),
        selected=[(head.layer, head.head) for head in _selected(widget)],
        layer=widget.layer,
        width=width,
        theme=theme_named(theme),
        notes=said.notes,
    )


def caption(widget: HeadGrid) -> Caption:
    """What the grid shows now, in words."""
    stack = widget.attention.stacks[widget.stack]
    axes = axes_of(stack, widget.unit)
    n, m = map(len, axes)
    count = f"{n} × {m}" if stack.name == "cross" or n != m else f"{n}"
    maxima = widget._small_maps().maxima
    top = f"0 to {printer(widget.quantity)(float(maxima.max()))}, shared by all heads"
    kind = "self-attention" if stack.name == "self" else f"{stack.name} attention"
    return Caption(
        figure=f"All heads, {kind}",
        model=widget.attention.model_name,
        head=head_names(widget.selected),
        quantity=f"{quantity_name(widget)} · {count} {widget.unit}",
        scale=f"{SCALE_WORDS[widget.scale]} colour scale, "
        f"{top if widget.shared_scale else 'per head'}",
        notes=tuple(_notes(widget)),
    )


def table(widget: HeadGrid) -> pd.DataFrame:
    """The selected heads and the first ones in the grid's order: metric, largest value, its pair.

    Without a metric heads are in the order of their largest values.
    """
    thumbnails, metric = widget._small_maps(), _metric(widget)
    stack = widget.attention.stacks[widget.stack]
    query, key = (map_axis(axis).labels for axis in axes_of(stack, widget.unit))
    n_heads = stack.n_heads
    chosen = [head.layer * n_heads + head.head for head in _selected(widget)]
    if metric is None:
        others = np.argsort(-thumbnails.maxima, axis=None, kind="stable")
    else:
        wish = HeadMetric(
            metric.title,
            metric.values,
            "all",
            metric.descending,
            metric.filter,
            "remove",
        )
        others = ordered_heads(metric.values.shape, wish).ravel()
    picked = list(dict.fromkeys([*chosen, *(int(i) for i in others if i >= 0)]))[:_MOST_ROWS]
    show = printer(widget.quantity)
    rows = []
    for i in picked:
        head = Head(*divmod(i, n_heads), stack.name)
        row = {"head": f"{head} ({head.paper_name})", "selected": "yes" if i in chosen else ""}
        if metric is not None:
            row[metric.title] = figures(float(metric.values[head[:2]]))
        q, k = thumbnails.strongest[head[:2]]
        largest = float(thumbnails.maxima[head[:2]])
        pair = f"{query[q]} → {key[k]}" if largest > 0 and q >= 0 else ""
        rows.append(row | {f"largest {widget.quantity[:-1]}": show(largest), "from → to": pair})
    return pd.DataFrame(rows)


def _selected(widget: HeadGrid) -> list[Head]:
    return [head for head in widget.selected if head.stack == widget.stack]


def _metric(widget: HeadGrid) -> HeadMetric | None:
    values = widget._values
    if values is None or widget.metric is None:
        return None
    return HeadMetric(
        widget.metric,
        values.astype(np.float32),
        sort=widget.sort,
        descending=widget.descending,
        filter=widget.filter,
        outside=widget.outside,
    )


def _notes(widget: HeadGrid) -> list[str]:
    stack = widget.attention.stacks[widget.stack]
    axes = axes_of(stack, widget.unit)
    notes = []
    if widget.hidden:
        names = [
            "first token" if kind == "first" else (texts_of(kind, axes) or [kind])[0]
            for kind in widget.hidden
        ]
        notes.append(f"{', '.join(names)} hidden")
    if widget.unit == "words":
        notes.append(MERGED)
    height, width = widget._small_maps().values.shape[2:]
    kept = [sum(kind not in widget.hidden for kind in axis.special) for axis in axes]
    if kept[0] > height or kept[1] > width:
        notes.append(f"shown as {height} × {width} block maxima")
    metric = _metric(widget)
    if metric is not None:
        notes.extend(metric.notes())
    if stack.n_key_heads < stack.n_heads and (metric is None or metric.sort == "none"):
        notes.append(f"bands: heads that share keys ({stack.n_key_heads})")
    if widget.attention.note:
        notes.append(widget.attention.note)
    return notes
