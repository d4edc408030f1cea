"""The explorer, unchanged, in marimo: in a shadow root, and with threads that marimo knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from browser.figures import GridOnPage
from browser.pages import Watched
from browser.servers import Server

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    """Measuring takes longer than expectations wait by themselves."""
    expect.set_options(timeout=60_000)
    yield
    expect.set_options(timeout=5_000)


MARIMO = """
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo
    from attnwidget.widgets.explorer import explore

    explorer = mo.ui.anywidget(explore())
    return explorer, mo


@app.cell
def _(explorer):
    explorer
    return


@app.cell
def _(explorer, mo):
    chosen = explorer.value
    mo.md(f"kernel: {chosen['text']} {chosen['relation']} {len(chosen['selected'])} heads")
    return


if __name__ == "__main__":
    app.run()
"""


def test_marimo(in_marimo: Callable[[str], Server], seen: Watched) -> None:
    server = in_marimo(MARIMO)
    seen.page.set_viewport_size({"width": 1300, "height": 2600})
    seen.page.goto(server.url)
    root = seen.page.locator(".attnw-ex-root")
    grid = GridOnPage(root)
    view = root.locator('[data-panel="view"]')
    kernel = seen.page.get_by_text("kernel:")
    # The host's background is the figure's, and the figures have their own styles.
    expect(root).to_have_attribute("data-theme", "light")
    expect(root.locator(".attnw-arcs-stage")).to_be_visible()
    expect(root.locator(".attnw-view-controls")).to_have_css("display", "flex")
    expect(root.locator(".attnw-rel-controls")).to_have_css("display", "flex")
    assert root.locator(".attnw-root").count() == 6
    grid.click(3, 5)
    expect(view).to_contain_text("L3 H5")
    area = root.get_by_role("textbox", name="text")
    area.fill("She put the old book on the table .")
    area.press("Control+Enter")
    expect(view).to_contain_text("11 tokens")
    expect(kernel).to_contain_text("the old book")
    root.locator(".attnw-ex-stepper input").press("ArrowRight")
    expect(view).to_contain_text("L4 H5")
    root.get_by_role("button", name="det", exact=True).click()
    expect(root.locator(".attnw-arcs-above text").first).to_have_text("det")
    expect(root.locator('[data-panel="head_map"] .attnw-ex-slot')).to_have_attribute(
        "aria-busy", "false"
    )
    canvas = root.locator("canvas.attnw-map")
    box = canvas.bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], steps=5)
    seen.page.mouse.up()
    expect(root.locator(".attnw-strip-caption")).to_contain_text("selected heads are marked")
    # marimo runs cells again for what the page changes in the explorer itself.
    root.get_by_role("button", name="All heads").click()
    expect(kernel).to_contain_text(" det ")
    expect(kernel).not_to_contain_text(" 1 heads")
