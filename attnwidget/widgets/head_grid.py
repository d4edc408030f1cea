"""HeadGrid: every head of a model at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import traitlets

from attnwidget.capture.attention import Attention
from attnwidget.capture.thumbnails import Thumbnails
from attnwidget.widgets.base import AttentionWidget, attention_shapes
from attnwidget.widgets.exporting import ThemeName
from attnwidget.widgets.heads import STATIC
from attnwidget.widgets.metric_choice import MetricChoice, checked_metrics
from attnwidget.widgets.wire import axes_to_wire, to_wire

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.figures.caption import Caption


class HeadGrid(MetricChoice, AttentionWidget):
    """Layers x heads of thumbnails: click to select a head, step through the layers, compare.

    Each thumbnail is a head's map, max-pooled to at most 64 x 64 cells, so that no strong weight is
    lost and any input length costs the page the same 4 kB a head.

    `metrics` are numbers of the heads: arrays [layers, heads] by title, or what has a `heads()`
    method, such as the result of `measure`; by stack where there are several. Each is shown as a
    bar with every head (`metric`), sorts heads (`sort`) and filters them (`filter`, `passing`);
    `similar()` finds heads whose numbers are alike. Further options are the traits below, as
    keywords: `selected`, `layer`, `stack`, `scale`, `shared_scale`, `hidden`, `unit`,
    `quantity`. An unknown one raises TypeError, a value out of range and metrics that do not fit
    traitlets.TraitError, a quantity that the attention lacks ValueError.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> grid = HeadGrid(load_model().attend("The cat sat on the mat."), selected=[(3, 5)])
        >>> grid.selected
        [Head(layer=3, head=5, stack='self')]
        >>> grid.metrics = {"strongest": grid.attention.weights().max(axis=(-2, -1))}
        >>> grid.metric, grid.sort, grid.filter = "strongest", "all", (0.9, 1.0)
        >>> len(grid.passing) < 72
        True
    """

    # The text, not the path: anywidget keeps a widget made from a path alive after close().
    _esm = (STATIC / "head_grid.js").read_text("utf-8")
    _css = (STATIC / "head_grid.css").read_text("utf-8")

    stack = traitlets.Unicode(
        help='The stack of layers shown: "self", or "encoder", "decoder", "cross".'
    ).tag(sync=True)
    shared_scale = traitlets.Bool(
        False, help="One colour scale for all heads; otherwise each head's maximum is the darkest."
    ).tag(sync=True)

    # A dict once there is something to draw, else None.
    _thumbnails = traitlets.Any(None).tag(sync=True)

    # The maps last drawn and what they are of, for the page and for pictures.
    _drawn: tuple[tuple[object, ...], Thumbnails] | None = None

    def __init__(self, attention: Attention, *, metrics: object = None, **traits: Any) -> None:
        if isinstance(attention, Attention):
            # Before the options that name one of them: traits are checked in no particular order.
            metrics = checked_metrics(metrics, attention_shapes(attention))
        super().__init__(attention, metrics=metrics, **traits)

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
            raise traitlets.TraitError(f"'stack' is one of {names} in this model, got {name!r}")
        return name

    @traitlets.observe("selected")
    def _stack_follows_selection(self, change: object) -> None:
        if self.head:
            self.stack = self.head.stack

    @traitlets.observe("stack", "quantity", "unit", "hidden")
    def _other_maps(self, change: object) -> None:
        if self._stacks:
            with self._answering():
                self._compute()

    def _compute(self) -> None:
        if self.stack not in self.attention.stacks:
            self.stack = next(iter(self.attention.stacks))
        self._drop_unfitting_metrics()
        self._compute_metrics()
        thumbnails = self._small_maps()
        self._axes = axes_to_wire(self.attention.stacks[self.stack], self.unit)
        self._thumbnails = {
            "stack": self.stack,
            "quantity": self.quantity,
            "unit": self.unit,
            "hidden": list(self.hidden),
            "values": to_wire(thumbnails.values),
            "maxima": to_wire(thumbnails.maxima),
            "strongest": to_wire(thumbnails.strongest),
        }

    def _small_maps(self) -> Thumbnails:
        """The thumbnails of the heads shown."""
        wished = (self.attention, self.stack, self.unit, *self.hidden, self.quantity)
        # Held here: another thread may show another stack meanwhile.
        drawn = self._drawn
        if drawn is None or drawn[0] != wished:
            thumbnails = self.attention.thumbnails(
                self.stack, unit=self.unit, hidden=self.hidden, quantity=self.quantity
            )
            self._drawn = drawn = wished, thumbnails
        return drawn[1]

    def figure(self, *, width: int | None = None, theme: ThemeName = "light") -> alt.LayerChart:
        """The grid as it is now, as an Altair chart, whether or not a page shows it.

        Thumbnails are one crisp image; frame, labels, selection and metrics are vector. `width` is
        in pixels; thumbnails are 28 to 64 of them wide. `theme` is "light" or "dark".

        Example:
            >>> from attnwidget import HeadGrid, load_model
            >>> grid = HeadGrid(load_model().attend("The cat sat on the mat."), selected=[(3, 5)])
            >>> grid.figure().save("grid.svg")  # doctest: +SKIP
        """
        from attnwidget.widgets.pictures import head_grid

        return head_grid.figure(self, width=width, theme=theme)

    @property
    def caption(self) -> Caption:
        """What the grid shows now, in words."""
        from attnwidget.widgets.pictures import head_grid

        return head_grid.caption(self)

    def _table(self) -> pd.DataFrame:
        from attnwidget.widgets.pictures import head_grid

        return head_grid.table(self)
