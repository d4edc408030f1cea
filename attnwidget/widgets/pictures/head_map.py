"""The picture of a HeadMap: heads in the plane, as they are marked and selected now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.head import Head
from attnwidget.figures.caption import Caption
from attnwidget.figures.head_marks import Behaviours, marked_heads
from attnwidget.figures.theme import theme_named
from attnwidget.widgets.head_map import groups_of

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.head_map import HeadMap

_NAMED, _MOST_ROWS, _MEMBERS = 12, 20, 12


def figure(widget: HeadMap, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The map with its legend, as it is shown now."""
    source = widget._source
    behaviours = None
    if widget.color == "behaviour":
        groups, group = groups_of(widget.behaviours)
        names, slots = [one["name"] for one in groups], [one["slot"] for one in groups]
        behaviours = Behaviours(names, slots, group)
    return marked_heads(
        widget.positions,
        behaviours=behaviours,
        selected=[head[:2] for head in widget.selected],
        label=str(widget.head) if widget.head else "",
        readout=_readout(widget.selected),
        title="\n".join(filter(None, [_title(widget), source["note"]])),
        width=width,
        theme=theme_named(theme),
    )


def caption(widget: HeadMap) -> Caption:
    """What the map shows now, in words."""
    by_layer = widget.color == "layer"
    marks = "numbers and colours: layers, from 0" if by_layer else "colours and shapes: behaviours"
    stack = "" if widget._stack == "self" else f"stack: {widget._stack}"
    heads = ", ".join(f"{head} ({head.paper_name})" for head in widget.selected[:_NAMED])
    more = len(widget.selected) - _NAMED
    rows = len(_rows(widget))
    return Caption(
        "Map of attention heads",
        model=widget._of_model,
        head=f"{heads} and {more} more" if more > 0 else heads,
        quantity=widget._of,
        scale=marks,
        notes=(
            stack,
            f"{widget._positions[..., 0].size} heads",
            widget._note,
            *([f"table: the first {_MOST_ROWS} of {rows} rows"] if rows > _MOST_ROWS else []),
        ),
    )


def table(widget: HeadMap) -> pd.DataFrame:
    """The selected heads, then the groups with their heads."""
    import pandas as pd

    return pd.DataFrame(_rows(widget)[:_MOST_ROWS], columns=["group", "count", "heads"])


def _rows(widget: HeadMap) -> list[tuple[str, int, str]]:
    stack = widget._stack
    rows = [("selected", 1, f"{head} ({head.paper_name})") for head in widget.selected]
    if widget.color == "behaviour":
        groups, group = groups_of(widget.behaviours)
        members = [(one["name"], np.argwhere(group == i)) for i, one in enumerate(groups)]
    else:
        n_layers, n_heads = widget._positions.shape[:2]
        members = [
            (f"layer {layer}", np.array([(layer, head) for head in range(n_heads)]))
            for layer in range(n_layers)
        ]
    for name, places in members:
        heads = [str(Head(int(layer), int(head), stack)) for layer, head in places]
        more = f" and {len(heads) - _MEMBERS} more" if len(heads) > _MEMBERS else ""
        rows.append((name, len(heads), ", ".join(heads[:_MEMBERS]) + more))
    return rows


def _title(widget: HeadMap) -> str:
    stack = "" if widget._stack == "self" else widget._stack
    return " · ".join(filter(None, ["Map of attention heads", widget._of_model, stack]))


def _readout(selected: list[Head]) -> str:
    if not selected:
        return ""
    more = f" and {len(selected) - _NAMED} more" if len(selected) > _NAMED else ""
    count = f"{len(selected)} heads: " if len(selected) > 1 else ""
    return f"selected {count}{', '.join(map(str, selected[:_NAMED]))}{more}"
