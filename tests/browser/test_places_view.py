"""A head painted on a picture, in Chromium: pointing, locking, turning, saving."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from attnwidget import HeadView, save_page
from attnwidget.widgets.pages.write_page import write_page
from browser.axe import complaints
from browser.notebook import OpenNotebook
from browser.pages import watched
from browser.settled import settle
from fixtures.pictures import picture_attention, sound_attention

pytestmark = pytest.mark.browser
FIGURE = ".attnw-places-figure"
SETUP = """
import numpy as np
from attnwidget import Attention, HeadGrid, HeadView, link_figures
from attnwidget.results import Box
cells = [(r, c) for r in range(4) for c in range(4)]
places = [None, *(Box(0, 20 * c, 10 * r, 20 * c + 20, 10 * r + 10) for r, c in cells)]
picture = np.zeros((40, 80, 3), np.uint8)
names = ["[CLS]", *(f"r{r}c{c}" for r, c in cells)]
weights = np.random.default_rng(0).dirichlet(np.full(17, 0.3), size=(2, 3, 17))
attention = Attention.from_weights(weights, names, places=places, images=[picture])
view = HeadView(attention)
grid = HeadGrid(attention)
linked = link_figures(grid, view)
"""


def patch(page: Page, row: int, column: int) -> dict[str, float]:
    """The middle of a patch of the first picture, from the corner of the figure."""
    settle(page)
    panels = json.loads(page.locator(FIGURE).get_attribute("data-layout") or "[]")
    plate = panels[0]["plates"][0]
    return {
        "x": panels[0]["x"] + plate["x"] + plate["width"] * (column + 0.5) / 4,
        "y": panels[0]["y"] + plate["y"] + plate["height"] * (row + 0.5) / 4,
    }


def color(page: Page, at: dict[str, float]) -> list[int]:
    """The color that is drawn at a point of the figure."""
    return list(
        page.locator("canvas.attnw-places").evaluate(
            """(canvas, { x, y }) => [...canvas.getContext("2d")
              .getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].slice(0, 3)""",
            at,
        )
    )


def test_a_patch_is_pointed_at_locked_and_turned_on_a_page(
    browser: Browser, tmp_path: Path
) -> None:
    path = write_page(HeadView(picture_attention(registers=2)), tmp_path / "page.html")
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        readout = page.locator(".attnw-readout")
        caption = page.locator(".attnw-caption")
        expect(readout).to_contain_text("from [CLS]")
        expect(caption).to_contain_text("contains the picture of the input")
        expect(page.locator("footer")).to_contain_text("contains 1 picture of the input")
        # The left half of the picture is light: dimmed to about a quarter, and no darker.
        page.wait_for_function(
            """() => { const canvas = document.querySelector("canvas.attnw-places");
              return canvas.getContext("2d").getImageData(4, 4, 1, 1).data[0] > 60; }"""
        )
        assert color(page, patch(page, 0, 3))[0] < 60
        figure = page.locator(FIGURE)
        figure.hover(position=patch(page, 1, 2))
        expect(readout).to_contain_text("from r1c2")
        figure.click(position=patch(page, 1, 2))
        page.mouse.move(0, 0)
        expect(caption).to_contain_text("where attention goes: from r1c2")
        figure.focus()
        page.keyboard.press("x")
        expect(caption).to_contain_text("which queries look there: to r1c2")
        expect(readout).to_contain_text("to r1c2")
        page.keyboard.press("x")
        # A key acts on what is drawn, which follows the key before it by a frame.
        expect(caption).to_contain_text("where attention goes: from r1c2")
        expect(readout).to_contain_text("from r1c2")
        page.keyboard.press("ArrowDown")
        expect(readout).to_contain_text("from r2c2")
        page.keyboard.press("Escape")
        page.keyboard.press("m")
        expect(page.locator(".attnw-lines-figure")).to_be_visible()
        page.get_by_role("button", name="places", exact=True).click()
        expect(figure).to_be_visible()
        there.assert_quiet()


@pytest.mark.parametrize(("width", "scheme"), [(480, "dark"), (1420, "light")])
def test_a_picture_fits_and_is_accessible(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    view = HeadView(picture_attention(registers=2), selected=[(0, 0), (1, 1)], arrangement="beside")
    path = write_page(view, tmp_path / "page.html")
    with watched(browser, width=width) as there:
        page = there.page
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto(path.as_uri())
        expect(page.locator(FIGURE)).to_be_visible()
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints(page) == []
        page.emulate_media(forced_colors="active")
        expect(page.locator(".attnw-caption")).to_contain_text("contains the picture")
        there.assert_quiet()


def test_a_locked_patch_reaches_the_kernel(in_lab: OpenNotebook, tmp_path: Path) -> None:
    notebook = in_lab([SETUP, "view"])
    notebook.run_cell(0)
    notebook.run_cell(1)
    page = notebook.page
    expect(page.locator(FIGURE)).to_be_visible()
    page.locator(FIGURE).click(position=patch(page, 1, 1))
    notebook.wait_for_value("view.tokens", [("query", 6)])
    notebook.wait_for_value("grid._thumbnails['row']['of']", 6)
    page.locator(FIGURE).focus()
    page.keyboard.press("x")
    notebook.wait_for_value("view.tokens", [("key", 6)])
    saved = notebook.value(f"view.save({str(tmp_path / 'figure.svg')!r}).stat().st_size")
    assert saved > 1000
    page.keyboard.press("m")
    notebook.wait_for_value("view.mode", "lines")
    notebook.wait_for_value("view._media", None)


def test_a_sound_is_painted_and_played_on_a_page(browser: Browser, tmp_path: Path) -> None:
    view = HeadView(sound_attention(), stack="cross", tokens=[("query", 1)])
    path = write_page(view, tmp_path / "sound.html")
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        expect(page.locator(".attnw-readout")).to_contain_text("on padding")
        button = page.get_by_role("button", name="play")
        expect(button).to_be_visible()
        page.evaluate(
            """() => { window.started = [];
              const { prototype } = AudioBufferSourceNode;
              const { start } = prototype;
              prototype.start = function (...of) {
                window.started.push([of[1], of[2], this.buffer.duration]);
                start.apply(this, of); }; }"""
        )
        button.click()
        page.wait_for_function("() => window.started.length === 1")
        start, length, whole = page.evaluate("window.started[0]")
        assert 0 <= start < 1
        assert 0 < length <= 0.5
        assert abs(whole - 1) < 0.01
        page.locator(FIGURE).focus()
        page.keyboard.press("p")
        page.wait_for_function("() => window.started.length === 2")
        assert complaints(page) == []
        there.assert_quiet()


def cell(page: Page, layer: int, head: int) -> dict[str, float]:
    """The middle of the cell of a head, from the corner of the grid."""
    settle(page)
    layout = json.loads(page.locator("canvas.attnw-grid").get_attribute("data-layout") or "{}")
    pitch = layout["cell"] + layout["gap"]
    return {
        "x": layout["x0"] + head * pitch + layout["cell"] / 2,
        "y": layout["y0"] + layout["band"] + layer * pitch + layout["cell"] / 2,
    }


def blue(page: Page, layer: int, head: int, row: int, column: int) -> int:
    """How much bluer than gray a patch is in the cell of a head: the ink of its weight."""
    middle = cell(page, layer, head)
    layout = json.loads(page.locator("canvas.attnw-grid").get_attribute("data-layout") or "{}")
    # The picture is twice as wide as high, and stands in the middle of its cell.
    at = {
        "x": middle["x"] + layout["cell"] * ((column + 0.5) / 4 - 0.5),
        "y": middle["y"] + layout["cell"] / 2 * ((row + 0.5) / 4 - 0.5),
    }
    red, _, strong = page.locator("canvas.attnw-grid").evaluate(
        """(canvas, { x, y }) => [...canvas.getContext("2d")
          .getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].slice(0, 3)""",
        at,
    )
    return int(strong - red)


def test_all_heads_show_the_row_of_the_patch_that_is_locked(
    browser: Browser, tmp_path: Path
) -> None:
    attention = picture_attention()
    path = save_page(attention, tmp_path / "page.html")
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        caption = page.locator(".attnw-grid-caption")
        expect(caption).to_contain_text("cells: where “[CLS]” looks, laid out as the picture")
        page.locator(FIGURE).click(position=patch(page, 2, 1))
        page.mouse.move(0, 0)
        expect(caption).to_contain_text("cells: where “r2c1” looks")
        weights = attention.weights()[:, :, 1 + 2 * 4 + 1, 1:].reshape(2, 3, 4, 4)
        for layer, head in ((0, 0), (1, 2)):
            shown = weights[layer, head]
            strong = divmod(int(shown.argmax()), 4)
            weak = divmod(int(shown.argmin()), 4)
            assert blue(page, layer, head, *strong) > blue(page, layer, head, *weak) + 20
        # The view shows the row of the head that the pointer is on.
        page.locator(".attnw-grid-box").hover(position=cell(page, 1, 2))
        view = page.get_by_role("region", name="one head")
        expect(view).to_contain_text("L1 H2: attention between tokens")
        expect(view).to_contain_text("from r2c1")
        page.mouse.move(0, 0)
        page.get_by_role("combobox", name="thumbnails").select_option("maps")
        expect(caption).not_to_contain_text("laid out as the picture")
        page.get_by_role("combobox", name="thumbnails").select_option("places")
        expect(caption).to_contain_text("cells: where “r2c1” looks")
        assert complaints(page) == []
        page.emulate_media(forced_colors="active")
        expect(caption).to_contain_text("cells: where “r2c1” looks")
        there.assert_quiet()
