"""Photograph a live explorer in JupyterLab, as it opens: `python docs/readme_picture.py`.

Writes docs/images/explorer.png, which the home page shows. Needs Chromium, as the browser
tests do.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser.notebook import LiveNotebook  # noqa: E402
from browser.pages import launched  # noqa: E402
from browser.servers import jupyter  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "explorer.png"
CELL = "from attnwidget import explore\n\nexplorer = explore()\nexplorer"
WIDTH = 1200  # of the explorer, in pixels
# Fewer colors would merge the hues of what heads do.
COLORS = 256


@contextmanager
def live_explorer(width: int) -> Iterator[tuple[LiveNotebook, Locator]]:
    """Run a cell with an explorer in JupyterLab, and give its notebook and its element.

    Args:
        width: Width of the explorer, in pixels.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        jupyter(Path(folder)) as lab,
        sync_playwright() as playwright,
    ):
        browser = launched(playwright)
        page = browser.new_page(viewport={"width": 1800, "height": 1600})
        notebook = LiveNotebook(page, lab, "lab/tree", "explorer", [CELL])
        notebook.run_cell(0)
        root = notebook.output(0).locator(".attnw-ex-root")
        expect(root.locator("canvas").first).to_be_visible(timeout=120_000)
        notebook.run_in_kernel("explorer.wait()")
        # The notebook's margins take what is left.
        took = root.evaluate("(root) => root.getBoundingClientRect().width")
        page.set_viewport_size({"width": round(1800 + width - took), "height": 1600})
        page.mouse.move(2, 2)
        page.wait_for_timeout(3000)
        yield notebook, root
        notebook.close()
        browser.close()


def photograph(path: Path) -> None:
    """Write a picture of the explorer after a cell has run."""
    with live_explorer(WIDTH) as (_, root):
        root.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(
            COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        ).save(path, optimize=True)


if __name__ == "__main__":
    photograph(PICTURE)
