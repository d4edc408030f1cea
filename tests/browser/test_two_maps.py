"""Two attentions compared, live in JupyterLab: three panels in step, a grid of differences."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from browser.axe import AXE, complaints
from browser.figures import SETUP
from browser.notebook import OpenNotebook
from browser.overflow import overflowing
from browser.reader_numbers import in_per_cent
from browser.settled import settle

pytestmark = pytest.mark.browser

PAIR = """
tuned = load_model("attnwidget/genre")
other = tuned.attend("The captain told his men that he would not leave the ship.")
grid = HeadGrid(attention, versus=other, selected=[(4, 4)], hidden=[])
view = HeadView(attention, versus=other, layer=4, head=4, hidden=[])
both = link_figures(grid, view)
"""
#: The colors of a row of cells of a matrix, in the middle of each, as numbers.
ROW = """(canvas, row) => {
  const { x0, y0, cellWidth, cellHeight, cols, dpr } = JSON.parse(canvas.dataset.layout);
  const context = canvas.getContext("2d");
  const y = Math.round(dpr * (y0 + (row + 0.5) * cellHeight));
  const x = (c) => Math.round(dpr * (x0 + (c + 0.5) * cellWidth));
  return Array.from({ length: cols }, (_, c) => [...context.getImageData(x(c), y, 1, 1).data]);
}"""


def set_width(output: Locator, width: int) -> None:
    output.locator(".attnw-root").evaluate(
        "(root, width) => { root.style.width = `${width}px` }", width
    )


@pytest.mark.slow
def test_three_panels_are_in_step(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + PAIR, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    page = notebook.page
    on_grid = notebook.output(1)
    output = notebook.output(2)
    set_width(output, 1200)
    root = output.locator(".attnw-root")
    panels = root.locator(".attnw-panel:visible")
    expect(panels).to_have_count(3)
    readout = root.locator(".attnw-readout")
    caption = root.locator("[data-caption]")
    expect(caption).to_contain_text("A: small BERT (in the package)")
    expect(caption).to_contain_text("B: small BERT for genres (in the package)")

    # A token locked in the difference is locked in all, and read of all.
    panels.nth(2).locator(".attnw-lines-figure").click(position={"x": 40, "y": 18 + 4 + 18 * 3 + 9})
    notebook.wait_for_value("view.tokens", [("query", 3)])
    notebook.wait_for_value("grid.tokens", [("query", 3)])
    for name in ("A: ", "B: ", "A − B: "):
        expect(readout).to_contain_text(name)

    # A matrix by key; a cell by keyboard says all three numbers, which are Python's.
    figure = root.get_by_role("group", name="Attention of").first
    figure.focus()
    page.keyboard.press("m")
    notebook.wait_for_value("view.mode", "matrix")
    figure.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("[CLS] → the")
    expect(readout).to_contain_text("A − B")
    first, second = notebook.value("[float(one.weights(4, 4)[0, 1]) for one in (attention, other)]")
    words = readout.text_content() or ""
    for value in (first, second):
        assert in_per_cent(value) in words
    page.keyboard.press("Escape")

    # What became more has the color of the opposite end of what became less.
    panel = panels.nth(2).locator("canvas.attnw-matrix")
    settle(page)
    colors = np.array(panel.evaluate(ROW, 5), int)
    notebook.run_in_kernel("view.versus = None\nview.attention, view.versus = other, attention")
    expect(caption).to_contain_text("A: small BERT for genres (in the package)")
    settle(page)
    turned = np.array(panel.evaluate(ROW, 5), int)
    difference = np.array(notebook.value("view.difference[5].tolist()"))
    assert (difference < 0).any() and (difference > 0).any()
    redder = (colors[:, 0] - colors[:, 2], turned[:, 0] - turned[:, 2])
    strong = np.abs(difference) > np.abs(difference).max() / 10
    assert strong.sum() > 1
    for sign, of in ((1, redder[0]), (-1, redder[1])):
        assert ((of[strong] > 0) == (sign * difference[strong] > 0)).all()

    # The grid goes from the difference to the one and the other.
    expect(on_grid.locator("[data-caption]")).to_contain_text("A − B")
    on_grid.get_by_role("grid").focus()
    page.keyboard.press("v")
    notebook.wait_for_value("grid.comparison_part", "first")
    page.keyboard.press("v")
    notebook.wait_for_value("grid.comparison_part", "second")
    expect(on_grid.locator("[data-caption]")).to_contain_text("B: small BERT for genres")
    on_grid.get_by_role("combobox", name="maps").select_option("difference")
    notebook.wait_for_value("grid._thumbnails['signed']", True)
    on_grid.get_by_role("grid").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    notebook.wait_for_value("view.selected == grid.selected != [(4, 4)]", True)

    for width in (480, 1200):
        for one in (on_grid, output):
            set_width(one, width)
        for one in (on_grid, output):
            assert overflowing(one.locator(".attnw-root")) == []
        if AXE.is_file():
            for theme in ("dark", "light"):
                notebook.use_theme(theme)
                expect(root).to_have_attribute("data-theme", theme)
                assert complaints(page) == []


@pytest.mark.slow
def test_what_a_text_lacks_is_named(in_lab: OpenNotebook) -> None:
    texts = '"The cat sits on the mat.", "The cats sit on the mat."'
    cell = f"{SETUP}first, second = map(model.attend, ({texts}))\n"
    cell += "view = HeadView(first, 2, 3, versus=second, mode='matrix')\nview"
    notebook = in_lab([cell])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    caption = root.locator("[data-caption]")
    expect(caption).to_contain_text("without a counterpart: cat sits (A alone), cats sit (B alone)")
    figure = root.get_by_role("group", name="Attention of").first
    figure.focus()
    for key in ("ArrowDown", *["ArrowDown"] * 2, "ArrowRight"):
        notebook.page.keyboard.press(key)
    expect(root.locator(".attnw-readout")).to_contain_text("B none · A − B none")
