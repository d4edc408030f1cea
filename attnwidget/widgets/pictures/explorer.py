"""The picture of an Explorer: those of its unfolded panels, placed as on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from attnwidget.figures.caption import Caption
from attnwidget.figures.mosaic import Mosaic, mosaic
from attnwidget.figures.text_width import shortened
from attnwidget.figures.theme import LABEL
from attnwidget.widgets.pictures import relation_table
from attnwidget.widgets.pictures.facts import head_names

if TYPE_CHECKING:
    from attnwidget.widgets.explorer import Explorer
    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.heads import HeadWidget

_WIDTH = 1000
#: Narrower figures have one column, as on the page.
_TWO_COLUMNS = 840
_GAP = 32
_MOST_ROWS = 20
_TABLE_ROWS = 12
_TEXT_LINES = 2
_NAMES = {
    "grid": "all heads",
    "view": "one head",
    "head_map": "map of heads",
    "strip": "metrics of the head",
    "table": "relations",
    "arcs": "dependency arcs",
}
ALL = tuple(_NAMES)
#: Rows of panels, each of columns, each of panels; in one column the panels follow their order.
_ROWS = ((("grid", "head_map"), ("view", "strip")), (("table",),), (("arcs",),))


def figure(
    widget: Explorer, *, width: int | None, theme: ThemeName, panels: Sequence[str] = ALL
) -> Mosaic:
    """The unfolded panels as they are shown now, as far as they are among `panels`."""
    whole = width or _WIDTH
    shown = {name: one for name, one in _shown(widget).items() if name in panels}

    def drawn(name: str, room: int) -> Any:
        if name == "table" and widget.table is not None:
            # On the page the table scrolls in a box of about as many rows.
            options: Any = {"width": room, "theme": theme, "most_rows": _TABLE_ROWS}
            with widget.table._lock:
                return relation_table.figure(widget.table, **options)
        with shown[name]._lock:
            return shown[name].figure(width=room, theme=theme)

    rows: list[list[list[Any]]] = []
    if whole < _TWO_COLUMNS:
        rows = [[[drawn(name, whole)]] for name in shown]
    else:
        for row in _ROWS:
            columns = [[name for name in column if name in shown] for column in row]
            columns = [column for column in columns if column]
            room = (whole - _GAP * (len(columns) - 1)) // max(1, len(columns))
            rows.append([[drawn(name, room) for name in column] for column in columns])
    name = widget.attention.model_name
    text = " | ".join(filter(None, (widget._shown["text"], widget._shown["pair"])))
    shown_text = shortened(text, LABEL, _TEXT_LINES * (whole - 64))
    if shown_text != text:
        shown_text += f" ({len(widget.attention.tokens)} tokens)"
    return mosaic(
        rows,
        width=whole - 16,
        title=f"{name}: attention to a text\n{shown_text}",
        gap=_GAP,
        dark=theme == "dark",
    )


def caption(widget: Explorer, panels: Sequence[str] = ALL) -> Caption:
    """What the explorer shows now, in words; `panels` as in `figure`."""
    shown = [name for name in _shown(widget) if name in panels]
    rows = 0 if widget.table is None else len(widget.table.to_frame())
    grid = widget.grid.caption
    alone = [_NAMES[name] for name in ("head_map", "strip") if name in widget._notes]
    alone = [name for name in alone if name in {_NAMES[panel] for panel in shown}]
    missing = [_NAMES[name] for name in widget.panels if name in widget.progress]
    return Caption(
        "Attention to a text",
        model=grid.model,
        head=head_names(widget.selected),
        quantity=grid.quantity,
        scale=grid.scale,
        notes=(
            f"panels: {', '.join(_NAMES[name] for name in shown) or 'all folded'}",
            *([f"{' and '.join(alone)} of this text alone"] if alone else []),
            *(
                [f"relations: the first {_TABLE_ROWS} of {rows} rows and the chosen one"]
                if "table" in shown and rows > _TABLE_ROWS
                else []
            ),
            *([f"not measured yet: {', '.join(missing)}"] if missing else []),
            *grid.notes,
        ),
    )


def table(widget: Explorer) -> pd.DataFrame:
    """The input, the heads, and the numbers of the shown one: part, name, value."""
    rows: list[tuple[str, str, object]] = []
    if widget._shown["text"]:
        rows.append(("input", "text", widget._shown["text"]))
    if widget._shown["pair"]:
        rows.append(("input", "second sentence", widget._shown["pair"]))
    rows.append(("input", "model", widget.attention.model_name))
    rows.append(("heads", "selected", head_names(widget.selected) or "none"))
    if widget.strip is not None:
        metrics = widget.strip.to_frame()
        rows += [
            ("shown head", row.metric, f"{row.value:.3g} (percentile {row.percentile:.0f})")
            for row in metrics.itertuples()
        ]
    if widget.table is not None:
        best = widget.table.to_frame()
        rows += [
            ("best head", row.relation, f"L{row.layer} H{row.head}: {100 * row.accuracy:.1f} %")
            for row in best.itertuples()
        ]
    return pd.DataFrame(rows[:_MOST_ROWS], columns=["part", "name", "value"])


def _shown(widget: Explorer) -> dict[str, HeadWidget]:
    """The figures of unfolded panels, in the order of the page."""
    return {name: one for name, one in widget.children.items() if name in widget.panels}
