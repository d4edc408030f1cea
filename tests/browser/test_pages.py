"""Pages of every figure, opened from the disk where every request is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, load_model
from attnwidget.text.coreference import Document
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.head_scatter import HeadScatter
from attnwidget.widgets.pages.write_page import write_page
from attnwidget.widgets.relation_table import RelationTable
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.coreference_results import CoreferenceAccuracies
from attnwidget.words.governors import GovernorPredictions, predict_governors
from attnwidget.words.relations import RelationAccuracies, probe_relations
from browser.axe import AXE, INJECT
from browser.figures import GridOnPage, inked, open_menu
from browser.pages import watched
from browser.settled import settle, wait_until

pytestmark = pytest.mark.browser

TEXT = "The captain told his men that he would not leave the ship."
HOSTILE = "</script><img src=x onerror=alert(1)>"
SENTENCES = [
    Sentence.from_lists(
        ["The", "old", "cat", "sat", "on", "my", "mat"],
        [3, 3, 4, 0, 7, 7, 4],
        ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
    ),
    Sentence.from_lists([HOSTILE, "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence.from_lists(
        ["The", "end", "of", "the", "day"],
        [2, 0, 5, 5, 2],
        ["det", "root", "case", "det", "nmod"],
    ),
]
DOCUMENTS = [
    Document.from_spans(
        ["The", "captain", "told", "his", "men", "that", "he", "would", "not", "leave", "."],
        [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")],
        name="captain",
    ),
    Document.from_spans(
        f"Mary said she saw her {HOSTILE} .".split(),
        [(0, 0, "mary"), (2, 2, "mary"), (4, 4, "mary")],
        name="mary",
    ),
]
EVERYTHING = """async () => {
  const { violations } = await window.axe.run(document);
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.fixture(scope="module")
def relations(model: AttentionModel) -> RelationAccuracies:
    return probe_relations(model, SENTENCES, progress=False)


@pytest.fixture(scope="module")
def coreference(model: AttentionModel) -> CoreferenceAccuracies:
    return probe_coreference(model, DOCUMENTS, progress=False)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """`opened(widget)` is its page, where anything but the file itself and its blobs is refused."""
    with watched(browser) as seen:
        refused: list[str] = []

        def gate(route: Route) -> None:
            if route.request.url.startswith(("file://", "blob:")):
                route.continue_()
            else:
                refused.append(route.request.url)
                route.abort()

        def open_page(widget: HeadWidget, **options: Any) -> Page:
            path = write_page(widget, tmp_path / "page.html", **options)
            widget.close()
            seen.page.goto(path.as_uri())
            expect(seen.page.locator(".attnw-root").first).to_be_visible()
            return seen.page

        seen.page.context.set_offline(True)
        seen.page.route("**/*", gate)
        yield open_page
        assert refused == []
        seen.assert_quiet()


def figure(page: Page, name: str) -> Locator:
    return page.locator(f'[data-figure="{name}"] .attnw-root')


@pytest.mark.slow
def test_a_grid_alone_selects_steps_and_sorts(attention: Attention, opened: Opened) -> None:
    strongest = attention.weights().max((-2, -1))
    page = opened(
        HeadGrid(attention, metrics={"strongest": strongest}, selected=[(0, 0)], hidden=[])
    )
    grid = GridOnPage(page.locator("body"))
    values = inked(attention, [])
    grid.assert_drawn(3, 5, values[3, 5].tolist(), "light")
    root = figure(page, "head_grid")
    grid.click(3, 5)
    expect(root.locator("[aria-live]")).to_have_text("layer 3 head 5 selected")
    page.keyboard.press("]")
    expect(root.get_by_role("slider", name="layer")).to_have_value("4")
    open_menu(root).get_by_role("combobox", name="unit").select_option("words")
    expect(root.locator(".attnw-grid-caption")).to_contain_text("words")
    root.get_by_role("combobox", name="metric").select_option("strongest")
    root.get_by_role("combobox", name="order").select_option("all")
    expect(root.locator(".attnw-grid-caption")).to_contain_text("bars: strongest")


def test_an_option_that_needs_a_computation_is_disabled_with_its_reason(
    attention: Attention, opened: Opened
) -> None:
    page = opened(HeadGrid(attention, selected=[(2, 1)], hidden=["sep"], disabled=[(3, 5)]))
    root = figure(page, "head_grid")
    reason = "Other values need a notebook: a saved page shows what was computed when it was saved."
    for name, is_hidden in (("[CLS]", False), ("[SEP]", True)):
        box = root.get_by_role("checkbox", name=name)
        expect(box).to_be_disabled()
        expect(box).to_be_checked(checked=is_hidden)
    expect(root.get_by_role("group", name="hide")).to_have_attribute("title", reason)
    difference = root.get_by_role("checkbox", name="difference from the intact model")
    expect(difference).to_be_disabled()
    menu = open_menu(root)
    expect(menu).to_contain_text(f"Fixed: hide, quantity, weight × keys. {reason}")
    for name in ("unit", "scale"):
        expect(menu.get_by_role("combobox", name=name)).to_be_enabled()
    expect(menu.get_by_role("checkbox", name="weight × keys")).to_be_disabled()
    # A key that would change a fixed option is answered with the reason, until the next change.
    root.get_by_role("grid").focus()
    page.keyboard.press("v")
    expect(root.get_by_role("alert")).to_have_text(reason)
    expect(difference).not_to_be_checked()
    page.keyboard.press("]")
    expect(root.get_by_role("alert")).to_be_hidden()


def test_hiding_tokens_in_a_view_is_drawing(attention: Attention, opened: Opened) -> None:
    page = opened(HeadView(attention, layer=1, head=2, mode="matrix", hidden=[]))
    view = figure(page, "head_view")
    view.get_by_role("checkbox", name="[SEP]").check()
    expect(view).to_contain_text("hidden: [SEP]")


@pytest.mark.slow
def test_a_view_alone_steps_through_the_layers(attention: Attention, opened: Opened) -> None:
    page = opened(HeadView(attention, layer=1, head=2, mode="matrix", tokens=[("query", 3)]))
    view = figure(page, "head_view")
    expect(view.locator(".attnw-title")).to_contain_text("L1 H2")
    view.get_by_role("button", name="matrix").focus()
    page.keyboard.press("]")
    expect(view.locator(".attnw-title")).to_contain_text("L2 H2")
    expect(view).not_to_contain_text("≈")
    assert not re.search(r"\bbits\b|[kM]B\b", page.inner_text("body"))
    page.get_by_text("about this page").click()
    expect(page.locator(".attnw-page-caption")).to_contain_text(" kB · needs no kernel")


def test_a_page_with_a_single_head_says_that_it_cannot_step(
    attention: Attention, opened: Opened
) -> None:
    page = opened(HeadView(attention, layer=1, head=2), limit_mb=0.22)
    view = figure(page, "head_view")
    expect(page.locator(".attnw-page-caption")).to_contain_text("holds only L1 H2")
    view.get_by_role("button", name="matrix").focus()
    page.keyboard.press("]")
    view.get_by_role("button", name="matrix").click()
    expect(view.get_by_role("button", name="matrix")).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".attnw-title")).to_contain_text("L1 H2")


