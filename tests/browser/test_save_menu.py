"""The menu "save" of a live figure: what is downloaded is what Python saves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.figures import SETUP
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser


# The menu says what it has done for a few seconds only.
LISTEN = """(box) => {
  globalThis.said = [];
  const said = box.querySelector(".attnw-save-said");
  new MutationObserver(() => globalThis.said.push(said.textContent))
    .observe(said, { childList: true, characterData: true, subtree: true });
}"""


def test_a_figure_is_saved_and_its_code_copied(in_lab: OpenNotebook) -> None:
    notebook = in_lab([f"{SETUP}view = HeadView(attention, 1, 3, tokens=[('query', 7)])\nview"])
    page = notebook.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    button = root.get_by_role("button", name="save")
    root.locator(".attnw-save").evaluate(LISTEN)
    button.click()
    with page.expect_download() as download:
        root.get_by_role("menuitem", name="SVG").click()
    assert download.value.suggested_filename == "head-view.svg"
    saved = Path(download.value.path()).read_text("utf-8")
    assert saved == notebook.value("view.figure().svg")
    page.wait_for_function("said.includes('head-view.svg')")

    # The rest by the keyboard alone; the lock of the figure outlives the menu's own Escape.
    expect(button).to_be_focused()
    for key in ("Enter", "Escape", "Enter", "End", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("said.includes('code copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == notebook.value("view.code()")
    assert 'tokens=[("query", 7)]' in copied
