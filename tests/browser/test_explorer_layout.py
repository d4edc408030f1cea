"""How the explorer is laid out in JupyterLab, by its width: nothing cut, nothing that jumps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from browser.axe import AXE, complaints
from browser.figures import GridOnPage, open_menu
from browser.notebook import LiveNotebook
from browser.overflow import barely_scrolling, nested_scrolling, overflowing
from browser.pages import Watched
from browser.servers import Server
from browser.settled import settle

pytestmark = pytest.mark.browser
DETAILS = ("map of heads", "predictions", "why", "relations", "arcs")
CELLS = [
    """
from transformers import BertConfig, BertForMaskedLM
import numpy
from attnwidget import explore, load_model

def made(layers, heads):
    sizes = dict(vocab_size=8192, hidden_size=8 * heads, intermediate_size=16)
    config = BertConfig(num_hidden_layers=layers, num_attention_heads=heads, **sizes)
    return load_model(BertForMaskedLM(config).eval(), load_model().tokenizer, name="made")

explorer, given = None, ()
""",
    "if explorer: explorer.close()\nexplorer = explore(*given, atlas=False)\nexplorer",
]
# The class that says how the panels are arranged.
PLAN = """(root) => [...root.classList].filter((name) => /^attnw-ex-(one|two)$/.test(name))"""
# Controls in sight above the fold. The words of the sentence are one control with arrow keys, and
# so are the cells of all heads.
CONTROLS = """([root, fold]) => {
  const top = root.getBoundingClientRect().top;
  return [...root.querySelectorAll("button, select, input, textarea")].filter((node) => {
    const box = node.getBoundingClientRect();
    const isSeen = box.width > 0 && box.height > 0 && box.top - top < fold;
    return isSeen && !node.closest("[role=toolbar]");
  }).map((node) => node.textContent.trim().slice(0, 20) || node.ariaLabel);
}"""
# The caption of the picture in the second cell, once the picture has more than grid and view.
STORED = """() => {
  const [, cell] = window.jupyterapp.shell.currentWidget.content.widgets;
  const stored = cell.model.outputs.toJSON().find(({ metadata }) => metadata?.["image/png"]);
  const caption = stored?.metadata["image/png"].alt ?? "";
  return caption.includes("one head") && caption.includes("In L") && caption;
}"""
# Width of the window, and whether the file browser is open.
WINDOWS = [(480, False), (750, False), (900, False), (1070, True), (1200, True), (1600, False)]
# How far the last head is from the right edge of the panel.
GRID_EDGE = """(canvas) => {
  const { x0, cols, cell, gap } = JSON.parse(canvas.dataset.layout);
  const { left } = canvas.getBoundingClientRect();
  const box = canvas.closest(".attnw-ex-panel").getBoundingClientRect();
  return box.right - (left + x0 + cols * (cell + gap));
}"""
# A theme whose style sheets are exchanged while the figure is drawn: the page is narrow for less
# than a frame. The figure looks at its background when the page's body changes.
NARROW_WHILE_DRAWN = """async (root) => {
  root.style.width = "300px";
  root.parentElement.style.backgroundColor = "#111111";
  document.body.dataset.changed = "dark";
  await null;
  await new Promise((resolve) => requestAnimationFrame(() => {
    root.style.width = "";
    resolve();
  }));
}"""
AS_BEFORE = """(root) => {
  root.parentElement.style.backgroundColor = "";
  delete document.body.dataset.changed;
}"""


@pytest.fixture(scope="module")
def notebook(lab: Server, lab_page: Watched) -> Iterator[LiveNotebook]:
    """One kernel, which starts and reads the model once; each test has an explorer of its own."""
    lab_page.begin()
    live = LiveNotebook(lab_page.page, lab, "lab/tree", "explorer-layout", CELLS)
    live.run_cell(0)
    yield live
    live.close()


@pytest.fixture
def root(notebook: LiveNotebook, lab_page: Watched) -> Iterator[Locator]:
    """A new explorer, measured, in place of the one of the test before."""
    lab_page.begin()
    notebook.page.set_viewport_size({"width": 1900, "height": 1400})
    notebook.run_cell(1)
    shown = notebook.output(1).locator(".attnw-ex-root")
    expect(shown.get_by_role("toolbar")).to_be_visible()
    notebook.run_in_kernel("explorer.wait()")
    yield shown
    lab_page.assert_quiet()


def set_width(root: Locator, width: int) -> None:
    root.evaluate("(root, width) => { root.style.width = `${width}px` }", width)
    settle(root)


def height(root: Locator) -> float:
    box = root.bounding_box()
    assert box is not None
    return box["height"]


def open_more(root: Locator) -> None:
    more = root.locator(".attnw-ex-bottom").get_by_role("button", name="more")
    settle(root)
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    expect(root.get_by_role("tab").first).to_be_visible()


def open_tab(root: Locator, name: str) -> None:
    open_more(root)
    root.get_by_role("tab", name=name).click()
    expect(root.get_by_role("tabpanel", name=name)).to_be_visible()
    settle(root)


def set_window(notebook: LiveNotebook, width: int, sidebar: bool, height: int = 1400) -> None:
    notebook.page.set_viewport_size({"width": width, "height": height})
    notebook.show_sidebar(sidebar)
    settle(notebook.page)


def assert_fits(root: Locator, where: object) -> None:
    """Every text and control is in its panel, uncovered, and nothing scrolls in what scrolls."""
    for tab in root.get_by_role("tab").all():
        tab.click(trial=True)  # it fails where something else would get the click
    assert overflowing(root) == [], where
    assert nested_scrolling(root) == [], where
    assert barely_scrolling(root) == [], where
    assert root.evaluate("(root) => root.scrollWidth <= root.clientWidth"), where


@pytest.mark.slow
def test_the_picture_that_the_notebook_stores_has_the_measured_tab(
    notebook: LiveNotebook, root: Locator
) -> None:
    stored = notebook.page.wait_for_function(STORED).json_value()
    assert "panels: all heads, one head" in stored and "“he” looks at “captain”" in stored
    expect(notebook.output(1).locator("[data-kept]")).to_be_hidden()


@pytest.mark.slow
def test_a_label_is_typed_in_the_menu_and_shown_in_all_figures(
    notebook: LiveNotebook, root: Locator
) -> None:
    set_window(notebook, 1200, False)
    field = open_menu(root).get_by_role("textbox", name="label of L1 H3")
    field.fill("pronoun x")
    field.press("Enter")
    notebook.wait_for_value("dict(explorer.grid.labels)", {(1, 3, "self"): "pronoun x"})
    expect(root.locator(".attnw-ex-look")).to_contain_text("L1 H3 (“pronoun x”), “he” looks")
    expect(root.locator(".attnw-ex-title")).to_contain_text("“pronoun x”")
    expect(root.locator(".attnw-grid-caption")).to_contain_text("L1 H3 “pronoun x”")
    assert notebook.value("explorer.disabled") == [], "a letter was taken for a key of the figure"
    assert_fits(root, "with a label")
    for theme in ("dark", "light") if AXE.is_file() else ():
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == [], theme
    open_menu(root)
    field.fill("")
    field.press("Enter")
    notebook.wait_for_value("dict(explorer.labels)", {})
    expect(root.locator(".attnw-ex-look")).to_contain_text("In L1 H3, “he” looks")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "The cat sat.",
        "The cat sat on the mat, and the dog did too. " * 10,
    ],
)
def test_everything_fits_the_windows_that_people_have(
    notebook: LiveNotebook, root: Locator, text: str
) -> None:
    notebook.run_in_kernel(f"explorer.text = {text!r}; explorer.wait()")
    for width, sidebar in WINDOWS:
        where = width, sidebar
        set_window(notebook, width, sidebar)
        assert root.locator("canvas.attnw-grid").evaluate(GRID_EDGE) >= 0, where
        assert_fits(root, where)
        if width not in (480, 1200):
            continue
        for name in DETAILS:
            open_tab(root, name)
            assert_fits(root, (*where, name))
        root.locator(".attnw-ex-bottom").get_by_role("button", name="more").click()
    set_window(notebook, 480, False)
    root.get_by_role("button", name="View").click()
    assert overflowing(root) == []
    root.page.keyboard.press("Escape")
    GridOnPage(root).click(4, 2)
    expect(root.locator(".attnw-ex-title")).to_contain_text("L4 H2")


def test_the_first_question_needs_one_screen_and_twelve_controls(
    notebook: LiveNotebook, root: Locator
) -> None:
    set_width(root, 1070)
    handle = root.element_handle()
    controls = root.page.evaluate(CONTROLS, [handle, 620])
    assert 6 <= len(controls) <= 12, controls
    assert height(root) <= 620
    heights = {}
    for width in (380, 600, 750, 1420):
        set_width(root, width)
        heights[width] = height(root)
        assert overflowing(root) == [], width
        assert root.evaluate("(root) => root.scrollWidth <= root.clientWidth"), width
    assert heights[1420] <= 640 and heights[750] <= 720 and heights[380] <= 1200


def test_the_sentence_answers_by_mouse_and_by_keyboard(
    notebook: LiveNotebook, root: Locator
) -> None:
    set_width(root, 1070)
    line = root.locator(".attnw-ex-look")
    expect(line).to_contain_text("In L1 H3, “he” looks at “captain”")
    words = root.get_by_role("toolbar").get_by_role("button")
    # Pointing asks the kernel nothing, and changes no trait.
    words.nth(4).hover()
    expect(line).to_contain_text("“his” looks at")
    assert notebook.value("explorer.tokens") == [("query", 7)]
    root.page.mouse.move(5, 5)
    expect(line).to_contain_text("“he” looks at")
    # The word of the story is locked, and every cell answers for it. A click unlocks it.
    title = root.locator(".attnw-ex-left h4").first
    expect(title).to_contain_text("Where “he” looks in each of")
    words.nth(7).click()
    notebook.wait_for_value("explorer.tokens", [])
    expect(title).to_contain_text("All 72 heads")
    words.nth(7).click()
    notebook.wait_for_value("explorer.tokens", [("query", 7)])
    expect(title).to_contain_text("Where “he” looks in each of")
    keyboard = root.page.keyboard
    for _ in range(5):
        keyboard.press("ArrowLeft")
    keyboard.press("Enter")
    notebook.wait_for_value("explorer.tokens", [("query", 7), ("key", 2)])
    weights = "explorer.attention.words.weights()[:, :, 7, 1:-1]"
    largest = f"({weights}[..., 1] > numpy.delete({weights}, 1, -1).max(-1))"
    strong = f"({weights}[..., 1] >= 1.5 / len(explorer.attention.words.tokens))"
    count = notebook.value(f"__import__('builtins').int(({largest} & {strong}).sum())")
    expect(title).to_contain_text(f"{count} of 72 heads send")
    keyboard.press("Escape")
    notebook.wait_for_value("explorer.tokens", [("query", 7)])
    keyboard.press("Escape")
    notebook.wait_for_value("explorer.tokens", [])
    keyboard.press("x")
    notebook.wait_for_value("explorer.disabled", [(1, 3, "self")])
    expect(line).to_contain_text("L1 H3 is off: it looks nowhere")
    keyboard.press("Escape")
    notebook.wait_for_value("explorer.disabled", [])
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2, "a key reached the notebook"


def box_of(part: Locator) -> FloatRect:
    box = part.bounding_box()
    assert box is not None
    return box


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((12, 12), 4),
        ((12, 12), 498),
        ((24, 16), 118),
        ((24, 32), 28),
    ],
)
def test_models_of_many_heads_fit_a_screen(
    notebook: LiveNotebook, lab_page: Watched, size: tuple[int, int], words: int
) -> None:
    lab_page.begin()
    notebook.page.set_viewport_size({"width": 1900, "height": 1400})
    notebook.run_in_kernel(f"given = (made(*{size}), 'one ' * {words})")
    notebook.run_cell(1)
    notebook.run_in_kernel("given = ()")
    root = notebook.output(1).locator(".attnw-ex-root")
    expect(root.locator(".attnw-head-grid")).to_be_visible()
    expect(root.locator(".attnw-view-body")).to_be_visible()
    # The explorer selects a head when its measurements are in: a click before would be undone.
    notebook.run_in_kernel("explorer.wait()")
    for width, sidebar in WINDOWS:
        set_window(notebook, width, sidebar)
        if width > 480:
            assert_fits(root, (size, width, sidebar))
    # What is clicked in the part of the grid that is in sight is seen beside or below it.
    # Where layers stand side by side, a row is a head.
    grid = GridOnPage(root)
    flipped = grid.layout["cols"] == size[0] != size[1]
    grid.click(*((11, 3) if flipped else (3, 11)))
    expect(root.locator(".attnw-ex-title")).to_contain_text("L3 H11")
    # And what is selected stays in sight when the page gets another width.
    last = size[0] - 1
    notebook.run_in_kernel(f"explorer.selected = [({last}, 11)]")
    expect(root.locator(".attnw-ex-title")).to_contain_text(f"L{last} H11")
    for width in (480, 1200):
        set_window(notebook, width, False)
    lab_page.assert_quiet()


@pytest.mark.slow
def test_what_is_above_a_detail_stays_where_it_is(notebook: LiveNotebook, root: Locator) -> None:
    set_window(notebook, 1200, False)

    def place() -> float:
        # A click may scroll the notebook.
        return box_of(root.get_by_role("tab", name="map of heads"))["y"] - box_of(root)["y"]

    open_more(root)
    before = place()
    for name in DETAILS:
        open_tab(root, name)
        assert place() == before, name
    notebook.run_in_kernel("explorer.tab = 'head_scatter'; explorer.example = 'passive'")
    expect(root.locator(".attnw-ex-look")).to_contain_text("In L5 H11, ")
    notebook.run_in_kernel("explorer.wait()")


@pytest.mark.slow
def test_a_change_of_the_theme_keeps_the_layout(notebook: LiveNotebook, root: Locator) -> None:
    for window in (1200, 1600):
        notebook.page.set_viewport_size({"width": window, "height": 1400})
        settle(notebook.page)
        plan = root.evaluate(PLAN)
        assert plan != ["attnw-ex-one"], window
        for theme in ("dark", "light"):
            notebook.use_theme(theme)
            expect(root).to_have_attribute("data-theme", theme)
            # The figures look at the theme again for so long.
            notebook.page.wait_for_timeout(1800)
            assert root.evaluate(PLAN) == plan, (window, theme)
        root.evaluate(NARROW_WHILE_DRAWN)
        expect(root).to_have_attribute("data-theme", "dark")
        settle(notebook.page)
        assert root.evaluate(PLAN) == plan, window
        root.evaluate(AS_BEFORE)
        expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_any_tab_in_either_theme(notebook: LiveNotebook, root: Locator) -> None:
    set_width(root, 1200)
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        for name in DETAILS:
            open_tab(root, name)
            assert complaints(notebook.page) == [], (theme, name)
    set_width(root, 480)
    assert complaints(notebook.page) == []


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_a_comparison_fits_a_screen_without_violations(
    notebook: LiveNotebook, root: Locator
) -> None:
    notebook.run_in_kernel(
        "explorer.text = 'The nurse said that she was tired.';"
        "explorer.versus_text = 'The nurse said that he was tired.'"
    )
    choice = root.get_by_role("group", name="maps of A and B")
    expect(choice).to_be_visible()
    notebook.run_in_kernel("explorer.wait()")
    for width in (1070, 1420):
        set_width(root, width)
        assert height(root) < 760
        assert overflowing(root) == []
    for name in ("A", "B", "A − B"):
        choice.get_by_role("button", name=name, exact=True).click()
        assert complaints(notebook.page) == [], name


@pytest.mark.slow
def test_twice_the_size_forced_colors_and_less_motion(
    notebook: LiveNotebook, root: Locator
) -> None:
    set_width(root, 1200)
    notebook.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    slot = root.locator(".attnw-ex-slot").first
    expect(slot).to_have_css("transition-property", "none")
    assert overflowing(root) == []
    notebook.page.emulate_media(forced_colors="none", reduced_motion="no-preference")
    # At 200 % a window has half as many pixels of CSS.
    root.evaluate("(root) => { root.style.width = ''; document.body.style.zoom = '2' }")
    cut = overflowing(root)
    # The next notebook is opened in this page.
    notebook.page.evaluate("document.body.style.zoom = ''")
    assert cut == []


@pytest.mark.slow
def test_from_example_to_example_with_the_keyboard_alone(
    notebook: LiveNotebook, root: Locator
) -> None:
    set_window(notebook, 1200, False)
    open_more(root)
    keyboard = notebook.page.keyboard
    root.get_by_role("combobox", name="example").focus()
    keyboard.press("ArrowDown")
    notebook.wait_for_value("explorer.example", "objects")
    expect(root.locator(".attnw-ex-look")).to_contain_text("In L0 H4, ")
    expect(root.get_by_role("toolbar")).to_contain_text("woman opened the heavy door")
    keyboard.press("ArrowDown")
    notebook.wait_for_value("tuple(explorer.view.head)", (2, 4, "self"))
    keyboard.press("ArrowUp")
    notebook.wait_for_value("explorer.example", "objects")
    # The details, by their list of tabs.
    root.get_by_role("tab", name="map of heads").focus()
    keyboard.press("ArrowLeft")
    expect(root.get_by_role("tab", name="arcs")).to_be_focused()
    notebook.wait_for_value("explorer.tab", "arcs")
    keyboard.press("Tab")
    expect(root.get_by_role("tabpanel", name="arcs")).to_be_focused()
    notebook.page.keyboard.press("Tab")
    expect(root.get_by_role("button", name="read this sentence above")).to_be_focused()
    keyboard.press("Enter")
    text = notebook.value("explorer.arcs.sentences[explorer.arcs.sentence].text")
    notebook.wait_for_value("explorer.text", text)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2, "a key reached the notebook"
