"""CoreferenceView, linked with a HeadGrid, live in JupyterLab."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from attnwidget import CoreferenceView, Document, load_model
from attnwidget.words import probe_coreference
from browser.axe import AXE, complaints
from browser.figures import SETUP
from browser.notebook import LiveNotebook, OpenNotebook
from browser.parity import Desk, assert_all_alike

pytestmark = pytest.mark.browser

# Mentions in brackets, the first with its cluster: nested twice, and one mentioned once.
FIGURES = """
from attnwidget.words.coreference import probe_coreference
from attnwidget.text.mentions import Document
from attnwidget.widgets.coreference_view.widget import CoreferenceView
def read(text, name):
    words, spans, opened = [], [], []
    for item in text.split():
        if item.startswith("["):
            opened.append((len(words), item[1:]))
        elif item == "]":
            start, cluster = opened.pop()
            spans.append((start, len(words) - 1, cluster))
        else:
            words.append(item)
    return Document.from_spans(words, spans, name=name)
captain = read(
    "[a The old captain ] told [b [a his ] men ] that [a he ] would not leave [c the ship ] , "
    "though [d the storm that had broken [e [c its ] mast ] ] was far from over . [b They ] knew "
    "[a him ] well : when [a he ] had made up [f [a his ] mind ] , [g nobody ] could change "
    "[f it ] , and [b the men of [c the ship ] ] did not try . [d It ] raged on .",
    "the captain",
)
girls = read("[a The girls ] saw [b a dog ] . [a They ] fed [b it ] .", "the girls")
found = probe_coreference(model, [captain, girls], progress=False)
grid = HeadGrid(attention)
view = CoreferenceView(found)
both = link_figures(view, grid)
"""
CHOSEN = "[data-marks~=right], [data-marks~=wrong]"
PRINTED = "print('asked', view.mention, view.head)"


PROSE = "She told AVa that the old ship , which she had left , would not sail To Tyre . "


@pytest.mark.slow
@pytest.mark.parametrize("length", [6, 120, 500])
def test_a_text_is_saved_as_it_is_seen(desk: Desk, length: int) -> None:
    words = f"Ann knew that {PROSE * 40}".split()[:length]
    people = [i for i, word in enumerate(words) if word.lower() in ("ann", "she")]
    spans = [*[(i, i, "ann") for i in people], (2, 5, "all"), (3, 5, "rest")]
    document = Document.from_spans(words, spans)
    found = probe_coreference(load_model(), [document], windows="all", progress=False)
    view = CoreferenceView(found)
    assert_all_alike(desk, view)


def opened(in_lab: OpenNotebook) -> LiveNotebook:
    notebook = in_lab([SETUP + FIGURES, "view", PRINTED])
    notebook.run_cell(0)
    notebook.run_cell(1)
    expect(figure(notebook).locator("[data-word]")).to_have_count(59)
    return notebook


def figure(notebook: LiveNotebook) -> Locator:
    return notebook.output(1).locator(".attnw-root")


@pytest.mark.slow
def test_a_click_on_a_mention_shows_what_is_chosen(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    view = figure(notebook)
    view.locator("[data-word='7']").click()
    notebook.wait_for_value("view.evaluated.antecedents", (0, 1))
    readout = view.locator(".attnw-coref-readout")
    expect(readout).to_contain_text("he (cluster 1, word 7), pronoun")
    row = notebook.value("[one.mention for one in found.evaluated].index(view.mention)")
    word = notebook.value(f"found.chosen[({row}, 0, *view.head[:2])].item()")
    expect(readout).to_contain_text(f"(word {word}) with weight")
    expect(view.locator(CHOSEN)).to_have_count(1)
    expect(view.locator("[data-marks~=antecedent]")).to_have_count(4)
    # "his", then "his men" around it.
    view.locator("[data-word='4']").click()
    expect(readout).to_contain_text("his (cluster 1, word 4), pronoun")
    view.locator("[data-word='4']").click()
    expect(readout).to_contain_text("his men (cluster 2, word 4), nominal")
    notebook.wait_for_value("view.mention", 2)
    notebook.run_cell(2)
    expect(notebook.output(2)).to_contain_text("asked 2 ")
    notebook.run_in_kernel("grid.selected = [(3, 5)]")
    expect(view.locator(".attnw-coref-title")).to_contain_text("L3 H5 ·")


@pytest.mark.slow
def test_the_keyboard_alone_does_the_same(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    view = figure(notebook)
    press = notebook.page.keyboard.press
    view.get_by_role("combobox").focus()
    press("Tab")
    press("Tab")
    press("Home")
    press("ArrowDown")
    press("ArrowDown")
    expect(view.locator("[aria-live]")).to_contain_text("he (cluster 1, word 7)")
    press("Enter")
    notebook.wait_for_value("view.evaluated.antecedents", (0, 1))
    press("Escape")
    notebook.wait_for_value("view.mention", None)
    press("w")
    notebook.wait_for_value("view.mention is None", False)
    expect(view.locator("[data-marks~=wrong]")).to_have_count(1)
    press("PageDown")
    expect(view.locator("[data-word]")).to_have_count(10)
    notebook.wait_for_value("(view.document, view.mention)", (1, None))
    press("v")
    notebook.wait_for_value("view.variant", "mentions")
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 3, "a key reached the notebook"


@pytest.mark.slow
def test_all_text_is_within_the_figure(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    for width in (1200, 480):
        assert_all_text_is_within(figure(notebook), width)


def assert_all_text_is_within(view: Locator, width: int) -> None:
    view.evaluate("(root, width) => { root.style.width = `${width}px` }", width)
    # The page lays the figure out again in a frame of its own, some time after it has the width.
    view.page.wait_for_function(
        """(root) => {
          const frame = root.getBoundingClientRect();
          const parts = [...root.querySelectorAll("[data-word], button, dd, p")];
          const cut = parts.some((node) => {
            const at = node.getBoundingClientRect();
            const isOut = at.left < frame.left || at.right > frame.right;
            return isOut && node.checkVisibility();
          });
          return !cut && root.scrollWidth <= root.clientWidth;
        }""",
        arg=view.element_handle(),
    )


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    view = figure(notebook)
    view.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(view).to_have_attribute("data-theme", theme)
        for outcome in ("right", "wrong"):
            view.get_by_role("button", name=f"next mention for which the head is {outcome}").click()
            expect(view.locator(f"[data-marks~={outcome}]")).to_have_count(1)
            assert complaints(notebook.page) == []
