"""Draw the figures of the analyses by running the code on their pages: `figures.py FOLDER`.

A figure is what a block of code ends with when a picture follows the block; it is written once for
each theme, to FOLDER/figures.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from page_code import code_blocks, run_block

import attnwidget

PAGES = Path(__file__).parent / "pages"


def draw(value: Any, stem: Path) -> None:
    """Write a chart's or a widget's picture, STEM-light.svg and STEM-dark.svg.

    Raises:
        TypeError: there is nothing to draw.
    """
    for theme in ("light", "dark"):
        path = stem.with_name(f"{stem.name}-{theme}.svg")
        if isinstance(value, alt.TopLevelMixin):
            chart: Any = attnwidget.charts.in_dark(value) if theme == "dark" else value
            path.write_text(vl_convert.vegalite_to_svg(chart.to_dict()), "utf-8")
        elif hasattr(value, "save"):
            value.save(path, theme=theme)
        else:
            raise TypeError(f"{stem.name}: a block ends with {type(value).__name__}, no figure")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for page in sorted(PAGES.glob("analyses/*.md")):
        names: dict[str, Any] = {}
        start = time.perf_counter()
        for block in code_blocks(page.read_text("utf-8")):
            if block.runs:
                value = run_block(block, names, f"<{page.name}>")
                if block.figure:
                    draw(value, folder / "figures" / block.figure)
        print(f"{page.stem}: {time.perf_counter() - start:.1f} s", flush=True)
    write_first_look(folder)
    attnwidget.demo.demo_atlas().save(folder / "atlas.html")


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
