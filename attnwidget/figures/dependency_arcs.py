"""A sentence with its annotated arcs above and the arcs that a head predicts below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import altair as alt
import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnwidget.figures.arcs_hanging import (
    Hanging,
    Prediction,
    arrow_path,
    hanging,
    standing_path,
    verdict_path,
)
from attnwidget.figures.arcs_layout import NAME, WORD, Row, Tree, label_room, rows_of
from attnwidget.figures.paths import rectangle
from attnwidget.figures.sheet import UNDER, Sheet
from attnwidget.figures.text_width import text_width, wrapped
from attnwidget.figures.theme import LABEL, LIGHT, Theme

WIDTH = 720
"""Pixels of a row of words."""
_NARROWEST = 400
"""Of a figure of few words, so that its title has room."""
_LINE = 20
"""Pixels of the words' own line."""
_MARKS = 18
"""Room under the words for right or wrong and the arrow head."""
_BETWEEN = 16
_CLEAR = 3
_DASH = (5, 3)
# A quarter of the strength is always left: an arc that is drawn can be seen.
_FAINTEST = 0.25


def dependency_arcs(
    words: Sequence[str],
    governors: ArrayLike,
    relations: Sequence[str],
    *,
    title: str,
    predicted: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    stands_out: ArrayLike | None = None,
    width: float = WIDTH,
    theme: Theme = LIGHT,
) -> alt.LayerChart:
    """A sentence, its annotated arcs above, predicted ones below: solid where right, else dashed.

    Predicted arcs are as opaque as the square root of their weight, and never quite transparent.
    Sentences that are wider than the figure break into rows; an arc whose governor stands in
    another row begins at the edge, where that word is named.

    Args:
        words: m words.
        governors: [m], position of each word's annotated governor from 1, 0 for the root's.
        relations: the m relations.
        title: what is shown; further lines become the subtitle.
        predicted: [m], position of each predicted governor from 1, 0 where no arc is drawn.
        weights: [m], from 0 to 1, the weight behind each prediction.
        stands_out: bool [m], the words whose annotated arc is named; others are pale.
        width: of the figure, in pixels.
        theme: LIGHT or DARK.

    Returns:
        An Altair chart that displays without network; `chart.save("figure.svg")` writes it.

    Raises:
        ValueError: not one entry a word, a governor that there is not, or a weight outside of 0
            to 1.

    Example:
        >>> from attnwidget.figures.dependency_arcs import dependency_arcs
        >>> words, relations = ["Cats", "eat", "fish"], ["nsubj", "root", "obj"]
        >>> chart = dependency_arcs(
        ...     words, [2, 0, 2], relations, title="Two arcs", predicted=[2, 0, 1],
        ...     weights=[0.8, 0, 0.3],
        ... )
        >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
        ['point', 'text']
    """
    m = len(words)
    annotated = _positions("governors", governors, m)
    found = _positions("predicted", predicted if predicted is not None else [0] * m, m)
    strength = np.asarray(weights if weights is not None else [0.0] * m, dtype=np.float64)
    shown = np.asarray(stands_out if stands_out is not None else [True] * m, dtype=bool)
    if not m or len(relations) != m or strength.shape != (m,) or shown.shape != (m,):
        raise ValueError(
            f"dependency_arcs takes one relation, weight and stands_out a word: {m} words, got "
            f"{len(relations)}, {list(strength.shape)} and {list(shown.shape)}"
        )
    if not ((strength >= 0) & (strength <= 1 + 1e-6)).all():
        raise ValueError("dependency_arcs takes weights from 0 to 1")
    tree = Tree(tuple(words), tuple(int(g) - 1 for g in annotated), tuple(relations))
    arcs = [
        Prediction(i, int(g) - 1, float(strength[i]), bool(g == annotated[i]))
        for i, g in enumerate(found)
        if g
    ]
    rows = rows_of(tree, width)
    widest = max(row.width for row in rows)
    across = max(width if len(rows) > 1 else min(width, _NARROWEST), widest)
    sheet, y = Sheet(theme), 0.0
    for row in rows:
        top = y + row.height
        _draw_annotated(sheet, tree, row, top, shown)
        for word in range(row.start, row.end):
            sheet.text(row.centre(word), top + 15, words[word], size=WORD, align="center")
        y = top + _LINE
        if predicted is not None:
            own = [arc for arc in arcs if arc.dependent in row]
            y = _draw_predicted(sheet, hanging(tree, row, own, across), y)
        y += _BETWEEN
    if predicted is not None:
        _draw_key(sheet, y + 6)
        y += 14
    return sheet.chart(across, y, title=title)


