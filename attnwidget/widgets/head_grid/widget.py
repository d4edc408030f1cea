"""HeadGrid: every head of a model at a glance."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.attention import Attention
from attnwidget.capture.call import YOURS
from attnwidget.widgets.shared.attention_widget import attention_shapes
from attnwidget.widgets.shared.metric_choice import MetricChoice, checked_metrics
from attnwidget.widgets.shared.stack_choice import StackChoice
from attnwidget.widgets.shared.wire import axes_to_wire, to_wire


class HeadGrid(MetricChoice, StackChoice):
    """Layers x heads of thumbnails: click to select a head, step through the layers, compare.

    Each thumbnail is a head's map, max-pooled to at most 64 x 64 cells, so that no strong weight is
    lost and any input length costs the page the same 4 kB a head.

    `metrics` are numbers of the heads: arrays [layers, heads] by title, or what has a `heads()`
    method, such as the result of `measure`; by stack where there are several. Each is shown as a
    bar with every head (`metric`), sorts heads (`sort`) and filters them (`filter`, `passing`);
    `similar()` finds heads whose numbers are alike. Further options are the traits below, as
    keywords: `selected`, `layer`, `stack`, `scale`, `shared_scale`, `hidden`, `unit`,
    `quantity`, `disabled`, `method`, `versus`. An unknown one raises TypeError, a value out of
    range and metrics that do not fit traitlets.TraitError, a quantity that the attention lacks
    ValueError.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> grid = HeadGrid(load_model().attend("The cat sat on the mat."), selected=[(3, 5)])
        >>> grid.selected
        [Head(layer=3, head=5, stack='self')]
        >>> grid.metrics = {"strongest": grid.attention.weights().max(axis=(-2, -1))}
        >>> grid.metric, grid.sort, grid.filter = "strongest", "all", (0.9, 1.0)
        >>> len(grid.passing) < 72
        True
        >>> grid.disabled, grid.versus = [(0, 3)], "intact"
        >>> grid.attention.model_name
        'small BERT (in the package), without L0 H3 (uniform)'
    """

    kind = "head_grid"

    shared_scale = traitlets.Bool(
        False, help="One colour scale for all heads; otherwise each head's maximum is the darkest."
    ).tag(sync=True)

    versus = traitlets.Enum(
        [None, "intact"],
        None,
        help='"intact": while heads are off, thumbnails are what that changed, each map minus the '
        "one of the intact model; None: the maps themselves.",
    ).tag(sync=True)

    # A dict once there is something to draw, else None.
    _thumbnails = traitlets.Any(None).tag(sync=True)

    # What was off when the metrics were given.
    _metrics_of = traitlets.Unicode().tag(sync=True)

    # Hiding tokens changes nothing in them.
    _changed: tuple[tuple[Attention, str], NDArray[np.float32]] | None = None

    def __init__(self, attention: Attention, *, metrics: object = None, **traits: Any) -> None:
        if isinstance(attention, Attention):
            # Before the options that name one of them: traits are checked in no particular order.
            metrics = checked_metrics(metrics, attention_shapes(attention))
        super().__init__(attention, metrics=metrics, **traits)

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        if self.stack == next(iter(self.attention.stacks)):
            options.pop("stack", None)
        return {"metrics": YOURS if self.metrics else None, **options}

    @traitlets.observe("stack", "quantity", "unit", "hidden", "versus")
    def _other_maps(self, change: object) -> None:
        if self._answers:
            with self._answering():
                self._compute()

    @traitlets.observe("metrics")
    def _name_what_metrics_are_of(self, change: object) -> None:
        self._metrics_of = self._edits if self._stacks else ""

    def _compute(self) -> None:
        self._keep_a_stack()
        self._drop_unfitting_metrics()
        self._compute_metrics()
        other = self._other()
        thumbnails = self.attention.thumbnails(
            *(self.stack,),
            unit=self.unit,
            hidden=self.hidden,
            quantity=self.quantity,
            minus=other,
        )
        off = self._off(self.stack)
        if other is not None:
            # What stands in the place of a head is no change of that head.
            thumbnails.values[off], thumbnails.maxima[off] = 128, 0
        intact = self.attention.intact
        self._axes = axes_to_wire(self.attention.stacks[self.stack], self.unit)
        self._thumbnails = {
            "stack": self.stack,
            "quantity": self.quantity,
            "unit": self.unit,
            "hidden": list(self.hidden),
            "values": to_wire(thumbnails.values),
            "maxima": to_wire(thumbnails.maxima),
            "strongest": to_wire(thumbnails.strongest),
            "disabled": list(self.disabled),
            "method": self.method,
            "versus": self.versus,
            "signed": other is not None,
            "changes": None if intact is self.attention else to_wire(self._changes(self.stack)),
        }

    def _other(self) -> Attention | None:
        """The attention whose maps are taken off those shown; None for none."""
        intact = self.attention.intact
        return intact if self.versus == "intact" and intact is not self.attention else None

    def _off(self, stack: str) -> tuple[list[int], list[int]]:
        """Layers and heads, as indices, of those of a stack that are off."""
        off = [head for head in self.disabled if head.stack == stack]
        return [head.layer for head in off], [head.head for head in off]

    def _changes(self, stack: str) -> NDArray[np.float32]:
        """[L, H], how far heads are from the intact ones; 0 of those that are off themselves."""
        asked = self.attention, stack
        if self._changed is None or self._changed[0] != asked:
            changes = self.attention.changes(self.attention.intact, stack)
            changes[self._off(stack)] = 0
            self._changed = asked, changes
        return self._changed[1]
