"""The menu "View" of a figure: by keyboard, by finger, at every width, and checked by axe."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from attnwidget import Attention, HeadGrid, HeadView, load_model
from browser.axe import AXE, complaints
from browser.figures import open_menu
from browser.overflow import overflowing
from browser.pages import Watched, watched

pytestmark = pytest.mark.browser

# By figure: the controls of its menu, each with the name under which it is read.
MENUS = {
    "head_view": ["unit", "scale"],
    "head_grid": ["unit", "scale", "weight × keys", "label of L1 H3"],
}
WIDTHS = (380, 750, 1070)
INSIDE = """(menu) => {
  const [inner, outer] = [menu, menu.closest(".attnw-root")].map((e) => e.getBoundingClientRect());
  return inner.left >= outer.left && inner.right <= outer.right + 0.5;
}"""
# Canvases that a menu covers.
COVERED = """(menu) => {
  const { left, right, top, bottom } = menu.getBoundingClientRect();
  return [...menu.closest(".attnw-root").querySelectorAll("canvas")].filter((canvas) => {
    const box = canvas.getBoundingClientRect();
    const isBeside = box.right <= left || box.left >= right;
    return box.width > 0 && !isBeside && box.bottom > top && box.top < bottom;
  }).map((canvas) => canvas.className);
}"""


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend("The captain told his men that he would not leave the ship.")


def page_of(name: str, attention: Attention, folder: Path) -> str:
    figures = {"head_view": HeadView, "head_grid": HeadGrid}
    figure = figures[name](attention, selected=[(1, 3)])
    return figure.save(folder / f"{name}.html").as_uri()


@pytest.mark.parametrize("name", MENUS)
def test_the_menu_is_inside_its_figure_and_has_no_faults(
    name: str, attention: Attention, seen: Watched, tmp_path: Path
) -> None:
    page = seen.page
    page.goto(page_of(name, attention, tmp_path))
    root = page.locator(".attnw-root")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        menu = open_menu(root)
        for control in MENUS[name]:
            expect(menu.get_by_label(control)).to_be_visible()
        assert overflowing(root) == [], width
        assert menu.evaluate(INSIDE), width
        assert menu.evaluate(COVERED) == [], width
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
    open_menu(root)
    for theme in ("light", "dark") if AXE.is_file() else ():
        page.emulate_media(color_scheme=theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(page) == [], theme


def test_the_keyboard_opens_changes_and_closes_the_menu(
    attention: Attention, seen: Watched, tmp_path: Path
) -> None:
    page = seen.page
    page.goto(page_of("head_view", attention, tmp_path))
    root = page.locator(".attnw-root")
    button = root.get_by_role("button", name="View")
    menu = root.get_by_role("group", name="View", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    page.keyboard.press("Tab")
    expect(menu.get_by_role("combobox", name="unit")).to_be_focused()
    page.keyboard.press("Tab")
    expect(menu.get_by_role("combobox", name="scale")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(root.locator(".attnw-title")).to_contain_text("relative scale (linear)")
    # Letters are keys of the figure, but not in its menu.
    page.keyboard.press("m")
    expect(root.get_by_role("button", name="lines")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    # The menu stays open while the figure that it changes is used.
    page.keyboard.press("Enter")
    menu.get_by_role("combobox").last.focus()
    page.keyboard.press("Tab")
    expect(menu).to_be_visible()


def test_a_finger_opens_changes_and_closes_the_menu(
    browser: Browser, attention: Attention, tmp_path: Path
) -> None:
    with watched(browser, width=380, height=900, touch=True) as seen:
        page = seen.page
        page.goto(page_of("head_view", attention, tmp_path))
        root = page.locator(".attnw-root")
        menu = root.get_by_role("group", name="View", exact=True)
        root.get_by_role("button", name="View").tap()
        menu.get_by_role("combobox", name="unit").select_option("words")
        expect(root.locator(".attnw-title")).to_contain_text("between words")
        expect(menu).to_be_visible()
        root.locator(".attnw-readout").tap()
        expect(menu).to_be_visible()
        root.get_by_role("button", name="View").tap()
        expect(menu).to_be_hidden()
        seen.assert_quiet()
