"""What every widget of heads shares: the selection, the layer, and how a change is answered."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from attnwidget.capture.head import Head, named_head
from attnwidget.widgets.exporting import Exporting
from attnwidget.widgets.options import options
from attnwidget.widgets.traits import Heads
from attnwidget.widgets.warm import warm_up

STATIC = Path(__file__).parent / "static"

#: Layers and heads a layer of each stack, by its name.
Shapes = Mapping[str, tuple[int, int]]


class HeadWidget(Exporting, anywidget.AnyWidget):
    """A figure of the heads of a model, whatever it shows of them.

    Assign a new list to change a list trait: changes inside one are not seen.
    """

    selected = Heads(
        help="The selected heads, 0-based; the last one is what a view of one head shows."
    ).tag(sync=True)
    layer = traitlets.Int(
        0,
        min=0,
        help="The stepped layer, 0-based; the selection follows to the same head of that layer.",
    ).tag(sync=True)

    _error = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        # Callbacks run in a second kernel thread beside the running cell (comm subshells).
        self._lock = threading.RLock()
        self._refuse_unknown(traits)
        super().__init__(**traits)

    def open(self) -> None:
        """Show the figure: all that the page needs first is in the opening message."""
        if options.static_fallback:
            warm_up()
        self._refresh()
        super().open()

    def _shapes(self) -> Shapes:
        """The stacks of the figure; each widget has its own."""
        raise NotImplementedError

    def _named(self, value: Head | Sequence[Any]) -> Head:
        """The head that (layer, head) or (layer, head, stack) names; ValueError without one."""
        return named_head(value, self._shapes())

    def has(self, value: Head | Sequence[Any]) -> bool:
        """Whether the figure has such a head."""
        try:
            self._named(value)
        except (ValueError, TypeError):
            return False
        return True

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

    @property
    def n_layers(self) -> int:
        """Layers that can be stepped through: those of the deepest stack."""
        return max(layers for layers, _ in self._shapes().values())

    @traitlets.validate("layer")
    def _check_layer(self, proposal: dict[str, Any]) -> int:
        if not 0 <= proposal["value"] < self.n_layers:
            raise traitlets.TraitError(
                f"'layer' is 0 to {self.n_layers - 1} in this model, got {proposal['value']}"
            )
        return int(proposal["value"])

    @traitlets.observe("selected")
    def _layer_follows_selection(self, change: object) -> None:
        if self.head:
            self.layer = self.head.layer

    @traitlets.observe("layer")
    def _selection_follows_layer(self, change: object) -> None:
        if self.head and self.head.layer != self.layer:
            stack = self._stepped_stack()
            n_layers, n_heads = self._shapes()[stack]
            layer, head = min(self.layer, n_layers - 1), min(self.head.head, n_heads - 1)
            self.selected = [Head(layer, head, stack)]

    def _stepped_stack(self) -> str:
        """The stack whose layers are stepped through: that of the shown head."""
        return self.head.stack if self.head else next(iter(self._shapes()))

    def _refresh(self) -> None:
        """Everything that the page draws, in one message."""
        with self._answering():
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
