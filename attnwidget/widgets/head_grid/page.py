"""What a page without a kernel holds of a HeadGrid."""

from __future__ import annotations

from attnwidget.widgets.head_grid.widget import HeadGrid
from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.encoding import readable, state_of
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.shared.metric_table import metrics_to_wire
from attnwidget.widgets.wire.values import to_wire

NEEDS_A_KERNEL = "Heads are switched off by a kernel, which this page does not have."


def page(grid: HeadGrid) -> Page:
    """The maps that thumbnails are made from, and the metrics of every stack.

    What was off stays off: the changes are held with it, and the difference if it is shown.
    """
    metrics = grid._measured
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
            "metrics": [readable(metrics_to_wire(metrics, stack)) for stack in metrics],
            "changes": [
                {"stack": stack, "values": readable(to_wire(values))}
                for stack, values in changes.items()
            ],
            "difference": readable(thumbnails) if thumbnails["signed"] else None,
        },
        holdings=holdings,
    )
    return Page({"head_grid": part})
