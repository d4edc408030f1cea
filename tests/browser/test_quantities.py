"""Weights, norms and gradients in the same grid and view, switched on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from attnwidget import load_model, save_page
from browser.figures import LINKED, SETUP, GridOnPage, open_menu
from browser.notebook import OpenNotebook
from browser.pages import Watched

pytestmark = pytest.mark.browser

TEXT = "The captain told his men that he would not leave the ship."


@pytest.mark.slow
def test_the_page_switches_the_quantity_of_grid_and_view(in_lab: OpenNotebook) -> None:
    with_loss = SETUP.replace('ship.")', "ship.\", loss='auto')")
    notebook = in_lab([with_loss + LINKED, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid, view = (notebook.output(cell).locator(".attnw-root") for cell in (1, 2))
    GridOnPage(grid)
    for quantity, symbol in (("norms", "‖a·f(x)‖"), ("gradients", "|∂L/∂a|")):
        open_menu(grid).get_by_role("combobox", name="quantity").select_option(quantity)
        notebook.wait_for_value("(grid.quantity, view.quantity)", (quantity, quantity))
        expect(view.locator(".attnw-title")).to_contain_text(quantity)
        for root in (grid, view):
            expect(root).to_contain_text(symbol)
            expect(root).to_contain_text("rows do not sum to 1")
        notebook.wait_for_value("grid._thumbnails['quantity']", quantity)
    open_menu(view).get_by_role("combobox", name="quantity").select_option("weights")
    notebook.wait_for_value("grid._thumbnails['quantity']", "weights")
    expect(grid).not_to_contain_text("rows do not sum to 1")


@pytest.mark.slow
def test_a_standalone_page_shows_the_chosen_quantity(seen: Watched, tmp_path: Path) -> None:
    attention = load_model(device="cpu").attend(TEXT)
    page = save_page(attention, tmp_path / "norms.html", quantity="norms", selected=[(1, 2)])
    seen.page.goto(page.as_uri())
    expect(seen.page.locator(".attnw-title")).to_have_text("L1 H2: norms between tokens")
    roots = seen.page.locator(".attnw-root")
    expect(roots).to_have_count(2)
    for root in roots.all():
        expect(root).to_contain_text("rows do not sum to 1")
        menu = open_menu(root)
        expect(menu.get_by_role("combobox", name="scale")).to_be_visible()
        quantity = menu.get_by_role("combobox", name="quantity")
        expect(quantity).to_be_disabled()
        expect(quantity).to_have_value("norms")
        expect(menu).to_contain_text("Other values need a notebook")