def problem_figure(
    sentence: str, *, title: str, width: float = WIDTH, theme: Theme = LIGHT
) -> alt.LayerChart:
    """A sentence that says why there is no figure, in its place.

    Example:
        >>> from attnwidget.figures.dependency_arcs import problem_figure
        >>> chart = problem_figure("There are no words.", title="Dependency arcs")
        >>> chart.height
        24
    """
    sheet, lines = Sheet(theme), wrapped(sentence, 12, width)
    for i, line in enumerate(lines):
        sheet.text(0, 16 + 16 * i, line, size=12)
    return sheet.chart(width, 8 + 16 * len(lines), title=title)


def _positions(name: str, values: ArrayLike, m: int) -> NDArray[np.int64]:
    positions = np.asarray(values)
    if positions.shape != (m,) or (positions < 0).any() or (positions > m).any():
        raise ValueError(
            f"'{name}' are {m} positions of words, 1 to {m}, or 0 for none; got "
            f"{positions.tolist()}"
        )
    return positions.astype(np.int64)


def _draw_annotated(sheet: Sheet, tree: Tree, row: Row, y: float, shown: NDArray[np.bool_]) -> None:
    """The arcs over the words, whose top is at `y`; those that stand out last, with their names."""
    for arc in sorted(row.arcs, key=lambda arc: bool(shown[arc.dependent])):
        named = bool(shown[arc.dependent])
        colour = "text" if named else "hairline"
        whole = arc if named or not arc.name else replace(arc, x0=arc.edge)
        sheet.line(standing_path(whole, y - 2), colour, plane=UNDER)
        sheet.area(arrow_path(arc.x1, y, 1), colour)
        if named:
            label, at = tree.relations[arc.dependent], y - arc.height
            half = label_room(label) / 2 + _CLEAR
            # Whatever passes there is hidden, so that the label can be read.
            sheet.area(rectangle(arc.label_x - half, at - 6, 2 * half, 12), "ground")
            sheet.text(arc.label_x, at + 4, label, align="center")
        if named and arc.name:
            sheet.text(arc.name_x, at + 3.5, arc.name, "muted", size=NAME, align="center")
    if tree.root in row:
        x, top = row.centre(tree.root), y - row.height
        colour = "text" if shown[tree.root] else "hairline"
        sheet.line(f"M{x:g} {top + 18:g}V{y - 2:g}", colour, plane=UNDER)
        sheet.area(arrow_path(x, y, 1), colour)
        if shown[tree.root]:
            sheet.text(x, top + 12, "root", align="center")


def _draw_predicted(sheet: Sheet, arcs: Sequence[Hanging], y: float) -> float:
    """The arcs below the words, whose bottom is at `y`, the strongest last; where they end."""
    ends = y + _MARKS
    for one in sorted(arcs, key=lambda one: one.arc.weight):
        right = one.arc.right
        colour = "right" if right else "wrong"
        strength = _FAINTEST + (1 - _FAINTEST) * sqrt(min(1.0, one.arc.weight))
        opacity, dash = round(strength, 3), None if right else _DASH
        path = one.path(ends + 2)
        sheet.line(path, colour, width=2, opacity=opacity, dash=dash, plane=UNDER)
        sheet.area(arrow_path(one.x, ends - 2, -1), colour, opacity=opacity)
        sheet.line(verdict_path(one.x, y + 1, right), colour, width=1.5)
        if one.name:
            sheet.text(
                one.name_x, ends + 5.5 + one.low, one.name, colour, size=NAME, align="center"
            )
    return ends + max((one.low for one in arcs), default=0) + 4


def _draw_key(sheet: Sheet, y: float) -> None:
    x = 5.0
    for right, text in ((True, "solid: the annotated governor"), (False, "dashed: another word")):
        colour = "right" if right else "wrong"
        sheet.line(verdict_path(x, y - 8, right), colour, width=1.5)
        sheet.text(x + 8, y, text, colour)
        x += 32 + text_width(text, LABEL)
