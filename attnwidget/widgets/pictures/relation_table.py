"""The picture of a RelationTable: its rows and the map of the chosen relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnwidget.capture.head import Head
from attnwidget.figures.caption import Caption
from attnwidget.figures.printed import p_text, percent, signed
from attnwidget.figures.relation_heat import RelationHeat
from attnwidget.figures.relation_table import relation_table
from attnwidget.figures.theme import theme_named
from attnwidget.studies.relation_results import DIRECTIONS
from attnwidget.studies.significance import wilson_interval
from attnwidget.widgets.pictures.facts import head_names

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.relation_table import RelationTable

_LEVEL = 0.05
#: Rows of the table for readers of a notebook.
MOST_ROWS = 20
_WAYS = {
    "relation": ("Z to A", "A to Z"),
    "direction": ("Z to A", "A to Z"),
    "head": ("last layer first", "first layer first"),
}
_SORTED = {"head": "best head", "baseline": "the offset's accuracy", "gain": "the gain"}


def figure(
    widget: RelationTable, *, width: int | None, theme: ThemeName, most_rows: int | None = None
) -> alt.LayerChart:
    """The table and the map, as they are shown now, or the first rows of it and the chosen one."""
    frame = _frame(widget, most_rows)
    model = widget.accuracies.model_name
    return relation_table(
        frame,
        heat=_heat(widget),
        sort=widget.sort,
        descending=widget.descending,
        said=" · ".join(_rows(widget, len(frame))),
        title=" · ".join(filter(None, ["Best head of each relation", model, _stack(widget)])),
        width=width,
        theme=theme_named(theme),
    )


def caption(widget: RelationTable, most_rows: int | None = None) -> Caption:
    """What the table shows now, in words; `most_rows` as in `figure`."""
    found = widget.accuracies
    most = float(_heat(widget).accuracy.max())
    return Caption(
        "Best head of each relation",
        model=found.model_name,
        head=head_names(widget.selected),
        quantity="accuracy: how often the most attended word is the governor",
        scale=f"map: linear colour scale, 0 to {percent(most, 100)} %",
        notes=(
            widget._source["note"],
            *_rows(widget, len(_frame(widget, most_rows))),
            f"map: every head on {widget.relation}, {widget.direction}",
            "intervals: Wilson, 95 %",
            "p: McNemar's test against the best fixed offset, Holm's correction",
            "*: corrected p ≤ 0.05",
        ),
    )


def table(widget: RelationTable) -> pd.DataFrame:
    """The first rows, as they are printed."""
    import pandas as pd

    records: list[dict[str, Any]] = widget.to_frame().head(MOST_ROWS).to_dict("records")  # type: ignore[assignment]
    rows = [
        {
            "relation": row["relation"],
            "n": row["n"],
            "best head": str(Head(row["layer"], row["head"], widget.accuracies.stack)),
            "direction": row["direction"],
            "accuracy %": percent(row["accuracy"], row["n"]),
            "95 % interval": f"{percent(row['low'], row['n'])}–{percent(row['high'], row['n'])}",
            "offset": signed(row["offset"]),
            "offset %": percent(row["baseline"], row["n"]),
            "gain": percent(row["gain"], row["n"]) + "*" * bool(row["significant"]),
        }
        for row in records
    ]
    columns = ["relation", "n", "best head", "direction", "accuracy %", "95 % interval"]
    return pd.DataFrame(rows, columns=[*columns, "offset", "offset %", "gain"])


def _frame(widget: RelationTable, most_rows: int | None) -> pd.DataFrame:
    whole = widget.to_frame()
    if most_rows is None:
        return whole
    return whole[(whole["relation"] == widget.relation) | (whole.index < most_rows)]


def _stack(widget: RelationTable) -> str:
    return "" if widget.accuracies.stack == "self" else widget.accuracies.stack


def _rows(widget: RelationTable, count: int) -> list[str]:
    """How many rows of how many, why, and in what order."""
    searched = f"search: “{widget.search}”" if widget.search else ""
    least = f"at least {widget.min_count:,} words" if widget.min_count > 1 else ""
    only = "only better than the offset" if widget.significant else ""
    down, up = _WAYS.get(widget.sort, ("largest first", "smallest first"))
    order = f"by {_SORTED.get(widget.sort, widget.sort)}, {down if widget.descending else up}"
    said = [f"{count} of {len(widget._relations())} rows", least, only, searched, order]
    return [part for part in said if part]


def _heat(widget: RelationTable) -> RelationHeat:
    found = widget.accuracies
    r, way = found.relations.index(widget.relation), DIRECTIONS.index(widget.direction)
    accuracy, p_values = found.accuracy[:, :, way, r], found.p_values[:, :, way, r]
    selected = [head[:2] for head in widget.selected if head.stack == found.stack]
    readout = ""
    if widget.head and widget.head.stack == found.stack:
        layer, head = widget.head[:2]
        n, correct = int(found.counts[r]), int(found.correct[layer, head, way, r])
        low, high = wilson_interval(correct, n)
        readout = (
            f"{widget.head}: {percent(correct / n, n)} % of {n:,} words "
            f"(95 % interval {percent(float(low), n)} to {percent(float(high), n)}) · "
            f"best offset {signed(int(found.baseline_offset[r]))}: "
            f"{percent(float(found.baseline[r]), n)} % · {p_text(float(p_values[layer, head]))}"
        )
    return RelationHeat(
        widget.relation, widget.direction, accuracy, p_values <= _LEVEL, selected, readout
    )