def test_the_map_is_as_it_was(attention: Attention, opened: Opened) -> None:
    positions = np.stack(np.indices((6, 12))[::-1], axis=-1).astype(float)
    page = opened(HeadScatter.from_positions(positions, note="by number", selected=[(3, 5)]))
    expect(page.locator(".attnw-map-caption")).to_contain_text("by number")
    page.locator(".attnw-map-box").focus()
    page.keyboard.press("]")
    expect(page.locator("body")).to_contain_text("L4 H5")


def test_the_table_sorts_searches_and_chooses(
    relations: RelationAccuracies, opened: Opened
) -> None:
    page = opened(RelationTable(relations, min_count=1))
    table = figure(page, "relation_table")
    best = relations.best(1, skip=("root",)).set_index("relation")
    row = table.get_by_role("row").filter(has_text=re.compile(r"^det\d"))
    expect(row).to_contain_text(f"L{best.loc['det', 'layer']} H{best.loc['det', 'head']}")
    row.click()
    expect(table).to_contain_text("every head on det")
    head = best.loc["det"]
    share = f"{100 * head['accuracy']:.0f} % of 3 words"
    expect(table.locator(".attnw-rel-readout")).to_contain_text(share)
    table.get_by_role("spinbutton").fill("2")
    expect(table.get_by_role("row").filter(has_text=re.compile(r"^det\d"))).to_have_count(1)
    table.get_by_role("spinbutton").fill("2000")
    expect(table).to_contain_text("No relation is left")


