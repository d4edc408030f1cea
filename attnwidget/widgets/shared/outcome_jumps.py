"""Jumps of a figure to the next position where the current head is right, or wrong."""

from __future__ import annotations

from typing import Any, Literal

import traitlets

from attnwidget.widgets.shared.computed import when_open
from attnwidget.widgets.shared.head_widget import HeadWidget

Outcome = Literal["right", "wrong"]


class Jump(traitlets.TraitType[Any, Any]):
    """Trait for a search request from the page: {"outcome", "step", "n"}, or empty.

    The step is 1 or -1, and n is the number of the request.
    """

    info_text = '{"outcome": "right" or "wrong", "step": 1 or -1, "n": a number}'

    def __init__(self) -> None:
        super().__init__({})

    def validate(self, obj: Any, value: Any) -> dict[str, Any]:
        """Return the value if it is a valid request or empty."""
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
    """Figure whose page can request the next position with a right, or a wrong, answer."""

    # Numbered request of the page, and its result. The number makes equal requests differ, so that
    # a repeated request continues after the last result.
    _jump = Jump().tag(sync=True, from_page=True)
    _jumped = traitlets.Dict().tag(sync=True)

    def _jump_for_page(self, outcome: Outcome, step: int) -> dict[str, Any]:
        """Show the next position, and return the result for the page, including "found"."""
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
    """Raise ValueError if the outcome or the step is not an allowed value."""
    if outcome not in ("right", "wrong") or step not in (1, -1):
        raise ValueError(f"jump('right' | 'wrong', step=1 | -1), got {outcome!r} and step={step!r}")
