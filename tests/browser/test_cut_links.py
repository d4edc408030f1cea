"""A link of the kept pair is cut, read, strengthened and undone, live in JupyterLab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from attnwidget import explore
from browser.axe import AXE, complaints
from browser.notebook import LiveNotebook
from browser.overflow import overflowing
from browser.pages import Watched, watched
from browser.servers import Server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "The captain told his men that he would not leave the ship."
HE, THAT = 7, 6
CELL = f"""
from attnwidget import explore
explorer = explore(
    text={TEXT!r}, treebank=False, selected=[(2, 11)], tokens=[("query", {HE}), ("key", {THAT})]
)
explorer
"""
BEFORE = "Link cut in L2 H11: he 73\u00a0%\u00a0→\u00a029\u00a0%; in all heads: 40\u00a0%."
CUT = "In L2 H11, “he” cannot see “that”."
STRONGER = "In L2 H11, “he” looks at “that” with 4 times the weight."


@pytest.fixture
def notebook(browser: Browser, lab: Server) -> Iterator[LiveNotebook]:
    with watched(browser, width=1440, height=900, touch=True) as seen:
        notebook = LiveNotebook(seen.page, lab, "lab/tree", "cut-links", [CELL])
        notebook.run_cell(0)
        expect(line(notebook)).to_contain_text(BEFORE, timeout=60_000)
        yield notebook
        notebook.close()
        seen.assert_quiet()


def root(notebook: LiveNotebook) -> Locator:
    return notebook.output(0).locator(".attnw-ex-root")


def line(notebook: LiveNotebook) -> Locator:
    return root(notebook).locator(".attnw-ex-look")


def expect_links(notebook: LiveNotebook, *links: tuple[int, int, int, str]) -> None:
    notebook.wait_for_value("explorer.scaled_links", list(links))


def test_three_actions_cut_strengthen_and_undo(notebook: LiveNotebook) -> None:
    """By mouse, by touch and by keyboard; the answer is read from the line."""
    shown = root(notebook)
    word = shown.get_by_role("toolbar").get_by_role("button").nth(HE)
    keyboard = notebook.page.keyboard

    def button(name: str) -> Locator:
        return shown.locator(".attnw-ex-cut").get_by_role("button", name=name, exact=True)

    ways = {
        "mouse": lambda name: button(name).click(),
        "touch": lambda name: button(name).tap(),
        "keyboard": lambda name: keyboard.press({"cut": "0", "4 ×": "4"}.get(name, "Escape")),
    }
    for way, act in ways.items():
        if way == "keyboard":
            word.focus()
        began = time.perf_counter()
        act("cut")
        expect(line(notebook)).to_contain_text(CUT)
        expect(line(notebook)).to_contain_text("which is then masked, the model says he 73\u00a0%")
        expect(shown.locator(".attnw-ex-arcs [stroke-dasharray]")).to_have_count(1)
        expect(button("cut")).to_have_attribute("aria-pressed", "true")
        expect_links(notebook, (HE, THAT, 0, "L2 H11"))
        act("4 ×")
        expect(line(notebook)).to_contain_text(STRONGER)
        expect_links(notebook, (HE, THAT, 4, "L2 H11"))
        act("as it is")
        expect(line(notebook)).to_contain_text(BEFORE)
        expect_links(notebook)
        print(f"{way}: {time.perf_counter() - began:.1f} s")
    expect(shown.locator(".attnw-ex-arcs [stroke-dasharray]")).to_have_count(0)


def test_steps_move_the_cut_and_escape_takes_back_one_by_one(notebook: LiveNotebook) -> None:
    shown = root(notebook)
    keyboard = notebook.page.keyboard
    shown.get_by_role("toolbar").get_by_role("button").nth(HE).focus()
    keyboard.press("0")
    expect(line(notebook)).to_contain_text(CUT)
    keyboard.press("]")
    expect(line(notebook)).to_contain_text("In L3 H8, “he” cannot see “that”.")
    expect_links(notebook, (HE, THAT, 0, "L3 H8"))
    keyboard.press("[")
    expect(line(notebook)).to_contain_text("In L2 H0, “he” cannot see “that”.")
    # Another scope: the whole layer, then all heads, which steps do not change.
    scope = shown.locator(".attnw-ex-cut select")
    scope.select_option("L2")
    expect(line(notebook)).to_contain_text("In layer 2, “he” cannot see “that”.")
    expect(line(notebook)).to_contain_text("he 73\u00a0%\u00a0→\u00a042\u00a0%")
    scope.select_option("all heads")
    expect(line(notebook)).to_contain_text("In all 72 heads, “he” cannot see “that”.")
    shown.get_by_role("toolbar").get_by_role("button").nth(HE).focus()
    keyboard.press("]")
    notebook.wait_for_value("str(explorer.head)", "L3 H8")
    expect_links(notebook, (HE, THAT, 0, "all heads"))
    pair = [("query", HE), ("key", THAT)]
    for tokens in (pair, pair[:1], []):
        keyboard.press("Escape")
        notebook.wait_for_value("explorer.tokens", tokens)
        expect_links(notebook)


def test_results_are_buttons_and_another_pair_ends_the_cut(notebook: LiveNotebook) -> None:
    shown = root(notebook)
    note = shown.locator(".attnw-ex-link-note")
    expect(note).to_contain_text("layer 2 he 42\u00a0%")
    expect(note).to_contain_text("other words: median 2 points")
    note.get_by_role("button", name="layer 2").click()
    expect_links(notebook, (HE, THAT, 0, "L2"))
    if AXE.is_file():
        assert complaints(notebook.page) == []
    shown.get_by_role("toolbar").get_by_role("button", name="captain").click()
    expect_links(notebook)
    # One word has no link. The next pair has a control of its own, because the model is asked about
    # its first word.
    expect(shown.locator(".attnw-ex-cut")).to_have_count(0)
    shown.get_by_role("toolbar").get_by_role("button", name="told").click()
    notebook.wait_for_value("[list(end) for end in explorer.tokens]", [["query", 2], ["key", 3]])
    expect(shown.locator(".attnw-ex-cut")).to_have_count(1)
    expect_links(notebook)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an explorer with a cut link."""
    explorer = explore(
        text=TEXT,
        treebank=False,
        selected=[(2, 11)],
        tokens=[("query", HE), ("key", THAT)],
        scaled_links=[("he", "that", 0, "L2 H11")],
    )
    explorer.wait()
    path = explorer.save(tmp_path_factory.mktemp("cut") / "explorer.html")
    explorer.close()
    return Path(path)


@pytest.mark.parametrize("width", [380, 750, 1070, 1420])
def test_a_saved_page_tells_the_cut_and_has_no_control(
    saved: Path, seen: Watched, width: int
) -> None:
    page = seen.page
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(saved.as_uri())
    shown = page.locator(".attnw-ex-root")
    expect(shown.locator(".attnw-ex-look")).to_contain_text(CUT)
    expect(shown.locator(".attnw-ex-link-note")).to_contain_text("all 72 heads he 40\u00a0%")
    expect(shown.locator(".attnw-ex-cut")).to_have_count(0)
    shown.get_by_role("button", name="more").focus()
    page.keyboard.press("1")
    page.keyboard.press("0")
    expect(shown.locator(".attnw-ex-look")).to_contain_text(CUT)
    assert overflowing(shown) == []
    seen.assert_quiet()
