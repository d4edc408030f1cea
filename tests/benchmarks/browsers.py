"""The browser of the benchmarks of pages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.rows import NotMeasuredError, Row, row
from browser.notebook import LiveNotebook
from browser.pages import chromium, launched
from browser.servers import jupyter

# Busy milliseconds of an empty frame, 60 times.
EMPTY_FRAMES = """async () => {
  const busy = [];
  for (let i = 0; i < 60; i++) {
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    await new Promise(requestAnimationFrame);
    busy.push(performance.now() - start);
  }
  return busy;
}"""


@contextmanager
def open_browser() -> Iterator[tuple[Browser, Path]]:
    """Yield a browser and an empty folder.

    Raises:
        NotMeasuredError: There is no Chromium.
    """
    if chromium() is None:
        raise NotMeasuredError("no Chromium: install it, or name one in the variable CHROMIUM")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = launched(playwright)
        yield browser, Path(folder)
        browser.close()


@contextmanager
def open_notebook(cells: Sequence[str], height: int = 2600) -> Iterator[tuple[LiveNotebook, Page]]:
    """Yield a notebook in JupyterLab and its page; NotMeasuredError without Chromium."""
    with open_browser() as (browser, folder), jupyter(folder) as server:
        page = browser.new_page(viewport={"width": 1700, "height": height})
        notebook = LiveNotebook(page, server, "lab/tree", "bench", cells)
        yield notebook, page
        notebook.close()


def beside(
    step: str, base: str, milliseconds: Sequence[float], others: Sequence[float], **options: float
) -> Row:
    """Return the row of a step of a page, beside the median of another step."""
    middle = sorted(others)[len(others) // 2] / 1e3
    seconds = [own / 1e3 for own in milliseconds]
    return row(step, base, seconds, [middle] * len(seconds), **options)