@pytest.mark.slow
def test_arcs_go_from_sentence_to_sentence_and_read_words(
    model: AttentionModel, relations: RelationAccuracies, opened: Opened
) -> None:
    arcs = DependencyArcs(model, SENTENCES, relations, relation="det", selected=[(2, 8)])
    way = ("dependent to governor", "governor to dependent").index(arcs.direction)
    expected = [predict_governors(model, sentence) for sentence in SENTENCES]
    page = opened(arcs)
    root = figure(page, "dependency_arcs")
    title = root.locator(".attnw-arcs-title")
    own = relations.correct[2, 8, way, relations.relations.index("det")]
    expect(title).to_contain_text("L2 H8")
    expect(title).to_contain_text(f"{100 * own / 3:.0f} % of 3 in the treebank")
    root.get_by_role("button", name="next sentence", exact=True).click()
    expect(root).to_contain_text(HOSTILE)
    expect(page.locator("img")).to_have_count(0)
    root.get_by_role("combobox", name="relation").select_option("all")
    right = np.sum(expected[1].governors[2, 8, way] == np.array(SENTENCES[1].governors))
    expect(title).to_contain_text(f"right on {right} of 2 words here")
    # The weight behind a prediction is the kernel's, not a rounded one.
    root.locator("summary").click()
    fish = int(expected[1].governors[2, 8, way, 2])
    weight = float(expected[1].weights[2, 8, way, 2])
    line = root.locator("table tr", has_text="fish").filter(has_text="obj")
    expect(line).to_contain_text(f"{weight:.3g}")
    expect(line).to_contain_text(SENTENCES[1].words[fish - 1])
    root.get_by_role("combobox", name="relation").select_option("case")
    root.get_by_role("spinbutton").focus()
    fits = [i for i in (2, 0) if _is_right(expected[i], (2, 8, way), "case")]
    root.get_by_role("button", name="next sentence on which the head is right").click()
    if fits:
        expect(root.get_by_role("spinbutton")).to_have_value(str(fits[0]))
    else:
        expect(root).to_contain_text("No other sentence has such a word.")
    root.get_by_role("spinbutton").focus()
    page.keyboard.press("]")
    expect(title).to_contain_text("L3 H8")


def _is_right(predicted: GovernorPredictions, head: tuple[int, int, int], relation: str) -> bool:
    found = zip(
        predicted.governors[head],
        predicted.sentence.governors,
        predicted.sentence.relations,
        strict=True,
    )
    return any(own == true for own, true, label in found if label == relation)


