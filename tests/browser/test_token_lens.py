"""TokenLens live in JupyterLab: locks of a view, a count that is Python's, axe."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.axe import AXE, complaints
from browser.figures import SETUP
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser

LENS = """
from attnwidget import TokenLens
lens, view = TokenLens(attention), HeadView(attention, 1, 2)
both = link(lens, view)
lens
"""


@pytest.mark.slow
def test_two_locked_words_count_the_heads_that_python_names(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LENS, "view"])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    title = root.locator(".attnw-lens-title")
    expect(root.locator(".attnw-lens-hint")).to_contain_text("No word is locked")
    notebook.run_in_kernel("view.tokens = [('query', 7)]")
    expect(title).to_have_text("From “he”: where the 12 heads of layer 1 look")
    root.get_by_role("combobox", name="to").select_option(label="captain")
    notebook.wait_for_value("view.tokens", [("query", 7), ("key", 2)])
    count = notebook.value("len(lens.heads)")
    expect(title).to_have_text(f"{count} of 72 heads go from “he” to “captain”")
    root.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        notebook.page.keyboard.press(key)
    notebook.wait_for_value("len(view.selected)", 1)
    selected = notebook.value("tuple(view.selected[0])")
    expect(root.get_by_role("gridcell")).to_have_attribute("aria-selected", "true")
    readout = root.locator(".attnw-lens-readout")
    expect(readout).to_contain_text(f"L{selected[0]} H{selected[1]}", use_inner_text=True)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LENS])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    expect(root).to_contain_text("From “the”")
    root.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []
    notebook.run_in_kernel("lens.tokens = [('query', 7), ('key', 2)]")
    expect(root).to_contain_text("72 heads")
    assert complaints(notebook.page) == []
