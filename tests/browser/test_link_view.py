"""LinkView live in JupyterLab: a locked pair fills the panels, and the slider asks nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from attnwidget import HeadGrid, LinkView, link_figures, load_model
from attnwidget.widgets.pages.page_part import Page
from attnwidget.widgets.pages.write_page import page_of, write_linked
from browser.axe import AXE, complaints
from browser.figures import SETUP, GridOnPage
from browser.notebook import OpenNotebook
from browser.overflow import overflowing
from browser.pages import Watched
from browser.settled import settle

pytestmark = pytest.mark.browser

LINKED = """
from attnwidget import LinkView
view, why = HeadView(attention, 0, 3), LinkView(attention)
both = link_figures(view, why)
why
"""
SLIDE = """(slider) => {
  slider.value = Number(slider.value) + 2;
  slider.dispatchEvent(new Event("input"));
}"""
PIXELS = "(canvas) => canvas.toDataURL()"


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_a_locked_pair_fills_the_panels_and_the_slider_redraws_without_the_kernel(
    in_lab: OpenNotebook,
) -> None:
    notebook = in_lab([SETUP + LINKED])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    expect(root).to_contain_text("Choose a link")
    assert complaints(notebook.page) == []
    notebook.run_in_kernel("view.tokens = [('query', 7), ('key', 2)]; why.wait()")
    expect(root.locator(".attnw-why-title")).to_contain_text("L0 H3: “he” → “captain”")
    expect(root.get_by_role("list", name="difference of scores, by writers")).to_be_attached()
    expect(root.get_by_role("list", name="share of the output")).to_be_attached()

    slider = root.get_by_role("slider", name="distance from the query back to the key")
    curve = root.locator(".attnw-why-curve")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^5 tokens before the query"))
    settle(root)
    before = curve.evaluate(PIXELS)
    slider.evaluate(SLIDE)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^7 tokens before the query"))
    changed = "([canvas, before]) => canvas.toDataURL() !== before"
    notebook.page.wait_for_function(changed, arg=[curve.element_handle(), before])
    assert notebook.value("why.distance") is None, "the kernel was asked"
    slider.focus()
    notebook.page.keyboard.press("ArrowLeft")
    notebook.wait_for_value("why.distance", 6)
    notebook.page.keyboard.press("Escape")
    notebook.wait_for_value("why.distance", None)
    root.get_by_role("combobox", name="against").select_option(index=2)
    notebook.wait_for_value("why.explanation.versus == why.versus", True)

    root.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []
    assert overflowing(root) == []
    # A head of a later layer: the key of a model with learned positions cannot be moved alone.
    notebook.run_in_kernel("view.selected = [(1, 3)]")
    expect(root).to_contain_text("ask for layer 0")
    expect(slider).to_have_count(0)


@pytest.mark.slow
def test_a_page_moves_the_key_without_a_kernel_and_says_that_it_holds_one_link(
    seen: Watched, tmp_path: Path
) -> None:
    attention = load_model(device="cpu").attend("The captain told his men that he was old.")
    view = LinkView(attention, 0, 3, query=7, key=2)
    grid = HeadGrid(attention)
    link_figures(view, grid)
    write_linked(Page(page_of(grid).parts | page_of(view).parts), tmp_path / "link.html")
    for widget in (view, grid):
        widget.close()
    seen.page.goto((tmp_path / "link.html").as_uri())
    root = seen.page.locator(".attnw-why-root")
    slider = root.get_by_role("slider")
    slider.focus()
    seen.page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^6 tokens before the query"))
    expect(root.locator(".attnw-why-held")).to_be_hidden()
    GridOnPage(seen.page.locator("section[data-figure=head_grid]")).click(2, 1)
    expect(root).to_contain_text("This page holds one link, L0 H3")