def test_coreference_jumps_through_its_documents(
    coreference: CoreferenceAccuracies, opened: Opened
) -> None:
    view = CoreferenceView(coreference)
    layer, head = view.head[:2] if view.head else (0, 0)
    page = opened(view)
    root = figure(page, "coreference_view")
    own = coreference.correct[0, layer, head, 0]
    n = len(coreference.evaluated)
    expect(root.locator(".attnw-coref-title")).to_contain_text(f"{100 * own / n:.0f} % of {n}")
    root.locator("[data-word='6']").click()
    row = [one.mention for one in coreference.evaluated].index(3)
    word = int(coreference.chosen[row, 0, layer, head])
    readout = root.locator(".attnw-coref-readout")
    expect(readout).to_contain_text("he (cluster 1, word 6), pronoun")
    expect(readout).to_contain_text(f"(word {word}) with weight")
    root.get_by_role("spinbutton", name="document").fill("1")
    page.keyboard.press("Enter")
    expect(root.locator("[data-word]")).to_have_count(9)
    expect(root).to_contain_text("onerror=alert(1)>")
    expect(page.locator("img")).to_have_count(0)
    button = root.get_by_role("button", name="next mention for which the head is right")
    button.click()
    expect(root.locator("[data-marks~=right]")).to_have_count(1)


@pytest.fixture
def explorer(model: AttentionModel, relations: RelationAccuracies) -> Explorer:
    made = Explorer(model, TEXT, treebank=(relations, SENTENCES), atlas=False, selected=[(2, 1)])
    assert made.wait(120)
    return made


@pytest.mark.slow
def test_an_explorers_figures_follow_each_other(explorer: Explorer, opened: Opened) -> None:
    page = opened(explorer)
    root = page.locator(".attnw-ex-root")
    expect(root.locator(".attnw-ex-look")).to_contain_text("In L2 H1, “the” looks at")
    for name in ("textarea", "button.attnw-ex-edit", "button.attnw-ex-power"):
        expect(root.locator(f"{name}:visible")).to_have_count(0)
    expect(page.locator(".attnw-page-caption")).to_contain_text("the page has no model")
    grid = GridOnPage(root.locator('[data-panel="grid"]'))
    for layer, head in ((1, 3), (4, 0), (0, 2)):
        # A head that the pointer is on is read from the rounded maps of the page.
        x, y = grid.corner(layer, head)
        grid.canvas.hover(position={"x": x + 9, "y": y + 9})
        expect(root.locator(".attnw-ex-look")).to_contain_text(f"In L{layer} H{head}")
        expect(root.locator(".attnw-ex-title")).to_contain_text(f"L{layer} H{head}")
    page.mouse.move(0, 0)
    expect(root.locator(".attnw-ex-look")).to_contain_text("In L2 H1, “the” looks at")
    grid.click(3, 5)
    expect(root.locator(".attnw-ex-title")).to_contain_text("L3 H5")
    root.get_by_role("button", name="more").click()
    for name, says in (("map of heads", "L3 H5"), ("arcs", "L3 H5")):
        root.get_by_role("tab", name=name).click()
        expect(root.get_by_role("tabpanel", name=name)).to_contain_text(says)
    page.keyboard.press("]")
    # The head of layer 4 that looks most at one word from the locked "the".
    arcs = root.get_by_role("tabpanel", name="arcs")
    expect(arcs).to_contain_text("L4 H9")
    arcs.get_by_role("combobox", name="relation").select_option("obj")
    expect(arcs.get_by_role("spinbutton")).to_have_value("1")
    root.get_by_role("tab", name="relations").click()
    expect(root.get_by_role("tabpanel", name="relations")).to_contain_text("every head on obj")


# Targets that a finger may miss.
SMALL = """() => [...document.querySelectorAll("button, select, input, summary")].filter((node) => {
  const { width, height } = node.getBoundingClientRect();
  const label = node.closest("label")?.getBoundingClientRect();
  return height && Math.max(height, label?.height ?? 0) < 24 || width && width < 13;
}).map((node) => node.outerHTML.slice(0, 120))"""
# The scroll bar of the page takes some of its width.
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
# The lower edges of the two main figures and of the page, and the first cell's row of words.
EDGES = """() => [".attnw-ex-main", "html"].map((name) =>
  document.querySelector(name).getBoundingClientRect().bottom + scrollY)"""


