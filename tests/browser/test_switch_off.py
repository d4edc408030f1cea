"""Heads switched off from the page and from a cell, live in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from browser.axe import AXE, complaints
from browser.figures import LINKED, SETUP, GridOnPage
from browser.notebook import OpenNotebook
from browser.settled import wait_until

pytestmark = pytest.mark.browser
#: Whether the color of text is at three places on the line through a head that is off.
CROSSED = """(canvas, [x, y, cell]) => {
  const text = getComputedStyle(canvas.closest(".attnw-root")).color.match(/[0-9]+/g).join();
  const context = canvas.getContext("2d");
  return [0.3, 0.5, 0.7].every((share) => {
    const corner = [Math.round(x + cell * share) - 2, Math.round(y + cell * (1 - share)) - 2];
    const { data } = context.getImageData(...corner, 4, 4);
    return Array.from({ length: 16 }, (_, i) => data.slice(4 * i, 4 * i + 3).join()).includes(text);
  });
}"""


def crossed(grid: GridOnPage, layer: int, head: int) -> bool:
    """Whether a thumbnail is struck through."""
    layout = grid.layout
    x, y = grid.corner(layer, head)
    place = [layout["dpr"] * value for value in (x, y, layout["cell"])]
    return bool(grid.canvas.evaluate(CROSSED, place))


def caption(output: Locator) -> Locator:
    return output.locator("[data-caption]")


def test_heads_are_switched_off_by_keyboard_and_by_a_cell(in_lab: OpenNotebook) -> None:
    notebook = in_lab([f"{SETUP}{LINKED}grid", "view", "print(grid.disabled)"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    output = notebook.output(0)
    beside = notebook.output(1)
    page = notebook.page
    grid = GridOnPage(output)
    assert not crossed(grid, 1, 2)
    output.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "x"):
        page.keyboard.press(key)
    expect(caption(output)).to_contain_text("without L1 H2 (uniform)")
    expect(caption(output)).to_contain_text("Jensen-Shannon divergence up to")
    expect(caption(beside)).to_contain_text("without L1 H2 (uniform)")
    wait_until(page, lambda: crossed(grid, 1, 2), "struck through")
    assert not crossed(grid, 1, 3)
    notebook.run_cell(2)
    expect(notebook.output(2)).to_contain_text("Head(layer=1, head=2, stack='self')")
    if AXE.is_file():
        for theme in ("dark", "light"):
            notebook.use_theme(theme)
            expect(output.locator(".attnw-root")).to_have_attribute("data-theme", theme)
            assert complaints(page) == []
    output.get_by_role("grid").focus()
    page.keyboard.press("Escape")
    notebook.wait_for_value("grid.disabled", [])
    expect(caption(beside)).not_to_contain_text("without")
    notebook.run_in_kernel("grid.disabled = [(2, 3)]")
    expect(caption(output)).to_contain_text("without L2 H3 (uniform)")
    expect(caption(beside)).to_contain_text("without L2 H3 (uniform)")
    wait_until(page, lambda: crossed(grid, 2, 3), "struck through")
    assert not crossed(grid, 1, 2)
    output.get_by_role("checkbox", name="difference from the intact model").check()
    notebook.wait_for_value("grid._thumbnails['signed']", True)
    expect(caption(output)).to_contain_text("difference from the intact model")
    output.get_by_role("button", name="switch all on").click()
    notebook.wait_for_value("[tuple(one) for one in (*grid.disabled, *view.disabled)]", [])
    expect(caption(output)).to_contain_text("no head is off")
