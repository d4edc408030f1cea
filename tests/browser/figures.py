"""A HeadGrid and a HeadView on a page: where their cells are, and the colors they should have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Locator, expect

from attnwidget import Attention
from attnwidget.capture.maps.resting_places import resting_places
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from browser.settled import settle

SCALE = Path(__file__).parents[2] / "js" / "src" / "shared" / "scale.json"
# The colors in cells of a thumbnail. A host may lay the grid out again, so that places and colors
# are read together.
PIXELS = """(canvas, [layer, head, cells, side]) => {
  const { x0, y0, cell, tall, gap, band, dpr } = JSON.parse(canvas.dataset.layout);
  const left = x0 + head * (cell + gap);
  const top = y0 + layer * (tall + gap + band);
  const context = canvas.getContext("2d");
  return cells.map(([row, col]) => {
    const x = Math.trunc((left + ((col + 0.5) * cell) / side) * dpr);
    const y = Math.trunc((top + ((row + 0.5) * tall) / side) * dpr);
    return [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
  });
}"""
# The start of every notebook.
SETUP = """
from attnwidget import Attention, Head, HeadGrid, HeadView, link_figures, load_model
from attnwidget.capture.maps.thumbnails import draw_thumbnails
model = load_model()
attention = model.attend("The captain told his men that he would not leave the ship.")
"""
LINKED = """
grid = HeadGrid(attention, selected=[(0, 0)])
view = HeadView(attention, layer=0, head=0)
both = link_figures(grid, view)
"""


def color_scale(theme: str) -> NDArray[np.int64]:
    """The 256 colors of a theme, [256, 3]: straight lines between equally spaced anchors."""
    anchors = np.array(json.loads(SCALE.read_text(encoding="utf-8"))[theme])
    places = np.linspace(0, len(anchors) - 1, 256)
    channels = [np.interp(places, range(len(anchors)), channel) for channel in anchors.T]
    return np.rint(np.stack(channels, axis=1)).astype(np.int64)


class GridOnPage:
    """The HeadGrid inside a root element."""

    def __init__(self, root: Locator) -> None:
        self.canvas = root.locator("canvas.attnw-grid")
        self.canvas.wait_for(state="visible")
        # It has rows when the kernel's thumbnails are in.
        self.canvas.page.wait_for_function(
            "canvas => JSON.parse(canvas.dataset.layout ?? '{}').rows > 0",
            arg=self.canvas.element_handle(),
        )
        settle(root)

    @property
    def layout(self) -> dict[str, Any]:
        """Where the cells are now: a host may lay the figure out again once it is attached."""
        found: dict[str, Any] = json.loads(self.canvas.get_attribute("data-layout") or "{}")
        return found

    def corner(self, layer: int, head: int) -> tuple[float, float]:
        """Top-left of a thumbnail in CSS pixels of the canvas."""
        pitch = self.layout["cell"] + self.layout["gap"]
        down = self.layout["tall"] + self.layout["gap"] + self.layout["band"]
        return self.layout["x0"] + head * pitch, self.layout["y0"] + layer * down

    def click(self, layer: int, head: int) -> None:
        x, y = self.corner(layer, head)
        across, down = self.layout["cell"] / 2, self.layout["tall"] / 2
        self.canvas.click(position={"x": x + across, "y": y + down})

    def pixels(self, layer: int, head: int, cells: list[tuple[int, int]], side: int) -> Any:
        """The drawn colors at the centers of cells of a `side` x `side` map, [cells, 3]."""
        settle(self.canvas)
        return np.array(self.canvas.evaluate(PIXELS, [layer, head, cells, side]))

    def assert_drawn(
        self, layer: int, head: int, values: list[list[int]], theme: str, *, steps: int = 0
    ) -> None:
        """The thumbnail shows these places on the theme's scale, give or take `steps`."""
        side = len(values)
        colors = color_scale(theme)
        cells = [(0, 0), (side // 2, side // 2), (side - 1, side - 1)]
        cells += [(row, int(np.argmax(values[row]))) for row in (1, side // 3, side - 2)]
        got = self.pixels(layer, head, cells, side)
        for (row, col), pixel in zip(cells, got, strict=True):
            byte = values[row][col]
            allowed = colors[max(0, byte - steps) : byte + steps + 1]
            # A browser may round a channel the other way.
            close = (np.abs(allowed - pixel) <= 1).all(axis=1).any()
            assert close, (layer, head, row, col, pixel.tolist(), allowed.tolist())


def thumbnails(layer: int, head: int) -> str:
    """The Python expression of a head's ink, as `inked`, for a kernel that ran SETUP."""
    ink = "int(255 * (float(drawn.maxima[at]) * (byte / 255) ** 2) ** 0.6 + 0.5)"
    cells = f"[[{ink} for byte in row] for row in drawn.values[at].tolist()]"
    drawn = "draw_thumbnails(attention, hidden=HeadGrid(attention).hidden)"
    return f"(lambda drawn, at: {cells})({drawn}, ({layer}, {head}))"


def inked(attention: Attention, hidden: list[str] | None = None) -> NDArray[np.int64]:
    """The places of all cells of all thumbnails on the absolute scale, [L, H, R, C].

    Without `hidden`, the tokens that figures hide by default are hidden.
    """
    kinds = resting_places(attention).kinds if hidden is None else hidden
    drawn = draw_thumbnails(attention, hidden=kinds)
    weights = drawn.maxima[..., None, None] * (drawn.values / 255) ** 2
    levels: NDArray[np.int64] = np.floor(255 * weights**0.6 + 0.5).astype(int)
    return levels


def open_menu(root: Locator) -> Locator:
    """The menu "View" of a figure, open."""
    menu = root.get_by_role("group", name="View", exact=True)
    # A menu that is about to close is still visible.
    settle(root)
    if not menu.is_visible():
        root.get_by_role("button", name="View").click()
    expect(menu).to_be_visible()
    return menu
