"""All layers of a kept word, step by step, by keyboard, by mouse and by finger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from attnwidget import Attention, explore, load_model
from browser.axe import complaints
from browser.figures import GridOnPage
from browser.notebook import LiveNotebook
from browser.pages import Watched, watched
from browser.servers import Server
from browser.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "The captain told his men that he would not leave the ship."
HE, CAPTAIN = 7, 2
CELL = f"""
from attnwidget import explore
explorer = explore(
    text={TEXT!r}, treebank=False, tokens=[("query", {HE}), ("key", {CAPTAIN})]
)
explorer.selected = [(0, 0)]
explorer
"""


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an explorer with the kept pair "he" and "captain"."""
    explorer = explore(text=TEXT, treebank=False, tokens=[("query", HE), ("key", CAPTAIN)])
    explorer.wait()
    explorer.selected = [(0, 0)]
    path = explorer.save(tmp_path_factory.mktemp("layers") / "explorer.html")
    explorer.close()
    return Path(path)


@pytest.fixture(scope="module")
def heads(attention: Attention) -> list[str]:
    """The head of each layer with the largest weight from "he" to "captain"."""
    weights = np.stack([attention.weights(layer)[:, HE, CAPTAIN] for layer in range(6)])
    return [f"L{layer} H{head}" for layer, head in enumerate(weights.argmax(axis=1))]


@pytest.fixture
def root(saved: Path, seen: Watched) -> Iterator[Locator]:
    seen.page.set_viewport_size({"width": 1100, "height": 900})
    seen.page.goto(saved.as_uri())
    shown = seen.page.locator(".attnw-ex-root")
    GridOnPage(shown)
    yield shown
    seen.assert_quiet()


def row_head(grid: GridOnPage, layer: int) -> dict[str, float]:
    """The point of a layer's row head on the canvas."""
    _, y = grid.corner(layer, 0)
    return {"x": grid.layout["x0"] / 2, "y": y + grid.layout["tall"] / 2}


def expect_head(root: Locator, head: str) -> None:
    """The title, the line about the screen and the view's head are this one."""
    expect(root.locator(".attnw-ex-right h4")).to_contain_text(head)
    expect(root.locator(".attnw-ex-look")).to_contain_text(f"In {head}")


@pytest.mark.parametrize("focus", ["sentence", "grid", "view", "more"])
def test_brackets_step_through_all_layers_wherever_the_focus_is(
    root: Locator, heads: list[str], focus: str
) -> None:
    places = {
        "sentence": root.get_by_role("toolbar").get_by_role("button").nth(HE),
        "grid": root.get_by_role("grid").first,
        "view": root.locator('[data-panel="view"] [tabindex="0"]').first,
        "more": root.get_by_role("button", name="more"),
    }
    places[focus].focus()
    for head in heads[1:]:
        root.page.keyboard.press("]")
        expect_head(root, head)
    root.page.keyboard.press("]")
    expect_head(root, heads[-1])
    for head in reversed(heads[:-1]):
        root.page.keyboard.press("[")
        expect_head(root, head)


def test_a_click_on_each_row_goes_to_the_strongest_head_of_its_layer(
    root: Locator, heads: list[str]
) -> None:
    grid = GridOnPage(root)
    for layer in (5, 3, 0, 1, 2, 4):
        grid.canvas.click(position=row_head(grid, layer))
        expect_head(root, heads[layer])


def test_a_finger_on_each_row_does_the_same(
    browser: Browser, saved: Path, heads: list[str]
) -> None:
    with watched(browser, width=1100, height=900, touch=True) as seen:
        seen.page.goto(saved.as_uri())
        root = seen.page.locator(".attnw-ex-root")
        grid = GridOnPage(root)
        for layer in range(1, 6):
            grid.canvas.tap(position=row_head(grid, layer))
            expect_head(root, heads[layer])
        seen.assert_quiet()


def test_without_a_kept_word_steps_keep_the_number_of_the_head(root: Locator) -> None:
    grid = GridOnPage(root)
    grid.click(0, 4)
    for _ in range(2):
        root.get_by_role("toolbar").get_by_role("button").nth(HE).focus()
        root.page.keyboard.press("Escape")
    settle(root)
    root.page.keyboard.press("]")
    expect(root.locator(".attnw-ex-right h4")).to_contain_text("L1 H4")
    # The rows have numbers alone, which are clicked as well.
    grid.canvas.click(position=row_head(grid, 5))
    expect(root.locator(".attnw-ex-right h4")).to_contain_text("L5 H4")


def test_the_header_of_the_row_is_read_and_has_no_faults(root: Locator, heads: list[str]) -> None:
    page: Page = root.page
    root.get_by_role("grid").first.focus()
    page.keyboard.press("ArrowDown")
    number = heads[1].split("H")[1]
    expect(root.get_by_role("rowheader")).to_have_accessible_name(
        f"layer 1: 59\u00a0% in head {number}"
    )
    assert complaints(page) == []


def test_the_kernel_follows_in_jupyterlab(browser: Browser, lab: Server, heads: list[str]) -> None:
    with watched(browser, width=1440, height=900) as seen:
        notebook = LiveNotebook(seen.page, lab, "lab/tree", "layer-steps", [CELL])
        notebook.run_cell(0)
        root = notebook.output(0).locator(".attnw-ex-root")
        grid = GridOnPage(root)
        # The mouse, down.
        for layer, head in enumerate(heads):
            grid.canvas.click(position=row_head(grid, layer))
            notebook.wait_for_value("str(explorer.head)", head)
            expect_head(root, head)
        # The keyboard, up.
        root.get_by_role("toolbar").get_by_role("button").nth(HE).focus()
        for head in reversed(heads[:-1]):
            seen.page.keyboard.press("[")
            notebook.wait_for_value("str(explorer.head)", head)
            expect_head(root, head)
        # Python steps, and the page follows.
        notebook.run_in_kernel("explorer.layer = 3")
        expect_head(root, heads[3])
        notebook.close()
        seen.assert_quiet()
