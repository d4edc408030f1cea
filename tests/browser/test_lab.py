"""HeadGrid and HeadView, live in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.figures import LINKED, SETUP, GridOnPage, thumbnails
from browser.notebook import LiveNotebook, OpenNotebook

pytestmark = pytest.mark.browser

HEADS = [(0, 0), (3, 5), (5, 11)]
SAME_MAP = """
import numpy as np
head = view.selected[-1]
wire, values = view._tile, view._tile["values"]
sent = np.frombuffer(values["view"], values["dtype"]).reshape(values["shape"])[0]
own = attention.weights(head.layer, head.head)
print(wire["heads"] == [head] and np.array_equal(sent, own))
"""


def grid_of(notebook: LiveNotebook, cell: int) -> GridOnPage:
    return GridOnPage(notebook.output(cell))


@pytest.mark.slow
def test_grid_shows_the_bytes_that_the_kernel_computed(in_lab: OpenNotebook) -> None:
    notebook = in_lab([f"{SETUP}grid = HeadGrid(attention)\ngrid"])
    notebook.run_cell(0)
    grid = grid_of(notebook, 0)
    assert (grid.layout["rows"], grid.layout["cols"]) == (6, 12)
    for layer, head in HEADS:
        grid.assert_drawn(layer, head, notebook.value(thumbnails(layer, head)), "light")


def test_a_click_selects_and_the_linked_view_follows(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED, "grid", "view", "print('selected', grid.selected)"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid = grid_of(notebook, 1)
    view = notebook.output(2).locator(".attnw-root")
    expect(view).to_contain_text("L0 H0")
    grid.click(3, 5)
    notebook.wait_for_value("[tuple(head) for head in grid.selected]", [(3, 5, "self")])
    notebook.wait_for_value("[tuple(head) for head in view.selected]", [(3, 5, "self")])
    expect(view).to_contain_text("L3 H5")
    assert notebook.run_in_kernel(SAME_MAP).strip() == "True"
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text("selected [Head(layer=3, head=5, stack='self')]")


@pytest.mark.slow
def test_brackets_step_the_layer_of_both(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid = grid_of(notebook, 1)
    view = notebook.output(2).locator(".attnw-root")
    grid.click(3, 5)
    for key, layer in [("]", 4), ("[", 3), ("[", 2)]:
        notebook.page.keyboard.press(key)
        notebook.wait_for_value("tuple(grid.selected[-1])", (layer, 5, "self"))
        expect(view).to_contain_text(f"L{layer} H5")
        assert notebook.value("grid.layer, view.layer") == (layer, layer)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 3, "a key reached the notebook"


@pytest.mark.slow
def test_an_assignment_in_the_kernel_reaches_the_page(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED, "view"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    view = notebook.output(1).locator(".attnw-root")
    notebook.run_in_kernel("grid.selected = [(1, 7)]")
    expect(view).to_contain_text("L1 H7")
    notebook.run_in_kernel("view.layer = 4")
    expect(view).to_contain_text("L4 H7")
    assert notebook.run_in_kernel(SAME_MAP).strip() == "True"


@pytest.mark.slow
def test_the_theme_changes_on_the_live_page(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid = grid_of(notebook, 1)
    values = notebook.value(thumbnails(2, 4))
    roots = notebook.page.locator(".attnw-root")
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(roots.nth(0)).to_have_attribute("data-theme", theme)
        expect(roots.nth(1)).to_have_attribute("data-theme", theme)
        background = "rgb(17, 17, 17)" if theme == "dark" else "rgb(255, 255, 255)"
        expect(roots.nth(0)).to_have_css("background-color", background)
        grid.assert_drawn(2, 4, values, theme)


@pytest.mark.slow
def test_twenty_runs_of_a_cell_leave_one_widget(in_lab: OpenNotebook) -> None:
    again = "if 'grid' in globals(): grid.close()\ngrid = HeadGrid(attention)\ngrid"
    notebook = in_lab([SETUP, again])
    notebook.run_cell(0)
    notebook.run_cell(1)
    grid_of(notebook, 1)
    living = "len(__import__('ipywidgets').widgets.widget._instances)"
    before = notebook.value(living)
    for _ in range(20):
        notebook.run_cell(1)
    grid_of(notebook, 1)
    assert notebook.value(living) == before
    expect(notebook.page.locator(".attnw-root")).to_have_count(1)


@pytest.mark.slow
def test_a_widget_shown_twice_shares_its_state(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP, "grid = HeadGrid(attention)\ngrid", "grid", "grid.selected"])
    for cell in range(3):
        notebook.run_cell(cell)
    grid_of(notebook, 1).click(2, 2)
    roots = notebook.page.locator(".attnw-root")
    expect(roots).to_have_count(2)
    expect(roots.nth(1)).to_contain_text("layer 2 head 2 selected")
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text("Head(layer=2, head=2, stack='self')")


@pytest.mark.slow
def test_a_figure_whose_cell_runs_again_leaves_and_returns(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP, "grid = HeadGrid(attention)\ngrid", "first"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    grid_of(notebook, 1)
    notebook.run_in_kernel("first = grid")
    living = "len(__import__('ipywidgets').widgets.widget._instances)"
    before = notebook.value(living)
    for _ in range(5):
        notebook.run_cell(1)
    grid_of(notebook, 1)
    notebook.wait_for_value(living, before)
    assert notebook.value("first._is_suspended, grid._is_suspended") == (True, False)
    notebook.run_in_kernel("first.selected = [(2, 3)]")
    notebook.run_cell(2)
    returned = grid_of(notebook, 2)
    assert notebook.value("first._is_suspended") is False
    returned.click(3, 5)
    notebook.wait_for_value("tuple(first.selected[-1])", (3, 5, "self"))
    assert notebook.value("grid.selected") == []


@pytest.mark.slow
def test_an_update_replaces_a_figure_in_its_cell(in_lab: OpenNotebook) -> None:
    notebook = in_lab(
        [
            f"{SETUP}handle = display(HeadView(attention, 3, 5), display_id=True)",
            "handle.update(HeadView(attention, 2, 8))",
        ]
    )
    notebook.run_cell(0)
    shown = notebook.output(0).locator(".attnw-root:visible")
    expect(shown).to_contain_text("L3 H5")
    notebook.run_cell(1)
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("L2 H8")
    expect(notebook.output(1).locator(".jp-OutputArea-child")).to_have_count(0)
    notebook.run_cell(0)
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("L3 H5")
