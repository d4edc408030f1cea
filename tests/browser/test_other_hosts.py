"""The same widgets, unchanged, in Notebook 7 and marimo."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browser.figures import LINKED, SETUP, GridOnPage, thumbnails
from browser.notebook import OpenNotebook
from browser.pages import Watched
from browser.servers import Server

pytestmark = pytest.mark.browser

MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from attnwidget import HeadGrid, HeadView, link_figures, load_model

    attention = load_model().attend("The captain told his men that he would not leave the ship.")
    head_grid = HeadGrid(attention, selected=[(0, 0)])
    head_view = HeadView(attention, layer=0, head=0)
    both = link_figures(head_grid, head_view)
    grid = mo.ui.anywidget(head_grid)
    view = mo.ui.anywidget(head_view)
    return grid, mo, view


@app.cell
def _(grid):
    grid
    return


@app.cell
def _(view):
    view
    return


@app.cell
def _(grid, mo):
    mo.md(f"the kernel has {grid.value['selected']}")
    return


@app.cell
def _(mo, view):
    mo.md(f"the view has {view.value['selected']}")
    return


if __name__ == "__main__":
    app.run()
"""


def test_notebook_7(in_notebook7: OpenNotebook) -> None:
    notebook = in_notebook7([SETUP + LINKED, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid = GridOnPage(notebook.output(1))
    grid.assert_drawn(3, 5, notebook.value(thumbnails(3, 5)), "light")
    grid.click(3, 5)
    notebook.wait_for_value("tuple(view.selected[-1])", (3, 5, "self"))
    expect(notebook.output(2).locator(".attnw-root")).to_contain_text("L3 H5")


def test_marimo(in_marimo: Callable[[str], Server], seen: Watched) -> None:
    server = in_marimo(MARIMO)
    seen.page.goto(server.url)
    grid = GridOnPage(seen.page.locator("body"))
    view = seen.page.locator(".attnw-root", has_not=seen.page.locator("canvas.attnw-grid"))
    expect(view).to_contain_text("L0 H0")
    grid.click(3, 5)
    expect(seen.page.get_by_text("the kernel has")).to_contain_text("layer=3, head=5")
    expect(view).to_contain_text("L3 H5")
    # marimo runs the cells of a linked figure too.
    expect(seen.page.get_by_text("the view has")).to_contain_text("layer=3, head=5")
    # The kernel has answered, so that nothing is missed.
    expect(seen.page.locator('.attnw-root[data-link="live"]').first).to_be_visible()
