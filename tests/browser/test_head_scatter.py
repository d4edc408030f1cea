"""HeadScatter and HeadGrid with metrics, linked, live in JupyterLab and on a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from attnwidget import load_model, save_page
from attnwidget.widgets.head_scatter import HeadScatter
from browser.axe import AXE, complaints
from browser.figures import SETUP, GridOnPage
from browser.notebook import OpenNotebook
from browser.pages import Watched
from browser.settled import settle

pytestmark = pytest.mark.browser

# Heads on a grid of their own, so that a rectangle round some of them is easy to name.
FIGURES = """
import numpy as np
from attnwidget.widgets.head_scatter import HeadScatter
positions = np.stack(np.indices((6, 12))[::-1], axis=-1).astype(float)
labels = np.where(positions[..., 0] < 6, "to [SEP]", "other")
weights = attention.weights()
metrics = {"strongest": weights.max((-2, -1)), "to [CLS]": weights[..., 0].mean(-1)}
head_scatter = HeadScatter.from_positions(positions, labels, model_name="BertForMaskedLM")
grid = HeadGrid(attention, metrics=metrics, metric="to [CLS]")
links = link_figures(head_scatter, grid)
"""
PRINTED = "print('chosen', sorted(str(head) for head in grid.selected))"


class MapOnPage:
    """The HeadScatter inside a root element, of heads at (head, layer)."""

    def __init__(self, root: Locator) -> None:
        self.canvas = root.locator("canvas.attnw-map")
        self.canvas.wait_for(state="visible")

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point of the plane on the page."""
        layout: dict[str, Any] = json.loads(self.canvas.get_attribute("data-layout") or "{}")
        box = self.canvas.bounding_box()
        assert box is not None
        across = layout["x0"] + layout["scale"] * x
        up = layout["y0"] - layout["scale"] * y
        return box["x"] + across, box["y"] + up

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a rectangle between two points of the plane."""
        self.canvas.scroll_into_view_if_needed()
        settle(self.canvas)
        mouse = self.canvas.page.mouse
        mouse.move(*self.place(*start))
        mouse.down()
        mouse.move(*self.place(*end), steps=5)
        mouse.up()


@pytest.mark.slow
def test_a_brush_in_the_map_selects_in_grid_kernel_and_next_cell(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + FIGURES, "head_scatter", "grid", PRINTED])
    for cell in range(3):
        notebook.run_cell(cell)
    GridOnPage(notebook.output(2))
    MapOnPage(notebook.output(1)).drag((2.5, 0.5), (5.5, 2.5))
    wanted = [f"L{layer} H{head}" for layer in (1, 2) for head in (3, 4, 5)]
    notebook.wait_for_value("sorted(str(head) for head in grid.selected)", wanted)
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text(f"chosen {wanted}")
    caption = notebook.output(2).locator(".attnw-grid-caption")
    expect(caption).to_contain_text("L2 H5: ")
    page = notebook.page
    notebook.output(1).get_by_role("listbox").focus()
    page.keyboard.press("Escape")
    notebook.wait_for_value("len(grid.selected)", 0)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    notebook.wait_for_value("[tuple(head) for head in grid.selected]", [(5, 10, "self")])
    expect(caption).to_contain_text("L5 H10: ")
    assert page.locator(".jp-Notebook .jp-Cell").count() == 4, "a key reached the notebook"


@pytest.mark.slow
def test_the_grid_sorts_filters_and_finds_heads_alike(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + FIGURES, "grid"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    root = notebook.output(1).locator(".attnw-root")
    GridOnPage(root)
    root.get_by_role("combobox", name="metric").select_option("strongest")
    root.get_by_role("combobox", name="order").select_option("all heads")
    notebook.wait_for_value("(grid.metric, grid.sort)", ("strongest", "all"))
    first = notebook.value("divmod(int(np.argmax(metrics['strongest'].astype('f4'))), 12)")
    GridOnPage(root).click(0, 0)
    notebook.wait_for_value("[tuple(head)[:2] for head in grid.selected]", [first])
    alike = notebook.value("[tuple(head) for head in grid.similar()]")
    root.get_by_role("button", name="select 5 heads like").click()
    notebook.wait_for_value("[tuple(head) for head in grid.selected]", [*alike, (*first, "self")])
    low = root.get_by_role("slider", name="smallest value to keep")
    low.focus()
    for _ in range(3):
        low.press("PageUp")
    # Every key sends one range: the slider shows the last of them, and the kernel receives it last.
    share = int(low.input_value()) / int(low.get_attribute("max") or 0)
    kept = "round(float((grid.filter[0] - np.min(strongest)) / np.ptp(strongest)), 3)"
    notebook.run_in_kernel("strongest = metrics['strongest'].astype('f4')")
    notebook.wait_for_value(f"grid.filter and {kept}", round(share, 3))
    count = notebook.value("len(grid.passing)")
    assert 0 < count < 72
    expect(root.locator(".attnw-grid-caption")).to_contain_text(f"{count} of 72 heads")
    notebook.run_in_kernel("grid.sort = 'none'; grid.filter = None")
    expect(root.get_by_role("combobox", name="order")).to_have_value("none")


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + FIGURES, "head_scatter", "grid"])
    for cell in range(3):
        notebook.run_cell(cell)
    GridOnPage(notebook.output(2))
    notebook.run_in_kernel("grid.filter = (0.1, 0.9); grid.sort = 'rows'; grid.selected = [(2, 3)]")
    roots = notebook.page.locator(".attnw-root")
    expect(roots.nth(1)).to_contain_text("L2 H3")
    for behaviors, theme in [("head_scatter.behaviors", "dark"), ("None", "light")]:
        notebook.run_in_kernel(f"head_scatter.behaviors = {behaviors}")
        notebook.use_theme(theme)
        for index in range(2):
            expect(roots.nth(index)).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []


@pytest.mark.slow
def test_a_page_has_map_and_metrics_too(seen: Watched, tmp_path: Path) -> None:
    attention = load_model().attend("The captain told his men that he would not leave the ship.")
    positions = np.stack(np.indices((6, 12))[::-1], axis=-1).astype(float)
    head_scatter = HeadScatter.from_positions(positions, note="by number")
    metrics = {"strongest": attention.weights().max((-2, -1))}
    page = save_page(
        attention,
        tmp_path / "page.html",
        metrics=metrics,
        metric="strongest",
        head_scatter=head_scatter,
    )
    seen.page.context.set_offline(True)
    seen.page.goto(page.as_uri())
    body = seen.page.locator("body")
    GridOnPage(body)
    expect(body.locator(".attnw-map-caption")).to_contain_text("by number")
    expect(body.locator(".attnw-grid-caption")).to_contain_text("bars: strongest")
    MapOnPage(body).drag((6.5, 3.5), (7.5, 4.5))
    expect(body.locator(".attnw-title")).to_contain_text("L4 H7")
    value = f"{float(np.float32(metrics['strongest'][4, 7])):.3g}"
    expect(body.locator(".attnw-grid-caption")).to_contain_text(f"L4 H7: {value}, rank ")
    if AXE.is_file():
        assert complaints(seen.page) == []
