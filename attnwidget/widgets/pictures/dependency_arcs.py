"""The picture of DependencyArcs: the sentence, its tree, and what the shown head predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.figures.caption import Caption
from attnwidget.figures.dependency_arcs import WIDTH, dependency_arcs, problem_figure
from attnwidget.figures.map_numbers import share
from attnwidget.figures.printed import percent, signed
from attnwidget.figures.theme import theme_named
from attnwidget.studies.relation_results import DIRECTIONS
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.pictures.facts import NO_HEAD, one_head
from attnwidget.widgets.relation_choice import ALL
from attnwidget.widgets.relation_words import words_of
from attnwidget.widgets.sentence_wire import too_long

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.widgets.dependency_arcs import DependencyArcs
    from attnwidget.widgets.exporting import ThemeName

_MOST_ROWS = 20


@dataclass(frozen=True)
class _Shown:
    """What the widget shows now.

    Attributes:
        sentence: the sentence.
        words: indices of the words of the relation, without the root.
        governors: int [m], predicted, from 1; None where no head predicts.
        weights: float [m], the weight behind each.
        drawn: bool [m], words of the relation whose weight reaches the threshold.
        problem: why there is nothing to draw, or "".
    """

    sentence: Sentence
    words: tuple[int, ...]
    governors: NDArray[np.int64] | None = None
    weights: NDArray[np.float32] | None = None
    drawn: NDArray[np.bool_] | None = None
    problem: str = ""

    def is_right(self, word: int) -> bool:
        """Whether the predicted governor of a word is the annotated one."""
        assert self.governors is not None
        return bool(self.governors[word] == self.sentence.governors[word])


def _shown(widget: DependencyArcs) -> _Shown:
    sentence, head = widget.sentences[widget.sentence], widget.head
    words = tuple(words_of(sentence, widget.relation))
    if problem := too_long(sentence):
        return _Shown(sentence, words, problem=problem)
    if head is None:
        return _Shown(sentence, words)
    try:
        found = widget.predictions
    except ValueError as error:
        return _Shown(sentence, words, problem=str(error))
    at = (*head[:2], DIRECTIONS.index(widget.direction))
    weights = found.weights[at]
    drawn = np.zeros(len(sentence), bool)
    drawn[list(words)] = True
    drawn &= weights.astype(np.float64) >= widget.threshold
    return _Shown(sentence, words, found.governors[at], weights, drawn)


def figure(widget: DependencyArcs, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The sentence and its arcs, as they are shown now."""
    shown = _shown(widget)
    across, colours = width or WIDTH, theme_named(theme)
    title = _title(widget, shown)
    if shown.problem:
        return problem_figure(shown.problem, title=title, width=across, theme=colours)
    stands_out = np.zeros(len(shown.sentence), bool)
    stands_out[list(shown.words)] = True
    if widget.relation == ALL:
        stands_out[:] = True
    predicted = None
    if shown.governors is not None and shown.drawn is not None:
        predicted = np.where(shown.drawn, shown.governors, 0)
    return dependency_arcs(
        shown.sentence.words,
        shown.sentence.governors,
        shown.sentence.relations,
        title=title,
        predicted=predicted,
        weights=shown.weights,
        stands_out=stands_out,
        width=across,
        theme=colours,
    )


def _title(widget: DependencyArcs, shown: _Shown) -> str:
    relation = "all relations" if widget.relation == ALL else widget.relation
    head = f"{widget.head} · {widget.head.paper_name}" if widget.head else NO_HEAD
    first = [head, relation, widget.direction if widget.head else "annotated arcs"]
    lines = [" · ".join(first), _how_often(widget, shown), " · ".join(_source(widget))]
    return "\n".join(filter(None, lines))


def _how_often(widget: DependencyArcs, shown: _Shown) -> str:
    """How often the head is right: here, and where it was measured."""
    if shown.governors is None:
        return ""
    right, own = sum(map(shown.is_right, shown.words)), len(shown.words)
    here = f"right on {right} of {own} {'word' if own == 1 else 'words'} here"
    parts = [here if own else "no such word here"]
    measured = widget._measured
    if measured:
        n, accuracy = measured["n"], measured["correct"] / measured["n"]
        parts.append(
            f"{percent(accuracy, n)} % of {n:,} in the treebank (best offset "
            f"{signed(measured['offset'])}: {percent(measured['baseline'], n)} %)"
        )
    return " · ".join(parts)


def _source(widget: DependencyArcs) -> list[str]:
    sentence = widget.sentences[widget.sentence]
    unit = widget.accuracies.unit if widget.accuracies else "words"
    note = "" if unit == "words" else f"unit: {unit}"
    return [part for part in (widget.model.name, sentence.name or sentence.source, note) if part]


def caption(widget: DependencyArcs) -> Caption:
    """What is shown now, in words."""
    shown, head = _shown(widget), widget.head
    model, *source = _source(widget)
    relation = "all relations" if widget.relation == ALL else f"relation {widget.relation}"
    notes = [*source, f"sentence {widget.sentence}", relation]
    if shown.problem:
        return Caption(
            "Dependency arcs",
            model=model,
            head=one_head(head),
            notes=(*notes, shown.problem),
        )
    if shown.drawn is not None:
        hidden = len(shown.words) - int(shown.drawn.sum())
        notes += [
            widget.direction,
            _how_often(widget, shown),
            "special tokens left out, nothing renormalised",
            "solid where the predicted governor is the annotated one, dashed elsewhere",
        ]
        if hidden:
            arcs = "arc" if hidden == 1 else "arcs"
            notes.append(f"{hidden} {arcs} below {share(widget.threshold)} not drawn")
    if len(shown.words) > _MOST_ROWS:
        notes.append(f"the table lists the first {_MOST_ROWS} of {len(shown.words)} words")
    return Caption(
        "Dependency arcs: annotated above, predicted below" if head else "Dependency arcs",
        model=model,
        head=one_head(head),
        quantity="attention weights between words" if head else "",
        scale="opacity: square root of the weight" if head else "",
        notes=tuple(notes),
    )


def table(widget: DependencyArcs) -> pd.DataFrame:
    """The first words of the relation shown with both governors."""
    import pandas as pd

    shown = _shown(widget)
    if shown.problem:
        return pd.DataFrame({"problem": [shown.problem]})
    sentence = shown.sentence

    def word(position: int) -> str:
        return f"{position} {sentence.words[position - 1]}"

    rows = []
    for i in shown.words[:_MOST_ROWS]:
        row = {
            "word": word(i + 1),
            "relation": sentence.relations[i],
            "governor": word(sentence.governors[i]),
        }
        if shown.governors is not None and shown.weights is not None:
            row["predicted"] = word(int(shown.governors[i]))
            row["weight"] = share(float(shown.weights[i]))
            row["right or wrong"] = "right" if shown.is_right(i) else "wrong"
        rows.append(row)
    predicted = ["predicted", "weight", "right or wrong"] if shown.governors is not None else []
    return pd.DataFrame(rows, columns=["word", "relation", "governor", *predicted])
