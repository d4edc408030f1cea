"""The heads and words that an explorer chooses itself, because they make the map readable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.text.demonstrations import DemoText
from attnwidget.widgets.explorer.answer_effects import quick_effects
from attnwidget.widgets.explorer.examples import is_embedded, opening_of_example
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.head_names import HeadNames
from attnwidget.widgets.explorer.opening import (
    Opening,
    active_word,
    opening_of,
    opening_of_change,
)

LockedTokens = tuple[tuple[str, int], ...]


def mask_of(model: AttentionModel | None) -> str | None:
    """Return the mask token of a model, or None."""
    return _spelled(model, "mask_token")


def unknown_of(model: AttentionModel | None) -> str | None:
    """Return the token of unknown words in the vocabulary of a model, or None."""
    return _spelled(model, "unk_token")


def _spelled(model: AttentionModel | None, name: str) -> str | None:
    token = None if model is None else getattr(model.tokenizer, name, None)
    return None if token is None else str(token)


class OwnChoice:
    """The heads that the explorer selects and the words that it locks.

    A choice of the reader has precedence: a head that a reader selects stays selected for further
    texts, and tokens that a reader locks stay locked. Another text has other tokens, and starts
    anew.

    Args:
        explorer: The explorer.
        figures: Its figures.
        names: The names of its heads.

    Attributes:
        heads: The heads that the explorer selected itself; None after a reader selected a head.
    """

    def __init__(self, explorer: ExplorerFigure, figures: FigureSet, names: HeadNames) -> None:
        self._explorer = explorer
        self._figures = figures
        self._names = names
        self._tokens: LockedTokens = ()
        self.heads: list[Head] | None = None

    def first(
        self,
        attention: Attention,
        demo: DemoText | None,
        traits: Mapping[str, Any],
        *,
        compares: bool,
    ) -> dict[str, Any]:
        """Return the traits with the heads and tokens that the explorer opens with.

        Args:
            attention: The attention of the text.
            demo: The example that the text belongs to, or None.
            traits: The traits that the user gave, with `unit`. `selected` and `layer` choose a
                head.
            compares: Whether the explorer opens on a comparison, which chooses the head later.
        """
        chooses = bool({"selected", "layer"} & traits.keys())
        opening: Opening | None = None
        if demo is not None and is_embedded(self._explorer.model):
            opening = opening_of_example(attention, demo)
        elif not chooses and not compares:
            opening = self._opening_of_text(attention)
        layer = None if "selected" in traits else traits.get("layer")
        head = _first_head(attention, layer, None if chooses else opening)
        chosen = {"selected": [head], **traits}
        self.heads = None if chooses else [head]
        if compares:
            return chosen
        self._tokens = self._first_tokens(attention, chosen, opening)
        return {"tokens": list(self._tokens), **chosen}

    def _first_tokens(
        self, attention: Attention, traits: Mapping[str, Any], opening: Opening | None
    ) -> LockedTokens:
        """Return the tokens that the explorer locks at first, for the head of `traits`."""
        last = traits["selected"][-1] if traits["selected"] else None
        if last is None or not attention.has(last):
            return ()
        head = attention.head(last)
        if opening is not None and opening.head == head:
            return opening.in_unit(traits["unit"], attention.stacks[head.stack].query)
        return self._active_word(attention, head, traits["unit"])

    def tell(self, attention: Attention, demo: DemoText | None, *, opens: bool) -> None:
        """Show what makes the map of a new text readable.

        Args:
            attention: The attention of the text.
            demo: The example that the text belongs to, or None.
            opens: Whether to open on the head that stands out in the text, because no reader has
                selected a head.
        """
        self.forget_tokens()
        if demo is not None and is_embedded(self._explorer.model):
            opening = opening_of_example(attention, demo)
        elif opens:
            opening = self._opening_of_text(attention)
        else:
            self.focus()
            return
        self._select(opening.head)
        axis = attention.stacks[opening.head.stack].query
        self.lock(opening.in_unit(self._explorer.unit, axis))

    def open_on_change(self, other: Attention) -> None:
        """Show the head with the largest difference from another attention."""
        explorer = self._explorer
        attention = explorer.attention
        stack = explorer.head.stack if explorer.head else next(iter(attention.stacks))
        changes = attention.changes(other, stack)
        unknown = unknown_of(explorer.model)
        opening = opening_of_change(attention, other, changes, stack, unknown)
        self._select(opening.head)
        axis = attention.stacks[stack].query
        explorer.tokens = list(opening.in_unit(explorer.unit, axis))

    def _select(self, head: Head) -> None:
        """Show a head that the explorer chooses."""
        self.heads = [head]
        self._explorer.selected = [head]

    def note_choice(self) -> None:
        """Note that heads were selected, by the explorer or by a reader."""
        if self._explorer.selected != self.heads:
            self.heads = None

    @property
    def is_head_own(self) -> bool:
        """Whether the explorer chose the shown head, and the reader did nothing with it.

        A reader who switches the shown head off works with this head.
        """
        explorer = self._explorer
        return self.heads is not None and not {*explorer.selected} & {*explorer.disabled}

    @property
    def are_tokens_own(self) -> bool:
        """Whether the locked tokens are those that the explorer chose."""
        return list(map(tuple, self._explorer.tokens)) == list(self._tokens)

    def forget_tokens(self) -> None:
        """Undo the locks of another text, also if both are the same sentence."""
        self._explorer.tokens = []
        self._tokens = ()

    def in_another_unit(self) -> None:
        """Lock a word again after the page unlocked all, because their places are of the unit."""
        if not self._explorer.tokens:
            self._tokens = ()
        self.focus()

    def focus(self) -> None:
        """Lock the tokens that make the map of the shown head readable."""
        explorer = self._explorer
        head = explorer.head
        if head is None or explorer.grid.versus is not None:
            return
        self.lock(self._active_word(explorer.attention, head, explorer.unit))

    def lock(self, tokens: LockedTokens) -> None:
        """Lock tokens, unless a reader has locked others."""
        are_own = self.are_tokens_own
        self._tokens = tokens
        if are_own:
            self._figures.give("tokens", list(tokens))

    def _active_word(self, attention: Attention, head: Head, unit: str) -> LockedTokens:
        """Return the word on which the map of a head is easiest to read."""
        return active_word(
            attention,
            head,
            unit,
            names=self._names.by_head,
            mask=mask_of(self._explorer.model),
            unknown=unknown_of(self._explorer.model),
        )

    def _opening_of_text(self, attention: Attention) -> Opening:
        """Return the head and the word to open an unprepared text on."""
        return opening_of(
            attention,
            self._names.by_head,
            mask=mask_of(self._explorer.model),
            unknown=unknown_of(self._explorer.model),
            effects=quick_effects(attention),
        )


def _first_head(attention: Attention, layer: int | None, opening: Opening | None) -> Head:
    """Return the head to open on: of an opening, else the first head of a layer.

    Raises:
        traitlets.TraitError: There is no such layer.
    """
    if opening is not None:
        return opening.head
    stack = next(iter(attention.stacks))
    first = attention.stacks[stack].layers.numbers[0]
    try:
        return attention.head((first if layer is None else layer, 0, stack))
    except (ValueError, TypeError) as error:
        raise traitlets.TraitError(f"'layer': {error}") from None
