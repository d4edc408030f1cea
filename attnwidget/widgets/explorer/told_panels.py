"""Linked figures that open on a word which makes the map of a text readable."""

from __future__ import annotations

from typing import Any

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.explorer.atlas_told import names_in
from attnwidget.widgets.explorer.head_families import tested_name
from attnwidget.widgets.explorer.opening import active_word, opening_of_change
from attnwidget.widgets.explorer.relation_panels import RelationPanels
from attnwidget.widgets.head_grid.widget import CHANGE
from attnwidget.widgets.shared.computed import computed, when_open


def mask_of(model: AttentionModel) -> str | None:
    """Return the mask token of a model; None for a model without one."""
    mask = getattr(model.tokenizer, "mask_token", None)
    return None if mask is None else str(mask)


class ToldPanels(RelationPanels):
    """Figures of a text, which lock what makes the shown map readable.

    A choice of the reader has precedence: tokens that a reader locks stay locked. Another text
    starts anew.
    """

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
        mask = mask_of(self.model)
        self._lock_tokens(
            active_word(self.attention, head, self.unit, names=self._atlas_names(), mask=mask)
        )

    def _lock_tokens(self, tokens: tuple[tuple[str, int], ...]) -> None:
        before = self._locked
        self._locked = tokens
        if list(map(tuple, self.tokens)) == list(before):
            # The first word explains the picture: the grid shows the maps until a reader locks one.
            self.grid.cells = "maps"
            self._give("tokens", list(tokens))

    def _give(self, name: str, value: Any) -> None:
        """Set a trait of this widget and of its figures.

        While a figure passes its selection on, links give it no other trait back.
        """
        setattr(self, name, value)
        for child in self._of_attention():
            if child._takes(name):
                setattr(child, name, child._fitting(name, getattr(self, name)))

    # What heads do

    def _atlas_names(self) -> dict[Head, str]:
        """The names of heads in the atlas; {} without an atlas."""
        return {} if self._atlas is None else names_in(self._atlas)

    @computed("labels")
    def _tested(self) -> list[dict[str, Any]]:
        """What tests found that heads do, as the page says it; [] without an atlas."""
        return [
            {"head": list(head), "label": name, **tested_name(name)._asdict()}
            for head, name in self._atlas_names().items()
        ]

    # Comparisons

    def _compare_with(self, other: Attention | None) -> None:
        """Compare with another attention, or with none; open on the head that differs most."""
        begins = other is not None and self._other is None
        self._other = other
        self.grid.versus = self.view.versus = other
        if other is not None and begins:
            stack = self.head.stack if self.head else next(iter(self.attention.stacks))
            changes = self.attention.changes(other, stack)
            opening = opening_of_change(self.attention, other, changes, stack)
            self.selected = [opening.head]
            axis = self.attention.stacks[stack].query
            self.tokens = list(opening.in_unit(self.unit, axis))
            self.grid.metric = self.grid.metric or CHANGE
