"""RelationTable and DependencyArcs, linked with a HeadGrid, live in JupyterLab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from browser.axe import AXE, complaints
from browser.figures import SETUP, GridOnPage
from browser.notebook import LiveNotebook, OpenNotebook
from browser.settled import settle

pytestmark = pytest.mark.browser

# A sentence of 5 words, one of 7, and one of 60: the first joined by "and" eight times over.
FIGURES = """
from attnwidget.words.relations import probe_relations
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.relation_table import RelationTable
words, governors = ["The", "cat", "saw", "a", "bird"], [2, 3, 0, 5, 3]
relations = ["det", "nsubj", "root", "det", "obj"]
five = Sentence.from_lists(words, governors, relations)
mat = Sentence.from_lists(
    ["The", "old", "cat", "sat", "on", "my", "mat"], [3, 3, 4, 0, 7, 7, 4],
    ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
)
long_words, long_governors, long_relations = [], [], []
for i in range(10):
    start = len(long_words)
    long_words += ["and", *words] if i else ["Then", *words]
    long_governors += [start + 4, *(g + start + 1 if g else 4 if i else 0 for g in governors)]
    last = "conj" if i else "root"
    long_relations += ["cc" if i else "advmod", *relations[:2], last, *relations[3:]]
sixty = Sentence.from_lists(long_words, long_governors, long_relations)
sentences = [five, mat, sixty]
found = probe_relations(model, sentences, progress=False)
grid = HeadGrid(attention)
table = RelationTable(found, min_count=1)
arcs = DependencyArcs(model, sentences)
links = link_figures(table, grid), link_figures(table, arcs)
"""
PRINTED = "print('chosen', table.relation, arcs.relation, grid.head, arcs.head, arcs.direction)"
BEST = "[tuple(r)[1:] for r in table.to_frame()[['relation', 'layer', 'head']].values.tolist()" + (
    " if r[0] == {!r}][0]"
)


def words(root: Locator) -> Locator:
    """The words of the sentence that the arcs show."""
    return root.get_by_role("listbox").get_by_role("option")


def opened(in_lab: OpenNotebook) -> LiveNotebook:
    notebook = in_lab([SETUP + FIGURES, "table", "arcs", "grid", PRINTED])
    for cell in range(4):
        notebook.run_cell(cell)
    GridOnPage(notebook.output(3))
    expect(words(notebook.output(2))).to_have_count(5)
    return notebook


def assert_chosen(notebook: LiveNotebook, relation: str) -> None:
    """The relation and its best head are chosen everywhere, and the next cell prints them."""
    best = notebook.value(BEST.format(relation))
    notebook.wait_for_value(
        "(table.relation, arcs.relation, tuple(grid.head)[:2], tuple(arcs.head)[:2])",
        (relation, relation, best, best),
    )
    notebook.run_cell(4)
    name = f"L{best[0]} H{best[1]}"
    expect(notebook.output(4)).to_contain_text(f"chosen {relation} {relation} {name} {name}")
    arcs = notebook.output(2).locator(".attnw-root")
    expect(arcs.locator(".attnw-arcs-title")).to_contain_text(f"{name} ·")
    expect(arcs.locator(".attnw-arcs-title")).to_contain_text(f"· {relation} ·")
    labels = arcs.locator(".attnw-arcs-above text")
    expect(labels.first).to_have_text(relation)
    settle(arcs)
    assert set(labels.all_text_contents()) == {relation}


@pytest.mark.slow
def test_a_row_selects_its_head_in_grid_arcs_kernel_and_next_cell(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    table = notebook.output(1).get_by_role("table")
    table.get_by_role("row", name=re.compile("^det ")).click()
    assert_chosen(notebook, "det")
    expect(notebook.output(2).locator(".attnw-arcs-below g")).to_have_count(2)
    expect(table.get_by_role("button", name="det")).to_have_attribute("aria-pressed", "true")
    # A cell of the map selects another head, and the grid steps to its layer.
    heat = notebook.output(1).get_by_role("grid")
    heat.locator("canvas").click(position={"x": 40, "y": 30})
    notebook.wait_for_value("tuple(grid.head)", (0, 0, "self"))
    notebook.run_in_kernel("table.choose('obj')")
    assert_chosen(notebook, "obj")


@pytest.mark.slow
def test_the_keyboard_alone_does_the_same(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    press = notebook.page.keyboard.press
    notebook.output(1).get_by_role("spinbutton").focus()
    for _ in range(12):
        press("Tab")
        if notebook.page.evaluate("document.activeElement.matches('tbody button')"):
            break
    press("ArrowDown")
    press("ArrowDown")
    name = notebook.page.evaluate("document.activeElement.textContent")
    press("Enter")
    assert_chosen(notebook, name)
    # On to the map, and in it to the next head.
    notebook.output(1).get_by_role("combobox", name="direction").focus()
    press("Tab")
    before = notebook.value("tuple(table.head)")
    press("ArrowDown" if before[0] < 5 else "ArrowUp")
    press("Enter")
    step = 1 if before[0] < 5 else -1
    notebook.wait_for_value("tuple(arcs.head)", (before[0] + step, *before[1:]))
    notebook.output(2).get_by_role("listbox").focus()
    press("End")
    expect(notebook.output(2).locator("[aria-live]")).to_contain_text("bird: obj of saw")
    press("PageDown")
    expect(words(notebook.output(2))).to_have_count(7)
    press("d")
    notebook.wait_for_value("table.direction == arcs.direction", True)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 5, "a key reached the notebook"


@pytest.mark.slow
def test_jumps_go_to_sentences_on_which_the_head_is_wrong(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    notebook.run_in_kernel("table.relation = 'all'; table.selected = [(0, 0)]")
    arcs = notebook.output(2).locator(".attnw-root")
    arcs.get_by_role("button", name="next sentence on which the head is wrong").click()
    notebook.wait_for_value("arcs.sentence", 1)
    expect(words(arcs)).to_have_count(7)
    expect(arcs.locator(".attnw-arcs-below .attnw-wrong").first).to_be_attached()
    arcs.get_by_role("button", name="previous sentence on which the head is wrong").click()
    notebook.wait_for_value("arcs.sentence", 0)


def hidden_parts(arcs: Locator) -> list[str]:
    """Words and labels that cannot be brought into sight by scrolling in the figure."""
    settle(arcs)
    return arcs.evaluate(
        """(root) => {
          const box = root.querySelector(".attnw-arcs-scroll");
          const frame = box.getBoundingClientRect();
          return [...box.querySelectorAll("[data-word], text, path")]
            .filter((node) => {
              const at = node.getBoundingClientRect();
              const left = at.left - frame.left + box.scrollLeft;
              const cut = at.top < frame.top - 1 || at.bottom > frame.bottom + 1;
              return cut || left < -1 || left + at.width > box.scrollWidth + 1;
            })
            .map((node) => node.textContent || node.getAttribute("d"));
        }"""
    )


@pytest.mark.slow
def test_nothing_of_a_table_or_a_long_sentence_is_cut(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    # Room for the widest figure beside what JupyterLab has at the left.
    notebook.page.set_viewport_size({"width": 1800, "height": 1400})
    for width in (1200, 480, 416, 320):
        assert_nothing_is_cut(notebook, width)


def assert_nothing_is_cut(notebook: LiveNotebook, width: int) -> None:
    table, arcs = (notebook.output(cell).locator(".attnw-root") for cell in (1, 2))
    for root in (table, arcs):
        root.evaluate("(root, width) => { root.style.width = `${width}px` }", width)
    settle(table)
    box = table.locator(".attnw-rel-box")
    rows = table.locator("tbody tr").count()
    expect(table.locator(".attnw-rel-interval")).to_have_count(rows if width >= 432 else 0)
    for sentence, count in [(0, 5), (2, 60)]:
        notebook.run_in_kernel(f"arcs.selected = [(2, 1)]; arcs.sentence = {sentence}")
        expect(words(arcs)).to_have_count(count)
        expect(arcs.locator(".attnw-arcs-below g")).to_have_count(count - 1)
        assert hidden_parts(arcs) == []
        last = words(arcs).last
        # Focus brings the figure into sight, where it is new.
        arcs.get_by_role("listbox").blur()
        arcs.get_by_role("listbox").focus()
        notebook.page.keyboard.press("End")
        expect(last).to_be_in_viewport(ratio=1)
        settle(arcs)
        # The figure scrolls, not what is round it.
        assert arcs.evaluate("(root) => root.scrollWidth <= root.clientWidth")
    assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "a column is cut"


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    notebook = opened(in_lab)
    notebook.run_in_kernel("table.choose('det'); arcs.sentence = 2")
    roots = notebook.page.locator(".attnw-root")
    expect(words(roots.nth(1))).to_have_count(60)
    roots.nth(1).get_by_text("table of arcs").click()
    for index in range(2):
        roots.nth(index).get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        for index in range(2):
            expect(roots.nth(index)).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []
