"""Jumps of a figure to the next place where the shown head is right, or wrong."""

from __future__ import annotations

from typing import Any, Literal

import traitlets

from attnwidget.widgets.shared.computed import when_open
from attnwidget.widgets.shared.head_widget import HeadWidget

Outcome = Literal["right", "wrong"]


class Jump(traitlets.TraitType[Any, Any]):
    """A request of the page to search for a position: {"outcome", "step", "n"}, or empty.

    The step is 1 or -1; n counts how often was asked.
    """

    info_text = '{"outcome": "right" or "wrong", "step": 1 or -1, "n": a number}'

    def __init__(self) -> None:
        super().__init__({})

    def validate(self, obj: Any, value: Any) -> dict[str, Any]:
        """The value, if it is one or empty."""
        names = {"outcome", "step", "n"}
        if not isinstance(value, dict) or (
            value
            and not (
                value.keys() == names
                and value["outcome"] in ("right", "wrong")
                and value["step"] in (1, -1)
                and isinstance(value["n"], int)
            )
        ):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        return value


class OutcomeJumps(HeadWidget):
    """A figure whose page asks for the next place with a right, or a wrong, answer."""

    # The numbered request of the page, and its result. Results are kept, so that a repeated request
    # continues after the last result.
    _jump = Jump().tag(sync=True, from_page=True)
    _jumped = traitlets.Dict().tag(sync=True)

    def _jump_for_page(self, outcome: Outcome, step: int) -> dict[str, Any]:
        """Show the next place, and return whether it was found, and more that the page needs."""
        raise NotImplementedError

    @when_open("_jump")
    def _asked_to_jump(self, change: dict[str, Any]) -> None:
        request = change["new"]
        if not request:
            return
        with self._lock, self._answering():
            result = self._jump_for_page(request["outcome"], request["step"])
            self._jumped = {"n": request["n"], **result}


def check_jump(outcome: str, step: int) -> None:
    """Raise ValueError for another outcome or another step."""
    if outcome not in ("right", "wrong") or step not in (1, -1):
        raise ValueError(f"jump('right' | 'wrong', step=1 | -1), got {outcome!r} and step={step!r}")
