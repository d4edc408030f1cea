"""Film a live explorer in JupyterLab: `python docs/readme_animation.py`.

Writes docs/images/explorer.webp, the moving picture of the README: two words answer one after the
other, a pair asks which heads link it, and the head that the answer depends on is shown and
switched off. Needs Chromium, as the browser tests do. With `--frames FOLDER`, each frame is a PNG
file there.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator
from readme_picture import live_explorer

from browser.figures import GridOnPage
from browser.notebook import LiveNotebook

FILM = Path(__file__).parents[1] / "docs" / "images" / "explorer.webp"
WIDTH = 1070  # of the explorer, in pixels
LARGEST = 1_500_000
"""Bytes that a page on a slow connection can wait for."""
QUALITY = 82
MOST = (2, 11)

# Screenshots have no pointer, so an arrow follows the mouse.
POINTER = """() => {
  const arrow = document.createElement("div");
  arrow.innerHTML = `<svg width="20" height="26" viewBox="0 0 20 26"><path fill="#000"
    stroke="#fff" stroke-width="1.5" d="M1 1v20l5-5 3 8 4-2-3-7h7z"/></svg>`;
  arrow.style.cssText = "position:fixed;left:-50px;top:0;z-index:99999;pointer-events:none";
  document.body.append(arrow);
  document.addEventListener("mousemove", (event) => {
    arrow.style.left = `${event.clientX}px`;
    arrow.style.top = `${event.clientY}px`;
  }, true);
}"""


class Film:
    """The frames so far, and the milliseconds that each is shown."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.frames: list[Image.Image] = []
        self.times: list[int] = []

    def take(self, milliseconds: int) -> None:
        """Photograph the explorer when its figures have settled."""
        self.root.page.wait_for_timeout(1500)
        shot = Image.open(io.BytesIO(self.root.screenshot()))
        self.frames.append(shot.convert("RGB"))
        self.times.append(milliseconds)

    def save(self, path: Path) -> None:
        """Write an animated WebP that repeats for ever.

        Raises:
            ValueError: The file is larger than LARGEST.
        """
        height = max(frame.height for frame in self.frames)
        sheets = []
        for frame in self.frames:
            sheet = Image.new("RGB", (self.frames[0].width, height), "white")
            sheet.paste(frame)
            sheets.append(sheet)
        sheets[0].save(
            path,
            save_all=True,
            append_images=sheets[1:],
            duration=self.times,
            loop=0,
            quality=QUALITY,
            method=6,
        )
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes, at most {LARGEST:,}")


def play(notebook: LiveNotebook, root: Locator) -> Film:
    """Do what a reader does in the first minute."""
    page = root.page
    film = Film(root)
    page.evaluate(POINTER)
    film.take(2200)
    words = root.get_by_role("toolbar").get_by_role("button")
    # The word of the story, "he", is locked: another one that is pointed at answers in its place.
    his, captain = words.nth(4), words.nth(2)
    his.hover()
    film.take(1600)
    captain.hover()
    film.take(1000)
    captain.click()
    notebook.wait_for_value("explorer.tokens", [("query", 7), ("key", 2)])
    film.take(2600)
    # The head without which the answer changes most, as the figure says.
    GridOnPage(root).click(*MOST)
    notebook.wait_for_value("explorer.selected", [(*MOST, "self")])
    film.take(2400)
    page.keyboard.press("x")
    notebook.wait_for_value("explorer.disabled", [(*MOST, "self")])
    notebook.run_in_kernel("explorer.wait()")
    film.take(2600)
    return film


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--frames", type=Path, help="folder for the frames as PNG files")
    options = parser.parse_args()
    with live_explorer(WIDTH) as (notebook, root):
        film = play(notebook, root)
    if options.frames:
        options.frames.mkdir(parents=True, exist_ok=True)
        for number, frame in enumerate(film.frames):
            frame.save(options.frames / f"{number}.png")
    film.save(FILM)


if __name__ == "__main__":
    main()
