"""The explorer, unchanged, in marimo: in a shadow root, and with threads that marimo knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.figures import GridOnPage
from browser.pages import Watched
from browser.servers import Server
from browser.settled import settle

pytestmark = pytest.mark.browser


MARIMO = """
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import marimo as mo
    from attnwidget.widgets.explorer.explore import explore

    explorer = mo.ui.anywidget(explore())
    return explorer, mo


@app.cell
def _(explorer):
    explorer
    return


@app.cell
def _(explorer, mo):
    chosen = explorer.value
    heads = " ".join(str(head) for head in chosen["selected"])
    mo.md(f"kernel: {chosen['text']} {chosen['relation']} {heads}.")
    return


@app.cell
def _(explorer, mo):
    mo.md(f"order of heads: {explorer.grid.sort}")
    return


@app.cell
def _(mo):
    keep = mo.ui.run_button(label="keep")
    keep
    return (keep,)


@app.cell
def _(explorer, keep, mo):
    from pathlib import Path

    if keep.value:
        folder = Path("FOLDER")
        explorer.widget.save(folder / "explorer.svg")
        (folder / "explorer.py").write_text(explorer.widget.code())
    mo.md("kept" if keep.value else "not kept")
    return


if __name__ == "__main__":
    app.run()
"""
RESTORED = """
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    from pathlib import Path

    import marimo as mo

    made = {}
    exec(Path("FOLDER/explorer.py").read_text(), made)
    explorer = mo.ui.anywidget(made["explorer"])
    explorer
    return


if __name__ == "__main__":
    app.run()
"""


def test_marimo(in_marimo: Callable[[str], Server], seen: Watched, tmp_path: Path) -> None:
    server = in_marimo(MARIMO.replace("FOLDER", str(tmp_path)))
    seen.page.set_viewport_size({"width": 1300, "height": 2600})
    seen.page.goto(server.url)
    root = seen.page.locator(".attnw-ex-root")
    grid = GridOnPage(root)
    kernel = seen.page.get_by_text("kernel:")
    # The host's background is the figure's, and the figures have their own styles.
    expect(root).to_have_attribute("data-theme", "light")
    root.locator(".attnw-ex-bottom").get_by_role("button", name="more").click()
    root.get_by_role("tab", name="arcs").click()
    expect(root.locator(".attnw-arcs-stage")).to_be_visible()
    root.get_by_role("tab", name="relations").click()
    expect(root.locator(".attnw-view-root").first).to_have_css("font-size", "12px")
    expect(root.locator(".attnw-rel-root .attnw-controls")).to_have_css("display", "flex")
    # The reset of marimo makes every picture a block.
    power = root.get_by_role("button", name="switch off")
    icon = power.locator("svg").bounding_box()
    text = power.locator("span").bounding_box()
    assert icon is not None and text is not None
    assert icon["x"] + icon["width"] <= text["x"]
    assert text["y"] <= icon["y"] and icon["y"] + icon["height"] <= text["y"] + text["height"]
    # The cells that read the explorer run again after a choice in any figure inside the explorer.
    grid.click(3, 5)
    title = root.locator(".attnw-ex-title")
    expect(title).to_contain_text("L3 H5")
    expect(kernel).to_contain_text("L3 H5.")
    order = seen.page.get_by_text("order of heads:")
    menu = root.get_by_role("button", name="View")
    menu.click()
    root.get_by_role("combobox", name="metric").select_option("entropy")
    root.get_by_role("combobox", name="order").select_option("all heads")
    expect(order).to_contain_text("all")
    root.get_by_role("combobox", name="order").select_option("by number")
    expect(order).to_contain_text("none")
    root.get_by_role("combobox", name="metric").select_option("none")
    menu.click()
    root.get_by_role("button", name="edit the text").click()
    area = root.get_by_role("textbox", name="text")
    area.fill("She put the old book on the table .")
    area.press("Enter")
    expect(root.get_by_role("toolbar")).to_contain_text("table")
    expect(kernel).to_contain_text("the old book")
    root.get_by_role("button", name="edit the text").press("]")
    expect(title).to_contain_text("L4 H5")
    expect(kernel).to_contain_text("L4 H5.")
    root.get_by_role("button", name="det", exact=True).click()
    root.get_by_role("tab", name="arcs").click()
    expect(root.locator(".attnw-arcs-above text").first).to_have_text("det")
    expect(kernel).to_contain_text(" det ")
    root.get_by_role("tab", name="map of heads").click()
    expect(root.locator('[data-panel="head_scatter"] .attnw-ex-slot')).to_have_attribute(
        "aria-busy", "false"
    )
    canvas = root.locator("canvas.attnw-map")
    settle(canvas)
    box = canvas.bounding_box()
    assert box is not None
    seen.page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], steps=5)
    seen.page.mouse.up()
    expect(root.locator(".attnw-map-caption")).to_contain_text(re.compile(r"L0 H0 .* and \d+ more"))
    expect(kernel).to_contain_text(re.compile(r" det .*L0 H0 .*L\d+ H\d+\."))
    seen.page.get_by_role("button", name="keep").click()
    expect(seen.page.get_by_text("kept", exact=True)).to_be_visible()
    svg = (tmp_path / "explorer.svg").read_text("utf-8")
    assert all(f">{word}</text>" in svg for word in ("book", "table"))
    # Another kernel shows what was kept.
    settle(root)
    caption = root.locator(".attnw-map-caption").text_content()
    seen.page.goto(in_marimo(RESTORED.replace("FOLDER", str(tmp_path))).url)
    expect(root.get_by_role("toolbar")).to_contain_text("table")
    expect(root.locator(".attnw-map-caption")).to_have_text(str(caption))
    expect(root.get_by_role("tab", name="map of heads")).to_have_attribute("aria-selected", "true")
    root.get_by_role("tab", name="arcs").click()
    expect(root.locator(".attnw-arcs-above text").first).to_have_text("det")
