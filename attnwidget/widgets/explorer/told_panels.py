"""Linked figures with a sentence about the picture, which keep the map of any text readable."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.explorer.answers_told import answer_told, effect_told
from attnwidget.widgets.explorer.atlas_told import STACK, atlas_told, names_in
from attnwidget.widgets.explorer.examples import Story
from attnwidget.widgets.explorer.opening import active_word, opening_of_change
from attnwidget.widgets.explorer.relation_panels import RelationPanels
from attnwidget.widgets.explorer.story import Shown, left_out, names_of, told
from attnwidget.widgets.head_grid.widget import CHANGE
from attnwidget.widgets.prediction_view.widget import PredictionView
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.computed import computed, when_open

#: Seconds after which the sentence follows a new answer: all figures have changed by then.
_PAUSE = 0.1


def mask_of(model: AttentionModel) -> str | None:
    """Return the mask token of a model; None for a model without one."""
    mask = getattr(model.tokenizer, "mask_token", None)
    return None if mask is None else str(mask)


class ToldPanels(RelationPanels):
    """Figures of a text, which lock what makes the shown map readable, and say so.

    A choice of the reader has precedence: tokens that a reader locks stay locked. Another text
    starts anew.
    """

    # How the shown example is told, or None.
    _story: traitlets.TraitType[Story | None, Story | None] = traitlets.Any(None)
    # Raised when a figure changes that the sentence is about.
    _retold = traitlets.Int(0)
    # The tokens that the explorer locked last.
    _locked: tuple[tuple[str, int], ...] = ()
    # What the attention is compared with.
    _other: Attention | None = None
    _changed: tuple[Attention, Attention, str, NDArray[np.float32]] | None = None

    def _adopt(self, name: str, child: Any) -> None:
        super()._adopt(name, child)
        if name == "grid":
            child.observe(self._retell, names=["metric", "metrics", "stack"])
        elif name == "view":
            child.observe(self._retell, names=["renormalise"])
        elif name == "predictions":
            child.observe(self._answers_changed, names=["_answered", "_effects"])
        self._retell()

    def _retell(self, change: object = None) -> None:
        self._retold += 1

    def _answers_changed(self, change: object) -> None:
        """Tell the answer in another thread: this thread holds the lock of the predictions."""
        self._background.add("answers", self._answers_job(), delay=_PAUSE)

    def _answers_job(self) -> Job:
        yield self._tell_answers

    def _tell_answers(self) -> None:
        with self._lock, self.hold_sync():
            if not self._background.closed:
                self._retell()

    @traitlets.observe("progress")
    def _retell_metric(self, change: dict[str, Any]) -> None:
        if ("strip" in change["new"]) != ("strip" in (change["old"] or {})):
            self._retell()

    # What makes a map readable

    @when_open("selected")
    def _focus_on_head(self, change: dict[str, Any]) -> None:
        before = change["old"][-1] if change["old"] else None
        if self.head is not None and self.head != before:
            self._focus()

    @when_open("unit")
    def _focus_in_unit(self, change: object) -> None:
        # The page unlocks all tokens, because their places are those of the unit before.
        if not self.tokens:
            self._locked = ()
        self._focus()

    def _focus(self) -> None:
        """Lock the tokens that make the map of the shown head readable."""
        head = self.head
        if head is None or self._other is not None:
            return
        mask = mask_of(self.model)
        self._lock_tokens(
            active_word(self.attention, head, self.unit, names=self._atlas_names(), mask=mask)
        )

    def _lock_tokens(self, tokens: tuple[tuple[str, int], ...]) -> None:
        before = self._locked
        self._locked = tokens
        if list(map(tuple, self.tokens)) == list(before):
            self._give("tokens", list(tokens))

    def _give(self, name: str, value: list[Any]) -> None:
        """Set a trait of this widget and of its figures.

        While a figure passes its selection on, links give it no other trait back.
        """
        setattr(self, name, value)
        for child in self._of_attention():
            if child._takes(name):
                setattr(child, name, child._fitting(name, getattr(self, name)))

    # The sentence

    @computed(
        "attention",
        "selected",
        "tokens",
        "hidden",
        "unit",
        "quantity",
        "_edit",
        "labels",
        "_story",
        "_retold",
    )
    def _look(self) -> str:
        """The sentence about the picture; "" without a head."""
        head = self.head
        if head is None or not self.has(head):
            return ""
        if self._other is not None:
            return self._change_told(head, self._other)
        shown = Shown(
            self.attention,
            head,
            self.quantity,
            self.unit,
            self.tokens,
            self.hidden,
            self._edit[0],
            self._method_used() if self._edit[0] else None,
            self.view is not None and self.view.renormalise,
            self.labels,
        )
        metric = self._metric_told(head)
        story = self._story
        is_plain = not self._edit[0] and not metric and story is not None and story.head == head
        if is_plain and story is not None and story.line and self._shows(story):
            line = self._with_label(story.line, head)
            told_by_atlas = self._atlas_told(head)
            atlas = told_by_atlas and f"the head {told_by_atlas}"
            return "; ".join(filter(None, [line, left_out(shown), atlas]))
        name = self._with_label(story.name, head) if is_plain and story is not None else ""
        said = self._atlas_told(head)
        if said:
            known = self.labels.get(head) == self._name_in_atlas(head)
            usual = str(head) if known else self.labels.named(head)
            name = f"{story.name}, {said}" if name and story is not None else f"{usual} {said}"
        answer = self._answer_told()
        if self._edit[0] and head not in self._edit[0] and not answer:
            off = f"{names_of(self._edit[0], self.labels)} ({self._method_used()})"
            name = f"{self.labels.named(head)} without {off}"
        return "; ".join(filter(None, [answer, told(shown, name), metric]))

    def _atlas_told(self, head: Head) -> str:
        """What the atlas says about a head; "" if it says nothing about the shown numbers."""
        is_usual = not self._edit[0] and self.quantity == "weights"
        if self._atlas is None or head.stack != STACK or not is_usual:
            return ""
        return atlas_told(self._atlas.card(head.layer, head.head))

    def _atlas_names(self) -> dict[Head, str]:
        """The names of heads in the atlas; {} without an atlas."""
        return {} if self._atlas is None else names_in(self._atlas)

    def _name_in_atlas(self, head: Head) -> str:
        return "" if self._atlas is None else str(self._atlas.names[head.layer, head.head])

    def _with_label(self, said: str, head: Head) -> str:
        """Return a text that begins with the name of a head, with the label after that name."""
        rest = said.removeprefix(str(head))
        return self.labels.named(head) + rest if rest != said else said

    def _shows(self, story: Story) -> bool:
        """Whether the words of an example are the ones that are seen."""
        is_usual = (self.unit, self.quantity) == ("tokens", "weights")
        return is_usual and list(map(tuple, self.tokens)) == list(story.tokens)

    @computed("attention", "tokens", "unit", "_edit", "labels", "_retold")
    def _effect_told(self) -> dict[str, Any] | None:
        """The head on which the answer depends most, for the page; None before it is known."""
        view = self._answering_view()
        effect = effect_told(view) if view is not None and self._other is None else None
        return effect and {"text": effect.text, "head": list(effect.head)}

    def _answering_view(self) -> PredictionView | None:
        """The predictions, if they are about the shown attention and heads."""
        view = self._predictions_of_input()
        return view if view is not None and view._edit == self._edit else None

    def _answer_told(self) -> str:
        view = self._answering_view() if self._edit[0] else None
        return answer_told(view) if view is not None else ""

    def _metric_told(self, head: Head) -> str:
        """The metric of the grid for the shown head, with its rank; "" without a metric."""
        grid = self.grid
        if grid is None or grid.metric is None or "strip" in self.progress:
            return ""
        values = grid._values
        if values is None or grid.stack != head.stack:
            return ""
        return f"{grid.metric} {values[head.layer, head.head]:.3g}, {self._rank(values, head)}"

    def _rank(self, values: NDArray[Any], head: Head) -> str:
        """The place of a head among all heads, the largest value first."""
        counted = values[list(self._layers(head.stack).numbers)]
        rank = 1 + int((counted > values[head.layer, head.head]).sum())
        return f"number {rank} of {counted.size} heads"

    # Comparisons

    def _compare_with(self, other: Attention | None) -> None:
        """Compare with another attention, or with none; open on the head that differs most."""
        begins = other is not None and self._other is None
        self._other = other
        self.grid.versus = self.view.versus = other
        if other is not None and begins:
            stack = self.head.stack if self.head else next(iter(self.attention.stacks))
            changes = self._changes(other, stack)
            opening = opening_of_change(self.attention, other, changes, stack)
            self.selected = [opening.head]
            axis = self.attention.stacks[stack].query
            self.tokens = list(opening.in_unit(self.unit, axis))
            self.grid.metric = self.grid.metric or CHANGE
        self._retell()

    def _changes(self, other: Attention, stack: str) -> NDArray[np.float32]:
        known = self._changed
        if known is None or known[:3] != (self.attention, other, stack):
            changes = self.attention.changes(other, stack)
            self._changed = known = self.attention, other, stack, changes
        return known[3]

    def _change_told(self, head: Head, other: Attention) -> str:
        changes = self._changes(other, head.stack)
        value = changes[head.layer, head.head]
        a, b = self.attention.model_name, other.model_name
        names = "from A to B" if a == b else f"from A ({a}) to B ({b})"
        rank = self._rank(changes, head)
        most = rank.startswith("number 1 of")
        said = rank.replace("number 1 of", "the most of") if most else rank
        return f"{self.labels.named(head)} changes by {value:.3g} nats {names}: {said}"
