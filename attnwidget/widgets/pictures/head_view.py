"""The picture of a HeadView: one head in full, as lines or as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from attnwidget.capture.head import Head
from attnwidget.figures.caption import Caption
from attnwidget.figures.head_lines import WIDTH, head_lines, lines_notes
from attnwidget.figures.head_matrix import head_matrix, matrix_notes
from attnwidget.figures.levels import SCALE_WORDS
from attnwidget.figures.one_head import (
    FILTERS,
    OneHead,
    mask_name,
    row_sum_range,
    two_sentences,
    visible_map,
)
from attnwidget.figures.sheet import Sheet
from attnwidget.figures.text_width import wrapped
from attnwidget.figures.theme import Theme, theme_named
from attnwidget.widgets.pictures.facts import (
    ALL_HIDDEN,
    MERGED,
    NO_HEAD,
    NOTHING_SELECTED,
    axes_of,
    head_names,
    map_axis,
    quantity_name,
    texts_of,
)

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.widgets.exporting import ThemeName
    from attnwidget.widgets.head_view import HeadView

_MOST_ROWS = 15
_SPECIALS = ("cls", "sep", "first")
# Less than this is not rounding: a part of the attention goes nowhere.
_FULL_SUM = 0.99


def figure(widget: HeadView, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The head as it is shown now; without one, or without tokens, what to do."""
    colours = theme_named(theme)
    shown = _shown(widget)
    if shown is None:
        return _sentence(NOTHING_SELECTED, "One attention head", width, colours)
    title = "\n".join([_title(widget), widget.attention.model_name])
    if not shown.map.values.size:
        return _sentence(ALL_HIDDEN, title, width, colours)
    draw = head_lines if widget.mode == "lines" else head_matrix
    notes = _notes(widget, shown, width)
    second = _second(widget)
    return draw(shown, title=title, second=second, width=width, theme=colours, notes=notes)


def caption(widget: HeadView) -> Caption:
    """What the view shows now, in words."""
    shown, head = _shown(widget), widget.head
    name = "One attention head"
    if shown is None or head is None:
        return Caption(name, model=widget.attention.model_name, head=NO_HEAD)
    rows, columns = shown.map.values.shape
    count = rows if rows == columns else f"{rows} × {columns}"
    top = shown.printed(shown.map.maximum)
    return Caption(
        figure=name if head.stack == "self" else f"{name}, {head.stack} attention",
        model=widget.attention.model_name,
        head=head_names([head]),
        quantity=f"{quantity_name(widget)} · {count} {widget.unit}",
        scale=f"{SCALE_WORDS[widget.scale]} colour scale, 0 to {top}, this head",
        notes=tuple(_notes(widget, shown, None)),
    )


def table(widget: HeadView) -> pd.DataFrame:
    """The strongest pairs of what is shown, or of the locked tokens: from, to, value."""
    columns = ["from", "to", widget.quantity[:-1]]
    shown = _shown(widget)
    if shown is None or not shown.map.values.size:
        return pd.DataFrame(columns=columns)
    query, key = shown.map.query.labels, shown.map.key.labels
    lead = {"query": shown.lead("query"), "key": shown.lead("key")}
    pairs = shown.map.strongest(_MOST_ROWS, **lead)
    rows = [(query[r], key[c], shown.printed(value)) for r, c, value in pairs]
    return pd.DataFrame(rows, columns=columns)


def _shown(widget: HeadView) -> OneHead | None:
    head, values = widget.head, widget.values
    if head is None or values is None:
        return None
    stack = widget.attention.stacks[head.stack]
    query, key = map(map_axis, axes_of(stack, widget.unit))
    seen = visible_map(
        widget._masked(values),
        query,
        key,
        hidden=widget.hidden,
        sentences=widget.sentences,
        # Shares of one are a property of weights: other quantities stay as they were measured.
        renormalise=widget.renormalise and widget.quantity == "weights",
    )
    places = {"query": seen.rows, "key": seen.columns}
    locked: dict[str, list[int]] = {"query": [], "key": []}
    for side, index in dict.fromkeys(widget.tokens):
        if index in places[side]:
            locked[side].append(places[side].index(index))
    axes = {"query": stack.query, "key": stack.key}
    lit = {
        side: [shown.index(i) for i in widget._positions(axes[side]) if i in shown]
        for side, shown in places.items()
    }
    return OneHead(seen, widget.scale, widget.quantity, widget.top_mass, locked, lit)


def _title(widget: HeadView) -> str:
    head = widget.head
    assert head is not None
    return " · ".join([str(head), head.paper_name, widget.quantity, widget.unit])


def _notes(widget: HeadView, shown: OneHead, width: int | None) -> list[str]:
    head = widget.head
    assert head is not None
    stack = widget.attention.stacks[head.stack]
    axes = axes_of(stack, widget.unit)
    full = widget._masked(
        widget.attention.map(widget.quantity, *head[:2], stack=head.stack, unit=widget.unit)
    )
    whole = "weight" if widget.quantity == "weights" else widget.quantity
    notes = [_shared_keys(head, stack.n_heads, stack.n_key_heads)]
    if widget.mode == "lines" and widget.top_mass < 1:
        notes.append(f"lines that make up {round(100 * widget.top_mass)} % of each row")
    hidden = [text for kind in _SPECIALS if kind in widget.hidden for text in texts_of(kind, axes)]
    if hidden:
        share = f"{100 * shown.map.hidden_share:.1f} % of the {whole}"
        notes.append(f"hidden: {' '.join(hidden)} ({share})")
    if widget.sentences != "all" and two_sentences(*map(map_axis, axes)):
        share = f"{100 * shown.map.filtered_share:.1f} % of the {whole}"
        notes.append(f"only {FILTERS[widget.sentences]} ({share} goes to the other sentence)")
    if shown.map.renormalised:
        notes.append("rows renormalised")
    low, high = row_sum_range(full)
    if widget.quantity == "weights" and low < _FULL_SUM:
        notes.append(f"rows sum to {low:.2f}–{high:.2f} (attention sinks)")
    notes.append(mask_name(full))
    if widget.unit == "words":
        notes.append(MERGED)
    in_lines = widget.mode == "lines"
    notes.extend(lines_notes(shown) if in_lines else matrix_notes(shown, width))
    notes.append(widget.attention.note)
    return [note for note in notes if note]


def _shared_keys(head: Head, n_heads: int, n_key_heads: int) -> str:
    if n_key_heads >= n_heads:
        return ""
    size = n_heads // n_key_heads
    first = head.head // size * size
    return f"shares keys with H{first}–H{first + size - 1}"


def _second(widget: HeadView) -> str:
    """What the second colour stands for."""
    head = widget.head
    assert head is not None
    query = widget.attention.stacks[head.stack].query
    labels = map_axis(axes_of(widget.attention.stacks[head.stack], widget.unit)[0]).labels
    words = ", ".join(dict.fromkeys(labels[i] for i in widget._positions(query)))
    words = words.replace(", ##", "")
    return f"second colour: attention from and to {words}" if words else ""


def _sentence(text: str, title: str, width: int | None, theme: Theme) -> alt.LayerChart:
    """A sentence in the figure's place."""
    wide = width or WIDTH
    lines = wrapped(text, 12, wide)
    sheet = Sheet(theme)
    for i, line in enumerate(lines):
        sheet.text(0, 12 + 18 * i, line, size=12, middle=True)
    return sheet.chart(wide, 18 * len(lines) + 6, title=title)
