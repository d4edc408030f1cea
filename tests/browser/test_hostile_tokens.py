"""A token is text wherever it is shown: markup in it is never markup of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from attnwidget import Attention, save_page
from browser.notebook import OpenNotebook
from browser.pages import Watched
from browser.settled import settle

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=alert(1)>"
TOKENS = [HOSTILE, "<!--", "]]>", "plain"]
NOTEBOOK = f"""
import numpy as np
from attnwidget import Attention, HeadGrid, HeadView
attention = Attention.from_weights(np.full((1, 2, 4, 4), 0.25, "f4"), {TOKENS!r})
# The page writes a locked token beside its figure.
view = HeadView(attention, tokens=[("query", 0)])
"""


def assert_only_text(page: Locator) -> None:
    expect(page.locator(".attnw-root img, .attnw-root script")).to_have_count(0)
    expect(page.locator(".attnw-root").last).to_contain_text("L0 H0")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["lines", "matrix"])
def test_in_a_notebook(in_lab: OpenNotebook, lab_page: Watched, mode: str) -> None:
    notebook = in_lab([NOTEBOOK, f"view.mode = {mode!r}\nview", "HeadGrid(attention)"])
    for cell in range(3):
        notebook.run_cell(cell)
    page = lab_page.page.locator("body")
    expect(notebook.output(2).locator("canvas.attnw-grid")).to_be_visible()
    assert_only_text(page.locator(".jp-Cell").nth(1))
    expect(notebook.output(1).get_by_role("group", name=HOSTILE)).to_be_visible()
    settle(page)
    assert lab_page.dialogs == []


def test_in_a_standalone_page(seen: Watched, tmp_path: Path) -> None:
    weights = np.full((1, 2, 4, 4), 0.25, dtype=np.float32)
    attention = Attention.from_weights(weights, TOKENS)
    path = save_page(attention, tmp_path / "hostile.html", title=HOSTILE, tokens=[("query", 0)])
    seen.page.goto(path.as_uri())
    page = seen.page.locator("body")
    expect(page.locator("canvas.attnw-grid")).to_be_visible()
    assert_only_text(page)
    expect(page.locator("img")).to_have_count(0)
    assert seen.page.title() == HOSTILE
    expect(page.get_by_role("group", name=HOSTILE)).to_be_visible()
    settle(page)
    assert seen.dialogs == []
