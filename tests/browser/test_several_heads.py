"""Several heads in one view, and a head that a linked grid points at, live in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.axe import complaints
from browser.figures import SETUP, GridOnPage
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser

# What the page says to the kernel is kept in `seen`.
WIDGETS = """
seen = []
for kind in (HeadGrid, HeadView):
    def heard(self, message, own=kind._handle_msg):
        seen.append(message["content"]["data"])
        return own(self, message)
    kind._handle_msg = heard
four = [(1, 2), (2, 4), (3, 5), (2, 7)]
grid = HeadGrid(attention, selected=four)
view = HeadView(attention, selected=four, arrangement="beside", mode="lines")
both = link_figures(grid, view)
"""
POINT = """(canvas, [x, y]) => {
  const { left, top } = canvas.getBoundingClientRect();
  const at = { clientX: left + x, clientY: top + y, bubbles: true, pointerType: "mouse" };
  canvas.dispatchEvent(new PointerEvent("pointermove", at));
}"""


@pytest.mark.slow
def test_heads_side_by_side_share_locks_and_a_peek_sends_nothing(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + WIDGETS, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    root = notebook.output(2).locator(".attnw-root")
    title = root.locator(".attnw-title")
    readout = root.locator(".attnw-readout")
    expect(title).to_have_text("L1 H2, L2 H4, L3 H5, L2 H7: attention between tokens")

    # A token that is locked in the third head is locked in all.
    panel = root.locator(".attnw-panel").nth(2)
    panel.locator(".attnw-lines-figure").click(position={"x": 40, "y": 18 + 4 + 18 * 2 + 9})
    notebook.wait_for_value("view.tokens", [("query", 3)])
    for name in ("L1 H2", "L2 H4", "L3 H5", "L2 H7"):
        expect(readout).to_contain_text(name)

    # Pointing at a thumbnail shows its head without a message, leaving it takes it back.
    before = notebook.value("len(seen)")
    on_grid = GridOnPage(notebook.output(1))
    x, y = on_grid.corner(4, 8)
    middle = on_grid.layout["cell"] / 2
    on_grid.canvas.evaluate(POINT, [x + middle, y + middle])
    expect(title).to_contain_text("L4 H8: ")
    expect(root.locator(".attnw-caption")).to_contain_text("peek")
    on_grid.canvas.dispatch_event("pointerleave")
    expect(title).to_contain_text("L1 H2, L2 H4")
    assert notebook.value("len(seen)") == before

    # The keyboard does all of it.
    root.get_by_role("combobox", name="heads").focus()
    root.get_by_role("group", name="Attention of").first.focus()
    notebook.page.keyboard.press("s")
    notebook.wait_for_value("view.arrangement", "overlay")
    chip = root.get_by_role("button", name="L2 H4", exact=True)
    expect(chip).to_have_attribute("aria-pressed", "true")
    chip.focus()
    notebook.page.keyboard.press("Enter")
    notebook.wait_for_value("[tuple(h[:2]) for h in grid.selected]", [(1, 2), (3, 5), (2, 7)])
    notebook.page.keyboard.press("Shift+Enter")
    notebook.wait_for_value("[tuple(h[:2]) for h in view.selected]", [(2, 4)])
    notebook.page.keyboard.press("a")
    notebook.wait_for_value("view.shown_heads", "layer")
    expect(title).to_contain_text("L2 H0 to L2 H11")
    assert complaints(notebook.page) == []
