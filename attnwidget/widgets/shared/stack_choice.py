"""Choice of the stack that a figure shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from attnwidget.widgets.shared.attention_widget import AttentionOptions, AttentionWidget
from attnwidget.widgets.shared.computed import when_open


class StackOptions(AttentionOptions, total=False):
    """Options of a figure of one stack."""

    stack: str


class StackChoice(AttentionWidget):
    """Figure of one `Attention` stack, which follows the selected head."""

    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "stack": "the stack of the selected head, otherwise the first stack"
    }

    stack = traitlets.Unicode(
        help='Name of the current stack: "self", or "encoder", "decoder" or "cross".'
    ).tag(sync=True, option=True, follows_selection=True)

    @traitlets.default("stack")
    def _first_stack(self) -> str:
        return super()._stepped_stack()

    def _stepped_stack(self) -> str:
        return self.stack

    @traitlets.validate("stack")
    def _check_stack(self, proposal: dict[str, Any]) -> str:
        name = str(proposal["value"])
        if name not in self.attention.stacks:
            names = ", ".join(map(repr, self.attention.stacks))
            raise traitlets.TraitError(
                f"'stack' must be one of {names} in this model, got {name!r}"
            )
        return name

    @traitlets.observe("selected")
    def _stack_follows_selection(self, change: object) -> None:
        if self.head:
            self.stack = self.head.stack

    @when_open("attention")
    def _keep_a_stack(self, change: object) -> None:
        """Show the first stack if another attention lacks the current stack."""
        if self.stack not in self.attention.stacks:
            self.stack = next(iter(self.attention.stacks))
