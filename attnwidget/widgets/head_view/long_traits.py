"""Long inputs in a HeadView: the requests of its page, and the options without effect."""

from __future__ import annotations

from typing import Any

import traitlets

from attnwidget.widgets.head_view.long_input import (
    Part,
    head_to_wire,
    next_of,
    places_of,
    row_to_wire,
    tile_to_wire,
    whole,
    window_to,
)
from attnwidget.widgets.shared.versus import Versus

#: Options that need whole maps, and what they are without.
SHORT_ONLY: dict[str, Any] = {
    "quantity": "weights",
    "unit": "tokens",
    "hidden": [],
    "arrangement": "one",
    "of": "selected",
    "sentences": "all",
    "renormalise": False,
    "top_mass": 1.0,
    "highlight": [],
    "versus": None,
}


class LongInput(Versus):
    """A figure of one head that receives only the visible part of a map that is too long."""

    # A head as a whole, what is in sight of it and the row of the locked query; None of a short
    # input.
    _long = traitlets.Any(None).tag(sync=True)
    _tile = traitlets.Any(None).tag(sync=True)
    _row = traitlets.Any(None).tag(sync=True)
    # A search that the page asks for, and what was found.
    _jump = traitlets.Dict().tag(sync=True)
    _jumped = traitlets.Dict().tag(sync=True)

    _settles = False

    def _takes(self, name: str) -> bool:
        return super()._takes(name) and not (self.attention.is_long and name in SHORT_ONLY)

    @traitlets.validate(*(name for name in SHORT_ONLY if name not in ("highlight", "versus")))
    def _check_option(self, proposal: dict[str, Any]) -> Any:
        return self._refuse_long(proposal["trait"].name, proposal["value"])

    @traitlets.validate("versus")
    def _check_versus(self, proposal: dict[str, Any]) -> object:
        return self._refuse_long("versus", super()._check_versus(proposal))

    def _refuse_long(self, name: str, value: Any) -> Any:
        """The value of an option, which a long input may not have."""
        usual = SHORT_ONLY[name]
        if self.attention.is_long and value != usual:
            raise traitlets.TraitError(
                f"{name!r} needs the whole map, which is not made of an input of "
                f"{len(self.attention.tokens):,} tokens: it stays {usual!r}, got {value!r}. "
                "Shorten the text for it"
            )
        return value

    def _compute_long(self) -> bool:
        """Set what the page draws of a long input; False of a short one."""
        if not self.attention.is_long:
            self._long = self._tile = self._row = None
            self._jumped = {}
            return False
        if not self._settles:
            # Options of short inputs that long inputs do not have.
            self._settles = True
            try:
                for name, value in SHORT_ONLY.items():
                    setattr(self, name, value)
            finally:
                self._settles = False
        self._axes = {"stack": self.head.stack, "unit": "tokens"} if self.head else {}
        self._map = self._maps = None
        self._long = head_to_wire(self.attention, self.head) if self.head else {}
        self._compute_tile()
        self._compute_row()
        return True

    def _compute_tile(self) -> None:
        head = self.head
        if head is None:
            self._tile = None
            return
        _, n_query, _, n_key = whole(self.attention, head.stack)
        window: Part | None = self.window
        # The stacks of one model can have different lengths.
        if window and (window[0] >= n_query or window[2] >= n_key):
            window = None
        elif window:
            window = window[0], min(window[1], n_query), window[2], min(window[3], n_key)
        self._tile = tile_to_wire(self.attention, head, window, lines=self.mode == "lines") | {
            "asked": self.window
        }

    def _compute_row(self) -> None:
        queries = [index for side, index in self.tokens if side == "query"]
        head = self.head
        if head is None or not queries or queries[-1] >= whole(self.attention, head.stack)[1]:
            self._row = None
        else:
            self._row = row_to_wire(self.attention, head, queries[-1])

    @property
    def _shows_long(self) -> bool:
        return self._answers and self.attention.is_long and not self._settles

    @traitlets.observe("window", "mode")
    def _other_tile(self, change: object) -> None:
        if self._shows_long:
            with self._answering():
                self._compute_tile()

    @traitlets.observe("tokens")
    def _other_row(self, change: object) -> None:
        if self._shows_long:
            with self._answering():
                self._compute_row()

    @traitlets.observe("_jump")
    def _find(self, change: object) -> None:
        """The next place of a token that the page looks for: locked, and brought into sight."""
        head = self.head
        jump = self._jump
        if not self._shows_long or head is None:
            return
        side = jump["side"]
        step = jump["step"]
        stack = self.attention.stacks[head.stack]
        places = places_of(stack.query if side == "query" else stack.key, jump["text"])
        locked = [index for at, index in self.tokens if at == side]
        with self._answering():
            answer: dict[str, Any] = {"n": jump["n"], "count": len(places)}
            if places:
                at = next_of(places, locked[-1] if locked else -1, step)
                answer |= {"at": at, "nth": places.index(at) + 1}
                self.tokens = [(side, at)]
                self.window = window_to(self.attention, head, side, at)
            self._jumped = answer
