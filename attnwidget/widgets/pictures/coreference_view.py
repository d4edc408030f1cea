"""The picture of CoreferenceView: a window's text, its mentions, and what was chosen for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnwidget.figures.caption import Caption
from attnwidget.figures.map_numbers import share
from attnwidget.figures.passage import WIDTH, Outcome, Said, passage
from attnwidget.figures.passage_layout import PassageMention
from attnwidget.figures.printed import percent
from attnwidget.figures.theme import theme_named
from attnwidget.studies.coreference_results import AMONG, Evaluated, EvaluatedWindow
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.mentions import Document
from attnwidget.widgets.pictures.facts import NO_HEAD, one_head
from attnwidget.widgets.windows import cluster_numbers, mentions_within

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.widgets.coreference_view import CoreferenceView
    from attnwidget.widgets.exporting import ThemeName

_MOST_ROWS = 20
_MOST_NAMED = 6


@dataclass(frozen=True)
class _Choice:
    """The word of the document that the head chooses for a mention, with its weight."""

    word: int
    weight: float
    right: bool


class _Window:
    """What the widget shows now."""

    def __init__(self, widget: CoreferenceView) -> None:
        self._widget = widget
        self.window: EvaluatedWindow
        self.window, self._first = widget._shown()
        self.document: Document = widget.accuracies.documents[self.window.document]
        self.indices = mentions_within(widget.accuracies, self.window)
        self._numbers = cluster_numbers([self.document.mentions[i].cluster for i in self.indices])

    @property
    def name(self) -> str:
        return self.document.name or self.document.source

    def cluster(self, mention: int) -> int:
        return self._numbers[self.document.mentions[mention].cluster]

    def text(self, mention: int) -> str:
        """A mention, its cluster and where it is; "nothing" for -1."""
        if mention < 0:
            return "nothing"
        words = self.document.mentions[mention].words
        cluster = f"cluster {self.cluster(mention)}, " if self.cluster(mention) else ""
        return f"{' '.join(self.document.words[w] for w in words)} ({cluster}word {words[0]})"

    def choice(self, one: Evaluated) -> _Choice | None:
        """What the shown head chooses for an evaluated mention."""
        head = self._widget.head
        if head is None:
            return None
        row = self._first + self.window.evaluated.index(one)
        at = (row, AMONG.index(self._widget.variant), head.layer, head.head)
        found = self._widget.accuracies
        return _Choice(int(found.chosen[at]), float(found.weights[at]), bool(found.is_correct[at]))

    def chosen_text(self, choice: _Choice) -> str:
        return (
            f"{self.document.words[choice.word]} (word {choice.word}) with weight "
            f"{share(choice.weight)}"
        )


def figure(widget: CoreferenceView, *, width: int | None, theme: ThemeName) -> alt.LayerChart:
    """The text, its mentions, and what was chosen for the one in question."""
    shown, asked = _Window(widget), widget.evaluated
    start = shown.window.start
    place = {index: i for i, index in enumerate(shown.indices)}
    mentions = [
        PassageMention(
            tuple(word - start for word in shown.document.mentions[index].words),
            shown.document.mentions[index].head - start,
            shown.cluster(index),
        )
        for index in shown.indices
    ]
    choice = shown.choice(asked) if asked else None
    return passage(
        shown.document.words[start : shown.window.end],
        mentions,
        title="\n".join(filter(None, _title(widget, shown))),
        asked=None if widget.mention is None else place[widget.mention],
        antecedents=[place[i] for i in asked.antecedents] if asked else (),
        chosen=choice.word - start if choice else None,
        is_right=bool(choice and choice.right),
        said=_said(widget, shown),
        width=width or WIDTH,
        theme=theme_named(theme),
    )


def _title(widget: CoreferenceView, shown: _Window) -> list[str]:
    head, n = widget.head, int(widget.accuracies.counts[0])
    source = " · ".join(filter(None, [widget.accuracies.model_name, shown.name]))
    if head is None:
        return [f"Mentions · {NO_HEAD}", source]
    return [f"{head} · {head.paper_name} · {_among(widget)}", _how_often(widget, shown, n), source]


def _among(widget: CoreferenceView) -> str:
    return "among all words" if widget.variant == AMONG[0] else "among preceding mentions"


def _how_often(widget: CoreferenceView, shown: _Window, n: int) -> str:
    assert widget.head is not None
    choices = [shown.choice(one) for one in shown.window.evaluated]
    right = sum(bool(choice and choice.right) for choice in choices)
    at = (AMONG.index(widget.variant), widget.head.layer, widget.head.head, 0)
    correct = int(widget.accuracies.correct[at])
    return (
        f"right on {right} of {len(choices)} mentions here · {percent(correct / n, n)} % of "
        f"{n:,} in the study"
    )


def _said(widget: CoreferenceView, shown: _Window) -> list[Said]:
    """What was chosen for the mention: by the head, by the annotators, by each rule."""
    index, asked = widget.mention, widget.evaluated
    if index is None:
        return []
    kind = shown.document.mentions[index].kind
    lines = [Said("mention", f"{shown.text(index)}, {kind}")]
    if asked is None:
        once = "the window mentions this once: there is no antecedent to find"
        other = (
            "not evaluated: no mention of its cluster precedes it in this window, or a longer one "
            "with its head word stands for it"
        )
        return [*lines, Said("", other if shown.cluster(index) else once)]
    if (choice := shown.choice(asked)) and widget.head:
        outcome = _outcome(choice.right)
        said = f"{shown.chosen_text(choice)}, {outcome}"
        lines.append(Said(str(widget.head), said, outcome))
    lines.append(Said("antecedents", _antecedents(shown, asked)))
    for rule, found in zip(BASELINES, asked.baselines, strict=True):
        outcome = _outcome(found in asked.antecedents)
        lines.append(Said(rule, f"{shown.text(found)}, {outcome}", outcome))
    return lines


def _antecedents(shown: _Window, asked: Evaluated) -> str:
    named = [shown.text(i) for i in asked.antecedents[-_MOST_NAMED:]]
    more = len(asked.antecedents) - len(named)
    return ", ".join([*named, *([f"{more} before these"] if more else [])])


def _outcome(right: bool) -> Outcome:
    return "right" if right else "wrong"


def caption(widget: CoreferenceView) -> Caption:
    """What is shown now, in words."""
    shown, head = _Window(widget), widget.head
    found, window = widget.accuracies, shown.window
    n = int(found.counts[0])
    rules = ", ".join(
        f"{rule} {percent(correct / n, n)} %"
        for rule, correct in zip(BASELINES, found.baseline_correct[:, 0].tolist(), strict=True)
    )
    notes = [shown.name, f"words {window.start}–{window.end - 1} of {len(shown.document.words)}"]
    if head:
        notes += [_among(widget), _how_often(widget, shown, n)]
    notes += [
        "; ".join(f"{one.label}: {one.text}" if one.label else one.text for one in said)
        for said in [_said(widget, shown)]
    ]
    notes += ["special tokens left out, nothing renormalised", f"rules in the study: {rules}"]
    rows, listed = _rows(widget, shown), _MOST_ROWS
    if len(rows) > listed:
        notes.append(f"the table lists {listed} of {len(rows)} evaluated mentions")
    return Caption(
        "Coreference: mentions and the antecedents that a head chooses",
        model=found.model_name,
        head=one_head(head),
        quantity="attention weights from the mention's head word" if head else "",
        notes=tuple(filter(None, notes)),
    )


def _rows(widget: CoreferenceView, shown: _Window) -> list[Evaluated]:
    """The evaluated mentions of the window, the one in question first."""
    asked = widget.evaluated
    rest = [one for one in shown.window.evaluated if one is not asked]
    return [asked, *rest] if asked else rest


def table(widget: CoreferenceView) -> pd.DataFrame:
    """The window's evaluated mentions, the one in question first: all that was chosen for each."""
    import pandas as pd

    shown = _Window(widget)
    rows = []
    for one in _rows(widget, shown)[:_MOST_ROWS]:
        row = {"mention": shown.text(one.mention)}
        if (choice := shown.choice(one)) and widget.head:
            row[str(widget.head)] = shown.chosen_text(choice)
            row["right or wrong"] = _outcome(choice.right)
        row["antecedents"] = _antecedents(shown, one)
        for rule, found in zip(BASELINES, one.baselines, strict=True):
            right = _outcome(found in one.antecedents)
            row[rule] = f"{shown.text(found)}, {right}"
        rows.append(row)
    return pd.DataFrame(rows)
