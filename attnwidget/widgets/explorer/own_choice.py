"""Heads and words that an explorer chooses itself, so that the map is easy to read."""

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
    """Return the token for unknown words in a model's vocabulary, or None."""
    return _spelled(model, "unk_token")


def _spelled(model: AttentionModel | None, name: str) -> str | None:
    token = None if model is None else getattr(model.tokenizer, name, None)
    return None if token is None else str(token)


class OwnChoice:
    """Heads that the explorer selects and words that it locks.

    The user's choice has precedence: a head that the user selects stays selected for further texts,
    and tokens that the user locks stay locked until the text changes.

    Args:
        explorer: Explorer that chooses.
        figures: Figures of the explorer.
        names: Names of the heads.

    Attributes:
        heads: Heads that the explorer selected itself; None after the user has selected a head.
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
        """Return the traits with the heads and tokens with which the explorer opens.

        Args:
            attention: Attention of the text.
            demo: Example of the text, or None.
            traits: Traits from the user, with `unit`. `selected` and `layer` choose a head.
            compares: Whether the explorer opens with a comparison, which chooses the head later.
        """
        user_chooses_head = bool({"selected", "layer"} & traits.keys())
        opening: Opening | None = None
        if demo is not None and is_embedded(self._explorer.model):
            opening = opening_of_example(attention, demo)
        elif not user_chooses_head and not compares:
            opening = self._opening_of_text(attention)
        layer = None if "selected" in traits else traits.get("layer")
        head = _first_head(attention, layer, None if user_chooses_head else opening)
        all_traits = {"selected": [head], **traits}
        self.heads = None if user_chooses_head else [head]
        if compares:
            return all_traits
        self._tokens = self._first_tokens(attention, all_traits, opening)
        return {"tokens": list(self._tokens), **all_traits}

    def _first_tokens(
        self, attention: Attention, traits: Mapping[str, Any], opening: Opening | None
    ) -> LockedTokens:
        """Return the tokens that the explorer locks when it opens, for the head in `traits`."""
        last = traits["selected"][-1] if traits["selected"] else None
        if last is None or not attention.has(last):
            return ()
        head = attention.head(last)
        if opening is not None and opening.head == head:
            return opening.in_unit(traits["unit"], attention.stacks[head.stack].query)
        return self._active_word(attention, head, traits["unit"])

    def tell(self, attention: Attention, demo: DemoText | None, *, opens: bool) -> None:
        """Choose the head and the tokens for a new text.

        Args:
            attention: Attention of the text.
            demo: Example of the text, or None.
            opens: Whether to select the most outstanding head of the text, because the user has not
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
        """Select a head that the explorer chooses."""
        self.heads = [head]
        self._explorer.selected = [head]

    def note_choice(self) -> None:
        """Record whether the explorer or the user has selected the current heads."""
        if self._explorer.selected != self.heads:
            self.heads = None

    @property
    def is_head_own(self) -> bool:
        """True if the explorer chose the current head and the user has not worked with it.

        A user who disables the current head works with this head.
        """
        explorer = self._explorer
        return self.heads is not None and not {*explorer.selected} & {*explorer.disabled}

    @property
    def are_tokens_own(self) -> bool:
        """True if the explorer chose the locked tokens."""
        return list(map(tuple, self._explorer.tokens)) == list(self._tokens)

    def forget_tokens(self) -> None:
        """Unlock the tokens of the previous text, even if both texts are the same."""
        self._explorer.tokens = []
        self._tokens = ()

    def in_another_unit(self) -> None:
        """Lock a word again in the new unit, after a change of unit has unlocked all words."""
        if not self._explorer.tokens:
            self._tokens = ()
        self.focus()

    def focus(self) -> None:
        """Lock the tokens that make the map of the current head easy to read."""
        explorer = self._explorer
        head = explorer.head
        if head is None or explorer.grid.versus is not None:
            return
        self.lock(self._active_word(explorer.attention, head, explorer.unit))

    def lock(self, tokens: LockedTokens) -> None:
        """Lock tokens unless the user has locked other tokens."""
        are_own = self.are_tokens_own
        self._tokens = tokens
        if are_own:
            self._figures.give("tokens", list(tokens))

    def _active_word(self, attention: Attention, head: Head, unit: str) -> LockedTokens:
        """Return the word for which the map of a head is easiest to read."""
        return active_word(
            attention,
            head,
            unit,
            names=self._names.by_head,
            mask=mask_of(self._explorer.model),
            unknown=unknown_of(self._explorer.model),
        )

    def _opening_of_text(self, attention: Attention) -> Opening:
        """Return the head and the word on which a text that is not an example opens."""
        return opening_of(
            attention,
            self._names.by_head,
            mask=mask_of(self._explorer.model),
            unknown=unknown_of(self._explorer.model),
            effects=quick_effects(attention),
        )


def _first_head(attention: Attention, layer: int | None, opening: Opening | None) -> Head:
    """Return the opening's head, or the first head of a layer.

    Raises:
        traitlets.TraitError: If there is no such layer.
    """
    if opening is not None:
        return opening.head
    stack = next(iter(attention.stacks))
    first = attention.stacks[stack].layers.numbers[0]
    try:
        return attention.head((first if layer is None else layer, 0, stack))
    except (ValueError, TypeError) as error:
        raise traitlets.TraitError(f"'layer': {error}") from None
