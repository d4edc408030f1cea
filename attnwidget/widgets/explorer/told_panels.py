"""Linked figures that open on a word which makes the map of a text readable."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.explorer.atlas_told import names_in
from attnwidget.widgets.explorer.examples import Story
from attnwidget.widgets.explorer.head_families import tested_name
from attnwidget.widgets.explorer.relation_panels import RelationPanels
from attnwidget.widgets.explorer.story import telling_tokens
from attnwidget.widgets.head_grid.widget import CHANGE
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.wire.values import masked_map


def mask_of(model: AttentionModel) -> str | None:
    """Return the mask token of a model; None for a model without one."""
    mask = getattr(model.tokenizer, "mask_token", None)
    return None if mask is None else str(mask)


class ToldPanels(RelationPanels):
    """Figures of a text, which lock what makes the shown map readable.

    A choice of the reader has precedence: tokens that a reader locks stay locked. Another text
    starts anew.
    """

    # How the shown example is told, or None.
    _story: traitlets.TraitType[Story | None, Story | None] = traitlets.Any(None)
    # The tokens that the explorer locked last.
    _locked: tuple[tuple[str, int], ...] = ()
    # What the attention is compared with.
    _other: Attention | None = None

    def _adopt(self, name: str, child: Any) -> None:
        super()._adopt(name, child)
        if name == "grid":
            child._families = [[named["head"], named["family"]] for named in self._tested or ()]
            if list(map(tuple, self.tokens)) == list(self._locked):
                child.cells = "maps"

    # What makes a map readable

    @when_open("tokens")
    def _answer_locked(self, change: object) -> None:
        """Let the cells of the grid answer for words that a reader locked."""
        if list(map(tuple, self.tokens)) != list(self._locked):
            self.grid.cells = "answers"

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
        self._lock_tokens(telling_tokens(self.attention, head, self.unit, mask_of(self.model)))

    def _lock_tokens(self, tokens: tuple[tuple[str, int], ...]) -> None:
        before = self._locked
        self._locked = tokens
        if list(map(tuple, self.tokens)) == list(before):
            # The first word explains the picture: the grid shows the maps until a reader locks one.
            self.grid.cells = "maps"
            self._give("tokens", list(tokens))

    def _give(self, name: str, value: list[Any]) -> None:
        """Set a trait of this widget and of its figures.

        While a figure passes its selection on, links give it no other trait back.
        """
        setattr(self, name, value)
        for child in self._of_attention():
            if child._takes(name):
                setattr(child, name, child._fitting(name, getattr(self, name)))

    # What heads do

    @computed("labels")
    def _tested(self) -> list[dict[str, Any]]:
        """What tests found that heads do, as the page says it; [] without an atlas."""
        if self._atlas is None:
            return []
        return [
            {"head": list(head), "label": name, **tested_name(name)._asdict()}
            for head, name in names_in(self._atlas).items()
        ]

    # Comparisons

    def _compare_with(self, other: Attention | None) -> None:
        """Compare with another attention, or with none; open on the head that differs most."""
        begins = other is not None and self._other is None
        self._other = other
        self.grid.versus = self.view.versus = other
        if other is not None and begins:
            head = self._most_changed(other)
            self.selected = [head]
            self.tokens = self._changed_token(head, other)
            self.grid.metric = self.grid.metric or CHANGE

    def _most_changed(self, other: Attention) -> Head:
        """The head whose maps differ most from those of another attention."""
        stack = self.head.stack if self.head else next(iter(self.attention.stacks))
        changes = self.attention.changes(other, stack)
        layer, head = np.unravel_index(changes.argmax(), changes.shape)
        return Head(int(layer), int(head), stack)

    def _changed_token(self, head: Head, other: Attention) -> list[tuple[str, int]]:
        """The query of a head with the largest difference; none if the inputs differ."""
        stacks = (self.attention.stacks[head.stack], other.stacks[head.stack])
        if any(getattr(stacks[0], side) != getattr(stacks[1], side) for side in ("query", "key")):
            return []
        maps = [
            np.nan_to_num(masked_map(attention, "weights", head, self.unit))
            for attention in (self.attention, other)
        ]
        return [("query", int(np.abs(maps[0] - maps[1]).max(axis=1).argmax()))]
