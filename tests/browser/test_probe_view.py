"""A trained probe's answers, linked with a HeadGrid, live in JupyterLab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browser.axe import AXE, complaints
from browser.figures import SETUP
from browser.notebook import OpenNotebook
from browser.overflow import overflowing
from browser.settled import settle

pytestmark = pytest.mark.browser

PROBE = """
from attnwidget import ProbeView
from attnwidget.demo import demo_treebank
from attnwidget.probes import train_dependency_probe
sentences = demo_treebank()[:34]
options = {"seeds": 1, "epochs": 3, "progress": False}
probe = train_dependency_probe(model, sentences[:30], sentences[30:], **options)
view = ProbeView(probe, sentences[30:], sentence=1)
grid = HeadGrid(attention)
both = link_figures(view, grid)
"""


@pytest.mark.slow
def test_an_arc_leads_to_heads_the_grid_and_the_next_cell(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + PROBE, "view", "grid", "print('chosen', *grid.selected)"])
    for cell in range(3):
        notebook.run_cell(cell)
    page = notebook.page
    output = notebook.output(1)
    on_grid = notebook.output(2)
    root = output.locator(".attnw-root")
    words = root.get_by_role("listbox").get_by_role("option")
    expect(words).to_have_count(notebook.value("len(sentences[31])"))
    expect(root.locator(".attnw-arcs-hint").first).to_contain_text("the heads behind its governor")
    expect(root.get_by_role("combobox", name="direction")).to_have_count(0)
    expect(root).not_to_contain_text("Select a head")

    words.nth(2).click()
    notebook.wait_for_value("view.word", 2)
    readout = root.locator(".attnw-arcs-readout")
    expect(readout).to_contain_text("of all heads, most by L")
    strongest = notebook.value("str(view.selected[-1])")
    expect(on_grid.locator("[data-caption]")).to_contain_text(strongest)
    notebook.run_cell(3)
    expect(notebook.output(3)).to_contain_text(f"chosen {notebook.value('str(grid.selected[0])')}")

    # The keyboard alone: another word, let go, the next sentence.
    root.get_by_role("listbox").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    notebook.wait_for_value("view.word", 0)
    page.keyboard.press("Escape")
    notebook.wait_for_value("view.word", None)
    page.keyboard.press("PageDown")
    notebook.wait_for_value("view.sentence", 2)
    expect(words).to_have_count(notebook.value("len(sentences[32])"))

    # Without a head: it is the probe that is right or wrong.
    page.keyboard.press("w")
    notebook.wait_for_value("view._jumped.get('found')", True)
    expect(root.locator(".attnw-arcs-busy")).to_have_count(0)

    # From a cell.
    notebook.run_in_kernel("view.word = 1")
    expect(readout).to_contain_text("of all heads, most by L")
    assert overflowing(root) == []
    if AXE.is_file():
        for theme in ("dark", "light"):
            notebook.use_theme(theme)
            expect(root).to_have_attribute("data-theme", theme)
            assert complaints(page) == []


STRUCTURE = """
from attnwidget import ProbeView
from attnwidget.demo import demo_treebank
from attnwidget.probes import train_structural_probe
trees = demo_treebank()[:34]
given = {"layers": [1, 2], "rank": 8, "epochs": 2, "progress": False}
probe = train_structural_probe(model, trees[:30], trees[30:], **given)
view = ProbeView(probe, trees[30:], sentence=1, layer=2)
grid = HeadGrid(attention)
both = link_figures(view, grid)
"""


@pytest.mark.slow
def test_words_and_matrices_of_a_structural_probe_are_linked(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + STRUCTURE, "view"])
    for cell in range(2):
        notebook.run_cell(cell)
    page = notebook.page
    root = notebook.output(1).locator(".attnw-root")
    words = root.get_by_role("listbox").get_by_role("option")
    readout = root.locator(".attnw-arcs-readout")
    title = root.locator(".attnw-arcs-title")
    canvas = root.locator(".attnw-arcs-matrices .attnw-drawn canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("predicted distances between"))
    expect(title).to_contain_text("structural probe · layer 2")
    expect(root.get_by_text("probability from")).to_be_hidden()
    settle(page)
    alone = canvas.screenshot()

    # A word marks its row and column, a cell its word.
    words.nth(2).click()
    notebook.wait_for_value("view.word", 2)
    expect(readout).to_contain_text("predicted (annotated) distances:")
    page.mouse.move(1, 1)
    settle(page)
    assert canvas.screenshot() != alone
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] - 12, "y": 20 + 6})
    notebook.wait_for_value("view.word", 0)
    expect(root.get_by_role("listbox").get_by_role("option", selected=True)).to_have_count(1)

    # By keys alone: two words, the other layer, which the linked grid steps to as well.
    root.get_by_role("listbox").focus()
    page.keyboard.press("End")
    expect(readout).to_contain_text(" apart, predicted ")
    page.keyboard.press("Escape")
    notebook.wait_for_value("view.word", None)
    page.keyboard.press("[")
    notebook.wait_for_value("view.layer", 1)
    expect(title).to_contain_text("layer 1")
    assert notebook.value("grid.layer") == 1
    notebook.run_in_kernel("grid.layer = 5")
    expect(root).to_contain_text("layer must be 1 or 2, got 5")
    notebook.run_in_kernel("grid.layer = 2")
    expect(title).to_contain_text("layer 2")

    assert overflowing(root) == []
    if AXE.is_file():
        for theme in ("dark", "light"):
            notebook.use_theme(theme)
            expect(root).to_have_attribute("data-theme", theme)
            assert complaints(page) == []
