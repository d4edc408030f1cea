"""Three questions about one sentence: four actions in the explorer, without scrolling."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.notebook import LiveNotebook
from browser.pages import watched
from browser.servers import Server
from browser.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELL = """
from attnwidget import explore
text = "The nurse who met the lawyers said that she was tired, because they had argued all night."
explorer = explore(text=text, treebank=False)
explorer
"""
PLACES = {"nurse": 2, "she": 9}
#: Offsets of the page, of the notebook, and of every scrolled element of the explorer.
SCROLLED = """(root) => {
  const notebook = document.querySelector(".jp-WindowedPanel-outer")?.scrollTop;
  const parts = Array.from(root.querySelectorAll("*"), (node) => node.scrollTop);
  return [scrollX, scrollY, notebook].concat(parts.filter((offset) => offset !== 0));
}"""


class Reader:
    """A reader with one way of input, who counts actions.

    An action is one click, one tap, one key with its modifiers, or one run of the same key.
    """

    def __init__(self, page: Page, by: str) -> None:
        self.page = page
        self.by = by
        self.actions = 0

    def use(self, place: Locator, key: str) -> None:
        """Click or tap a control, or press its key."""
        self.actions += 1
        if self.by == "keyboard":
            self.page.keyboard.press(key)
        elif self.by == "touch":
            place.tap()
        else:
            place.click()


def word(root: Locator, text: str) -> Locator:
    return root.get_by_role("toolbar").get_by_role("button").nth(PLACES[text])


@pytest.mark.parametrize("by", ["mouse", "keyboard", "touch"])
def test_which_head_links_two_words_what_happens_without_it_and_the_picture_of_it(
    browser: Browser, lab: Server, by: str
) -> None:
    with watched(browser, touch=by == "touch") as seen:
        page = seen.page
        page.set_viewport_size({"width": 1440, "height": 900})
        notebook = LiveNotebook(page, lab, "lab/tree", f"questions-{by}", [CELL])
        notebook.run_cell(0)
        root = notebook.output(0).locator(".attnw-ex-root")
        line = root.locator(".attnw-ex-look")
        save = root.locator(".attnw-ex-bottom").get_by_role("button", name="save")
        reader = Reader(page, by)
        # Which head links the two words: nothing is done yet, and the line answers.
        expect(line).to_contain_text("In L1 H3 (pronoun to its person), “she” looks at “nurse”")
        expect(line).to_contain_text("Without this head")
        settle(page)
        before = root.evaluate(SCROLLED)

        # What happens without it.
        if by == "keyboard":
            # The keyboard is where the notebook left it: before the output, in the cell.
            notebook.output(0).evaluate(
                "(output) => { output.tabIndex = -1; output.focus({ preventScroll: true }) }"
            )
            page.keyboard.press("Tab")
            reader.actions += 1
            expect(word(root, "she")).to_be_focused()
        reader.use(root.get_by_role("button", name="switch off"), "x")
        expect(line).to_contain_text("L1 H3 is off")
        expect(line).to_contain_text("Asked to guess “she”, the model says he 30")
        expect(line).to_contain_text("Now these answers change by less than a point")
        notebook.wait_for_value("[tuple(head)[:2] for head in explorer.disabled]", [(1, 3)])

        # The picture of it.
        reader.use(save, "s")
        svg = root.get_by_role("menuitem", name="SVG")
        expect(svg).to_be_focused()
        with page.expect_download() as download:
            reader.use(svg, "Enter")
        drawn = Path(download.value.path()).read_text("utf-8")
        assert "L1 H3 is off" in drawn and "“she”" in drawn
        assert reader.actions <= 4
        settle(page)
        assert root.evaluate(SCROLLED) == before
        # All of the first screen is in sight.
        assert root.evaluate("(root) => root.getBoundingClientRect().bottom <= innerHeight")

        # All heads that link the two words: one more word, and the head is on again.
        if by == "keyboard":
            word(root, "she").focus()
        reader.use(root.get_by_role("button", name="switch on"), "x")
        expect(root.locator(".attnw-ex-left h4").first).to_contain_text("Where “she” looks")
        if by == "keyboard":
            for _ in range(PLACES["she"] - PLACES["nurse"]):
                page.keyboard.press("ArrowLeft")
        reader.use(word(root, "nurse"), "Enter")
        notebook.wait_for_value("explorer.tokens", [("query", 9), ("key", 2)])
        title = root.locator(".attnw-ex-left h4").first
        expect(title).to_contain_text("13 of 72 heads send “she” to “nurse”")
        expect(title).to_contain_text("most: L5 H4")
        expect(line).to_contain_text("“she” gives “nurse”")
        expect(line).to_contain_text("Link cut in L1 H3")
        settle(page)
        assert root.evaluate(SCROLLED) == before
        seen.assert_quiet()
        notebook.close()
