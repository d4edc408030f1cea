"""Three questions about one sentence: four actions in the explorer, without scrolling."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from browser.notebook import LiveNotebook
from browser.pages import watched
from browser.servers import Server

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELL = """
from attnwidget import explore
text = "The nurse who met the lawyers said that she was tired, because they had argued all night."
explorer = explore(text=text, treebank=False)
explorer
"""
PLACES = {"nurse": 2, "she": 9}


def word(root: Locator, text: str) -> Locator:
    return root.get_by_role("toolbar").get_by_role("button").nth(PLACES[text])


@pytest.mark.parametrize("by", ["mouse", "keyboard", "touch"])
def test_which_heads_link_two_words_what_they_do_and_the_picture_of_it(
    browser: Browser, lab: Server, by: str
) -> None:
    with watched(browser, touch=by == "touch") as seen:
        page = seen.page
        page.set_viewport_size({"width": 1440, "height": 900})
        notebook = LiveNotebook(page, lab, "lab/tree", f"questions-{by}", [CELL])
        notebook.run_cell(0)
        root = notebook.output(0).locator(".attnw-ex-root")
        line = root.locator(".attnw-ex-look")
        # Nothing is done yet, and the line answers for the pronoun.
        expect(line).to_contain_text("In L1 H3 (pronoun to its person), “she” looks at “nurse”")
        expect(line).to_contain_text("Without this head")
        actions = 0

        def use(place: Locator) -> None:
            nonlocal actions
            actions += 1
            if by == "keyboard":
                place.focus()
                page.keyboard.press("Enter")
            elif by == "touch":
                place.tap()
            else:
                place.click()

        scrolled = "() => [scrollY, document.querySelector('.jp-WindowedPanel-outer')?.scrollTop]"
        before = page.evaluate(scrolled)
        use(word(root, "she"))
        use(word(root, "nurse"))
        notebook.wait_for_value("explorer.tokens", [("query", 9), ("key", 2)])
        title = root.locator(".attnw-ex-left h4").first
        expect(title).to_contain_text("13 of 72 heads send “she” to “nurse”")
        expect(title).to_contain_text("most: L5 H4")
        expect(line).to_contain_text("“she” gives “nurse”")
        expect(line).to_contain_text("Without this head")
        use(root.locator(".attnw-ex-bottom").get_by_role("button", name="save"))
        with page.expect_download() as download:
            use(root.get_by_role("menuitem", name="SVG"))
        assert "“she”" in Path(download.value.path()).read_text("utf-8")
        assert actions == 4 and page.evaluate(scrolled) == before
        seen.assert_quiet()
        notebook.close()
