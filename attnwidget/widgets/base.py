"""What all widgets share: the traits that link any two of them, and how a change is answered."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.widgets.traits import Heads, Subset, TokenMarks
from attnwidget.widgets.wire import stacks_to_wire

STATIC = Path(__file__).parent / "static"

#: Traits under the same name in every widget; `link` joins these.
SHARED = ("selected", "layer", "tokens", "hidden", "quantity", "unit", "scale")


class AttentionWidget(anywidget.AnyWidget):
    """A figure of an `Attention`.

    Assign a new list to change a list trait: changes inside one are not seen.
    """

    attention = traitlets.Instance(
        Attention, help="The attention shown; assign another one to show that."
    )
    selected = Heads(
        help="The selected heads, 0-based; the last one is what a view of one head shows."
    ).tag(sync=True)
    layer = traitlets.Int(
        0,
        min=0,
        help="The stepped layer, 0-based; the selection follows to the same head of that layer.",
    ).tag(sync=True)
    tokens = TokenMarks(
        help='Locked tokens as ("query" | "key", index); queries attend, keys are attended to.'
    ).tag(sync=True)
    hidden = Subset(
        ("cls", "sep", "first"), help='Tokens left out: some of "cls", "sep", "first".'
    ).tag(sync=True)
    quantity = traitlets.Enum(["weights"], "weights", help="What is drawn.").tag(sync=True)
    unit = traitlets.Enum(
        ["tokens", "words"],
        "tokens",
        help="Maps between tokens, or between words: the sum over the attended word's tokens, "
        "the mean over the attending one's.",
    ).tag(sync=True)
    scale = traitlets.Enum(
        ["linear", "sqrt", "log"], "sqrt", help="Colour scale; log spans three decades."
    ).tag(sync=True)

    _stacks: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    _axes = traitlets.Dict().tag(sync=True)
    _source = traitlets.Dict().tag(sync=True)
    _error = traitlets.Unicode().tag(sync=True)

    def __init__(self, attention: Attention, **traits: Any) -> None:
        if not isinstance(attention, Attention):
            raise TypeError(
                f"{type(self).__name__} shows an Attention, got {type(attention).__name__}. "
                "Make one with load_model().attend('a sentence'), or from maps you have with "
                "Attention.from_weights(weights, tokens)."
            )
        # Callbacks run in a second kernel thread beside the running cell (comm subshells).
        self._lock = threading.RLock()
        self._refuse_unknown(traits)
        super().__init__(attention=attention, **traits)

    def open(self) -> None:
        """Show the figure: all that the page needs first is in the opening message."""
        self._refresh()
        super().open()

    def _refuse_unknown(self, traits: dict[str, Any]) -> None:
        known = [name for name in self.trait_names() if not name.startswith("_")]
        for name in traits:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"options: {', '.join(known)}"
                raise TypeError(f"{type(self).__name__} has no option {name!r}; {hint}")

    @property
    def head(self) -> Head | None:
        """The head a view of one head shows: the last one selected, or None."""
        return self.selected[-1] if self.selected else None

    @traitlets.validate("layer")
    def _check_layer(self, proposal: dict[str, Any]) -> int:
        count = max(stack.n_layers for stack in self.attention.stacks.values())
        if not 0 <= proposal["value"] < count:
            raise traitlets.TraitError(
                f"'layer' is 0 to {count - 1} in this model, got {proposal['value']}"
            )
        return int(proposal["value"])

    @traitlets.observe("selected")
    def _layer_follows_selection(self, change: object) -> None:
        if self.head:
            self.layer = self.head.layer

    @traitlets.observe("layer")
    def _selection_follows_layer(self, change: object) -> None:
        if self.head and self.head.layer != self.layer:
            stack = self.attention.stacks[self._stepped_stack()]
            layer, head = (
                min(self.layer, stack.n_layers - 1),
                min(self.head.head, stack.n_heads - 1),
            )
            self.selected = [Head(layer, head, stack.name)]

    def _stepped_stack(self) -> str:
        """The stack whose layers are stepped through: that of the shown head."""
        return self.head.stack if self.head else next(iter(self.attention.stacks))

    @traitlets.observe("attention")
    def _show_another(self, change: dict[str, Any]) -> None:
        if isinstance(change["old"], Attention):
            with self.hold_sync():
                self.tokens = []
                self.selected = [head for head in self.selected if self.attention.has(head)]
                n_layers = max(stack.n_layers for stack in self.attention.stacks.values())
                self.layer = min(self.layer, n_layers - 1)
                self._refresh()

    def _refresh(self) -> None:
        """Everything that depends on the attention, in one message."""
        with self._answering():
            self._stacks = stacks_to_wire(self.attention)
            self._source = {"model": self.attention.model_name, "note": self.attention.note}
            self._compute()

    def _compute(self) -> None:
        """Set what the page draws from the current traits; each widget has its own."""

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """One change at a time, one message each; an error shows in the widget's place."""
        with self._lock, self.hold_sync():
            try:
                yield
            except Exception as error:
                self._error = str(error) or type(error).__name__
                raise
            self._error = ""

    def close(self) -> None:
        """Free the widget, its layout and the page's side of both."""
        if self.layout is not None:
            self.layout.close()
        self.unobserve_all()
        super().close()

    def __repr__(self) -> str:
        stacks = ", ".join(
            f"{s.name} {s.n_layers}×{s.n_heads}" for s in self.attention.stacks.values()
        )
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"{type(self).__name__}({self.attention.model_name}, {stacks}, "
            f"{len(self.attention.tokens)} tokens, selected: {chosen})"
        )
