"""A control that is added as the documentation says is in the menu of the explorer, and works."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.axe import AXE, complaints
from browser.figures import open_menu
from browser.notebook import OpenNotebook
from project.added_sources import build_with, shown_files

pytestmark = pytest.mark.browser

OPEN = """
import sys
# Kernels of the tests have read the package already.
for name in [name for name in sys.modules if name.split(".")[0] == "attnwidget"]:
    del sys.modules[name]
sys.path.insert(0, {folder!r})
from attnwidget import explore
text = "The captain told his men that he would not leave the ship."
explorer = explore(text=text, panels=["grid", "view"])
explorer"""
PIXELS = "(canvas) => canvas.toDataURL()"


@pytest.mark.slow
def test_a_control_of_the_documentation_is_visible_in_the_explorer_and_works(
    in_lab: OpenNotebook, tmp_path: Path
) -> None:
    build_with(shown_files("A control"), tmp_path)
    notebook = in_lab([OPEN.format(folder=str(tmp_path)), "explorer.view"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    assert notebook.value("sys.modules['attnwidget'].__file__").startswith(str(tmp_path))
    explorer = notebook.output(0).locator(".attnw-ex-root")
    alone = notebook.output(1).locator(".attnw-view-root")
    name = "frame the diagonal"
    for root in (explorer, alone):
        see_box(root, name, False)
    notebook.run_in_kernel("explorer.view.mode = 'matrix'")
    for root in (explorer, alone):
        see_box(root, name, True)
    # The explorer has one menu and each control once; the figure alone has all of its own.
    expect(explorer.get_by_role("button", name="View")).to_have_count(1)
    canvas = explorer.locator(".attnw-matrix-figure canvas.attnw-matrix")
    plain = canvas.evaluate(PIXELS)
    open_menu(explorer).get_by_role("checkbox", name=name).check()
    notebook.wait_for_value("explorer.view.diagonal", True)
    changed = "([canvas, before]) => canvas.toDataURL() !== before"
    notebook.page.wait_for_function(changed, arg=[canvas.element_handle(), plain])
    expect(open_menu(alone).get_by_role("checkbox", name=name)).to_be_checked()
    if AXE.is_file():
        assert complaints(notebook.page) == []


def see_box(root: Locator, name: str, visible: bool) -> None:
    """Whether the menu of a figure offers a box to tick."""
    box = open_menu(root).get_by_role("checkbox", name=name)
    expect(box).to_have_count(1 if visible else 0)
    root.page.keyboard.press("Escape")
