"""What a page without a kernel holds of a HeadGrid."""

from __future__ import annotations

from attnwidget.widgets.head_grid.widget import HeadGrid
from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.encoding import readable, state_of
from attnwidget.widgets.pages.part import Page, Part
from attnwidget.widgets.shared.metric_table import metrics_to_wire


def page(grid: HeadGrid) -> Page:
    """The maps that thumbnails are made from, and the metrics of every stack."""
    metrics = grid.metrics or {}
    state = state_of(grid, without=("_thumbnails", "_metrics", "_axes"))
    part = Part(
        title="Attention heads",
        state=state | {"_quantities": [grid.quantity]},
        shapes=grid._shapes(),
        own={"metrics": [readable(metrics_to_wire(metrics, stack)) for stack in metrics]},
        holdings={"maps": all_maps(grid.attention, grid.quantity)},
    )
    return Page({"head_grid": part})
