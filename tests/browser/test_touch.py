"""The explorer on a small screen, by a finger alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Locator, expect

from browser.figures import GridOnPage
from browser.notebook import LiveNotebook
from browser.pages import watched
from browser.servers import Server
from browser.settled import settle

pytestmark = pytest.mark.browser


def tap(place: Locator, x: float, y: float) -> None:
    """A finger on a point of an element, in pixels from its corner."""
    place.scroll_into_view_if_needed()
    settle(place)
    box = place.bounding_box()
    assert box is not None
    place.page.touchscreen.tap(box["x"] + x, box["y"] + y)


@pytest.mark.slow
def test_a_tap_selects_a_head_and_a_tap_on_a_word_locks_it(browser: Browser, lab: Server) -> None:
    cells = ["from attnwidget import explore", "explorer = explore()\nexplorer"]
    with watched(browser, touch=True) as seen:
        notebook = LiveNotebook(seen.page, lab, "lab/tree", "touch", cells)
        notebook.run_cell(0)
        notebook.run_cell(1)
        root = notebook.output(1).locator(".attnw-ex-root")
        expect(root.get_by_role("toolbar")).to_be_visible()
        # What is measured may move what a finger aims at.
        notebook.run_in_kernel("explorer.wait()")
        root.evaluate("(root) => { root.style.width = '480px' }")
        grid = GridOnPage(root)
        (x, y), half = grid.corner(2, 4), grid.layout["cell"] / 2
        tap(grid.canvas, x + half, y + half)
        notebook.wait_for_value("tuple(explorer.head)", (2, 4, "self"))
        expect(root.locator(".attnw-ex-title")).to_contain_text("L2 H4")
        # The word of the story is locked: a tap makes a pair, and the next one begins anew.
        tap(root.locator('[data-word="query-2"]'), 8, 8)
        notebook.wait_for_value("explorer.tokens", [("query", 7), ("key", 2)])
        tap(root.locator('[data-word="query-4"]'), 8, 8)
        notebook.wait_for_value("explorer.tokens", [("query", 4)])
        tap(root.locator(".attnw-ex-bottom").get_by_role("button", name="more"), 10, 10)
        tap(root.get_by_role("tab", name="predictions"), 10, 10)
        expect(root.get_by_role("tabpanel", name="predictions")).to_be_visible()
        seen.assert_quiet()
        notebook.close()
