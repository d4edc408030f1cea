"""What a page without a kernel holds of a HeadGrid."""

from __future__ import annotations

from typing import Any

from attnwidget.widgets.head_grid.widget import HeadGrid
from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.encoding import readable, state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.shared.metrics_over_training import SteppedMetrics
from attnwidget.widgets.wire.values import to_wire

NEEDS_A_KERNEL = "Heads are switched off by a kernel, which this page does not have."


def page(grid: HeadGrid) -> Page:
    """The maps that thumbnails are made from, and the metrics of every stack.

    What was off stays off: the changes are held with it, and the difference if it is shown.
    """
    state = state_of(grid, without=("_thumbnails", "_metrics", "_axes", "_refused"))
    state["_source"] = {**grid._source, "fixed": NEEDS_A_KERNEL}
    edited = grid._reference() is not grid.attention
    changes = {stack: grid._changes(stack) for stack in grid.attention.stacks if edited}
    thumbnails = grid._thumbnails
    holdings = {"maps": all_maps(grid.attention, grid.quantity)}
    if other := grid._other():
        holdings["second"] = all_maps(other, grid.quantity)
    part = Part(
        title="Attention heads",
        state=state | {"_quantities": [grid.quantity]},
        shapes=grid._shapes(),
        own={
            "metrics": _metrics(grid),
            "changes": [
                {"stack": stack, "values": readable(to_wire(values))}
                for stack, values in changes.items()
            ],
            "difference": readable(thumbnails) if thumbnails["signed"] else None,
        },
        holdings=holdings,
    )
    return Page({"head_grid": part})


def _metrics(grid: HeadGrid) -> list[Any]:
    """Return the metrics of every stack, at every checkpoint of a training."""
    shown = grid.metrics
    if not isinstance(shown, SteppedMetrics):
        measured = grid._measured
        return [readable(grid._metrics_wire(measured, stack, None)) for stack in measured]
    return [
        readable(grid._metrics_wire(metrics, stack, step))
        for step, metrics in shown.by_step.items()
        for stack in metrics
    ]
