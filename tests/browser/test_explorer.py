"""The explorer, live in JupyterLab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.figures import GridOnPage
from browser.notebook import LiveNotebook, OpenNotebook
from browser.settled import settle

pytestmark = pytest.mark.browser


SETUP = """
from attnwidget import load_model
from attnwidget.widgets.explorer.explore import explore
from attnwidget.widgets.explorer.widget import Explorer
model = load_model()
"""
SHOWN = "explorer = explore(model)\nexplorer"
NEW = "She put the old book on the small table ."
PIXELS = """(root) => [...root.querySelectorAll(
  "canvas.attnw-grid, .attnw-view-root .attnw-lines, .attnw-map",
)].map((canvas) => canvas.toDataURL())"""


def opened(in_lab: OpenNotebook, *cells: str) -> LiveNotebook:
    notebook = in_lab([SETUP, SHOWN, *cells])
    notebook.page.set_viewport_size({"width": 1700, "height": 2600})
    notebook.run_cell(0)
    notebook.run_cell(1)
    notebook.run_in_kernel("explorer.wait()")
    open_tab(notebook, "arcs")
    expect(panel(notebook, "arcs").locator(".attnw-arcs-stage")).to_be_visible()
    return notebook


def open_tab(notebook: LiveNotebook, name: str, cell: int = 1) -> None:
    tab = root_of(notebook, cell).get_by_role("tab", name=name)
    settle(notebook.page)
    if not tab.is_visible():
        row = root_of(notebook, cell).locator(".attnw-ex-bottom")
        row.get_by_role("button", name="more").click()
    tab.click()


def root_of(notebook: LiveNotebook, cell: int = 1) -> Locator:
    return notebook.output(cell).locator(".attnw-ex-root")


def panel(notebook: LiveNotebook, name: str, cell: int = 1) -> Locator:
    return root_of(notebook, cell).locator(f'[data-panel="{name}"]')


def text_box(notebook: LiveNotebook) -> Locator:
    """The box of the text, open."""
    area = root_of(notebook).get_by_role("textbox", name="text")
    # A box that is about to close is still visible.
    settle(notebook.page)
    if not area.is_visible():
        root_of(notebook).get_by_role("button", name="edit the text").click()
    return area


def type_and_run(notebook: LiveNotebook, text: str) -> None:
    area = text_box(notebook)
    area.fill(text)
    area.press("Enter")


def brush(canvas: Locator) -> None:
    """Drag a rectangle over the middle of the map."""
    settle(canvas)
    box = canvas.bounding_box()
    assert box is not None
    mouse = canvas.page.mouse
    mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.25 * box["height"])
    mouse.down()
    mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.75 * box["height"], steps=5)
    mouse.up()


def test_type_step_pick_brush_save_and_run_the_code_in_a_new_kernel(
    in_lab: OpenNotebook, tmp_path: Path
) -> None:
    kept = tmp_path / "explorer.py"
    notebook = opened(in_lab, f"{SETUP}exec(open({str(kept)!r}).read())\nexplorer")
    type_and_run(notebook, NEW)
    notebook.wait_for_value("explorer.attention.tokens[1:4]", ["she", "put", "the"])
    expect(root_of(notebook).get_by_role("toolbar")).to_contain_text("table")
    # Another text opens on what stands out in it.
    layer, head, stack = notebook.value(f"tuple(explore(model, {NEW!r}).head)")
    notebook.wait_for_value("tuple(explorer.view.head)", (layer, head, stack))
    # Step the layers, each time to the strongest head for the kept word.
    edit = root_of(notebook).get_by_role("button", name="edit the text")
    edit.press("]")
    edit.press("]")
    notebook.wait_for_value("explorer.view.head.layer", layer + 2)
    # A relation: its best head everywhere, and a sentence that has it.
    open_tab(notebook, "relations")
    table = panel(notebook, "table").get_by_role("table")
    table.get_by_role("row", name=re.compile("^obj ")).click()
    notebook.wait_for_value("explorer.arcs.relation", "obj")
    best = notebook.value("tuple(explorer.head)")
    assert notebook.value("tuple(explorer.grid.head)") == best
    expect(panel(notebook, "view")).to_contain_text(f"L{best[0]} H{best[1]}")
    open_tab(notebook, "arcs")
    labels = panel(notebook, "arcs").locator(".attnw-arcs-above text")
    expect(labels.first).to_have_text("obj")
    # Brushed heads are selected in the grid.
    notebook.run_in_kernel("explorer.wait()")
    open_tab(notebook, "map of heads")
    expect(panel(notebook, "head_scatter").locator("canvas.attnw-map")).to_be_visible()
    brush(panel(notebook, "head_scatter").locator("canvas.attnw-map"))
    notebook.wait_for_value("len(explorer.grid.selected) > 3", True)
    brushed = notebook.value("[tuple(head) for head in explorer.grid.selected]")
    assert notebook.value("[tuple(head) for head in explorer.head_scatter.selected]") == brushed
    # Save the figure, and the code.
    picture = tmp_path / "explorer.svg"
    notebook.run_in_kernel(f"explorer.save({str(picture)!r})")
    assert "small" in picture.read_text("utf-8")
    notebook.run_in_kernel("explorer.grid.metric = 'entropy'; explorer.wait()")
    kept.write_text(notebook.value("str(explorer.code())"))
    notebook.page.mouse.move(5, 5)
    settle(notebook.page)
    before = root_of(notebook).evaluate(PIXELS)
    notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    expect(notebook.page.locator(".attnw-root")).to_have_count(0)
    notebook.restart_kernel()
    notebook.run_cell(2)
    expect(panel(notebook, "head_scatter", 2).locator("canvas.attnw-map")).to_be_visible()
    notebook.run_in_kernel("explorer.wait()")
    assert notebook.value("str(explorer.code())") == kept.read_text()
    same = f"([root, before]) => JSON.stringify(({PIXELS})(root)) === JSON.stringify(before)"
    again = root_of(notebook, 2).element_handle()
    notebook.page.wait_for_function(same, arg=[again, before])


@pytest.mark.slow
def test_twenty_texts_leave_nothing_behind(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    living = "len(__import__('ipywidgets').widgets.widget._instances)"
    settle(notebook.page)
    before = notebook.value(living)
    shown = root_of(notebook).locator(".attnw-root").count()
    for run in range(20):
        type_and_run(notebook, f"Run {run} of this text.")
        notebook.wait_for_value("explorer._shown['text']", f"Run {run} of this text.")
    notebook.run_in_kernel("explorer.wait()")
    expect(root_of(notebook).get_by_role("toolbar")).to_contain_text("19")
    assert notebook.value(living) == before
    expect(root_of(notebook).locator(".attnw-root")).to_have_count(shown)
    notebook.run_in_kernel("explorer.close()")
    expect(notebook.page.locator(".attnw-root")).to_have_count(0)


@pytest.mark.slow
def test_a_text_too_long_says_so_and_leaves_the_picture(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    type_and_run(notebook, "word " * 600)
    alert = root_of(notebook).locator(".attnw-ex > [role=alert]")
    expect(alert).to_contain_text("602 tokens")
    expect(panel(notebook, "grid").locator("canvas.attnw-grid")).to_be_visible()
    type_and_run(notebook, NEW)
    expect(alert).to_be_hidden()
    expect(root_of(notebook).get_by_role("toolbar")).to_contain_text("table")


@pytest.mark.slow
def test_the_box_is_as_high_as_its_text_up_to_a_few_lines(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    area = text_box(notebook)
    heights = []
    for lines in (1, 2, 40, 1):
        area.fill("\n".join(["word"] * lines))
        settle(area)
        heights.append(area.evaluate("area => area.offsetHeight"))
    first, second, most, last = heights
    assert first == last < second < most == 70


@pytest.mark.slow
def test_panels_come_and_go_from_the_kernel(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    notebook.run_in_kernel("explorer.panels = ['view', 'arcs']")
    expect(panel(notebook, "arcs").locator(".attnw-arcs-stage")).to_be_visible()
    expect(panel(notebook, "grid").locator("canvas").first).to_be_hidden()
    notebook.run_in_kernel("explorer.panels = ['grid']")
    expect(root_of(notebook).get_by_role("tab")).to_have_count(0)
    expect(root_of(notebook).locator(".attnw-ex-title")).to_be_hidden()
    GridOnPage(root_of(notebook)).click(4, 2)
    notebook.wait_for_value("tuple(explorer.head)", (4, 2, "self"))
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2, "a key reached the notebook"
