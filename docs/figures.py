"""Draw the figures of the documentation by running the code on its pages: `figures.py FOLDER`.

A figure is the last value of a block of code that a picture follows. Each figure is written once
for each theme to FOLDER/figures, as a picture; a widget also as a page that a reader can use.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import altair as alt
from page_code import CodeBlock, code_blocks, run_block

import attnwidget

PAGES = Path(__file__).parent / "pages"


def draw(value: Any, stem: Path) -> None:
    """Write the picture of a chart or a widget, STEM-light.svg and STEM-dark.svg.

    A widget is also written as STEM-light.html and STEM-dark.html.

    Raises:
        TypeError: there is nothing to draw.
    """
    for theme in ("light", "dark"):
        path = stem.with_name(f"{stem.name}-{theme}.svg")
        if isinstance(value, alt.TopLevelMixin):
            chart: Any = attnwidget.charts.in_dark(value) if theme == "dark" else value
            attnwidget.charts.offline(chart).save(path)
        elif hasattr(value, "save"):
            value.save(path, theme=theme)
            value.save(path.with_suffix(".html"), theme=theme)
        else:
            raise TypeError(f"{stem.name}: a block ends with {type(value).__name__}, no figure")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    # Pages share nothing. Each process takes 1 GB, so two are enough.
    spawned = get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 2), spawned) as processes:
        others = processes.submit(draw_others, folder)
        pages = processes.map(draw_page, sorted(PAGES.rglob("*.md")), repeat(folder / "figures"))
        for line in pages:
            print(line, end="", flush=True)
        others.result()


def draw_page(page: Path, folder: Path) -> str:
    """Draw the figures of a page, if it has any; return a line with the seconds that they took."""
    blocks = list(code_blocks(page.read_text("utf-8")))
    if not any(block.figure for block in blocks):
        return ""
    start = time.perf_counter()
    draw_figures(page, blocks, folder)
    return f"{page.stem}: {time.perf_counter() - start:.1f} s\n"


def draw_others(folder: Path) -> None:
    """Draw what belongs to no block of code: the page to try and the atlas of the demo."""
    write_first_look(folder)
    attnwidget.demo.demo_atlas().save(folder / "atlas.html")


def draw_figures(page: Path, blocks: Sequence[CodeBlock], folder: Path) -> None:
    """Run the blocks of a page in an empty folder, and draw the figures among them."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        for block in blocks:
            if block.runs:
                value = run_block(block, names, f"<{page.name}>")
                if block.figure:
                    draw(value, folder / block.figure)


@contextmanager
def chdir(folder: str) -> Iterator[None]:
    """Make a folder the current folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def write_first_look(folder: Path) -> None:
    """The page that the home page lets a reader try."""
    demo = attnwidget.demo.demo_texts()["pronouns"]
    attention = attnwidget.load_model().attend(demo.text)
    attnwidget.save_page(
        attention,
        folder / "first-look.html",
        selected=[demo.head],
        title="What the heads of a small BERT look at",
    )


if __name__ == "__main__":
    main()