def test_a_saved_explorer_fits_a_projector_and_a_phone(
    model: AttentionModel, browser: Browser, tmp_path: Path
) -> None:
    panels = ["grid", "view", "why"]
    made = Explorer(model, TEXT, panels=panels, atlas=False, treebank=False)
    assert made.wait(120)
    path = write_page(made, tmp_path / "page.html")
    made.close()
    with watched(browser, width=1280, height=720) as seen:
        seen.page.goto(path.as_uri())
        grid = GridOnPage(seen.page.locator("body"))
        assert seen.page.evaluate(EDGES)[0] < 720
        assert grid.layout["cell"] > 30
        seen.assert_quiet()
    with watched(browser, width=390, height=844, touch=True) as seen:
        seen.page.goto(path.as_uri())
        root = seen.page.locator(".attnw-ex-root")
        root.get_by_role("button", name="more").tap()
        expect(root.get_by_role("tabpanel", name="why")).to_be_visible()
        settle(root)
        assert seen.page.evaluate(SMALL) == []
        assert seen.page.evaluate(EDGES)[1] < 3000
        assert seen.page.evaluate(FITS)
        # The word of the story is locked: a tap makes a pair.
        expect(root.locator(".attnw-ex-left h4").first).to_contain_text("Where “he” looks in each")
        root.locator('[data-word="query-2"]').tap()
        expect(root.locator(".attnw-ex-left h4").first).to_contain_text("send “he” to “captain”")
        seen.assert_quiet()


# Every grid in sight has the cell that the keyboard is on, which drawing gives it.
DRAWN = """() => [...document.querySelectorAll("[role=grid] > .attnw-unseen")]
  .every((row) => row.firstElementChild || !row.parentElement.checkVisibility())"""


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_violations_on_the_whole_page(
    explorer: Explorer,
    coreference: CoreferenceAccuracies,
    browser: Browser,
    tmp_path: Path,
    theme: Any,
) -> None:
    paths = [
        write_page(explorer, tmp_path / "explorer.html", theme=theme),
        write_page(CoreferenceView(coreference), tmp_path / "c.html", theme=theme),
    ]
    explorer.close()
    with watched(browser) as seen:
        # What the theme is does not follow the reader where it was forced.
        seen.page.emulate_media(color_scheme="dark" if theme == "light" else "light")
        for path in paths:
            seen.page.goto(path.as_uri())
            roots = seen.page.locator(".attnw-root")
            expect(roots.last).to_have_attribute("data-theme", theme)
            seen.page.wait_for_function(DRAWN)
            for width in (480, 1200):
                seen.page.set_viewport_size({"width": width, "height": 1000})
                settle(seen.page)
                seen.page.evaluate(INJECT, AXE.read_text(encoding="utf-8"))
                assert seen.page.evaluate(EVERYTHING) == []
                scroll = "document.documentElement.scrollWidth - window.innerWidth"
                assert seen.page.evaluate(scroll) <= 0
        seen.assert_quiet()


def test_only_the_scripts_of_the_page_run(
    attention: Attention, browser: Browser, tmp_path: Path
) -> None:
    path = write_page(HeadView(attention), tmp_path / "page.html")
    page = path.read_text("utf-8")
    planted = "<img src=http://127.0.0.1:9/x onerror='document.title=1'><script>document.title=2"
    path.write_text(page.replace("</main>", f"{planted}</script></main>"), "utf-8")
    with watched(browser) as seen:
        seen.page.goto(path.as_uri())
        expect(seen.page.locator(".attnw-root")).to_be_visible()
        refused = "Content Security Policy"
        wait_until(
            seen.page, lambda: any(refused in error for error in seen.errors), "a refused script"
        )
        assert seen.page.title().startswith("Attention heads")
        assert seen.outside == []
