"""Boxes with scroll bars: no box of any figure is a few pixels too small for its content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator

from attnwidget import (
    AtlasView,
    CoreferenceView,
    DependencyArcs,
    Document,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    RelationTable,
    explore,
    load_model,
)
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words import probe_coreference, probe_relations
from browser.overflow import BARELY, barely_scrolling
from browser.pages import Watched, watched
from browser.settled import settle

pytestmark = pytest.mark.browser

TEXT = "The captain told his men that he would not leave the ship until they were safe."
WIDTHS = (380, 750, 1003, 1420)
#: By device pixels of a pixel, which are 80 to 200 % zoom: the fonts of the host.
OWN = ""
ZOOMS = {
    0.8: (OWN,),
    0.9: (OWN,),
    1.1: (OWN, "'DejaVu Serif', serif"),
    1.25: (OWN,),
    1.5: (OWN, "'DejaVu Serif', serif"),
    1.75: (OWN,),
    2.0: (OWN,),
}
# The width of a figure in each of some frames.
WIDTHS_OF_FRAMES = """async (root) => {
  const widths = [];
  for (let frame = 0; frame < 12; frame++) {
    await new Promise((done) => requestAnimationFrame(done));
    widths.push(root.clientWidth);
  }
  return widths;
}"""
SET_FONT = "(font) => document.body.style.setProperty('--jp-ui-font-family', font)"


def _coreference() -> HeadWidget:
    words = ["The", "captain", "told", "his", "men", "a", "story", "."]
    spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men")]
    documents = [Document.from_spans(words, spans)]
    return CoreferenceView(probe_coreference(load_model(), documents, progress=False))


def _relations() -> HeadWidget:
    return RelationTable(probe_relations(load_model(), demo_treebank()[:20], progress=False))


def _arcs() -> HeadWidget:
    sentences = demo_treebank()[:20]
    relations = probe_relations(load_model(), sentences, progress=False)
    return DependencyArcs(load_model(), sentences, relations)


def _predictions() -> HeadWidget:
    view = PredictionView(load_model().attend(TEXT), 7, disabled=[(1, 8)])
    view.wait()
    return view


def _explorer(text: str = TEXT, **options: object) -> HeadWidget:
    explorer = explore(load_model(), text, treebank=False, panels=["grid", "view"], **options)
    explorer.wait()
    return explorer


def _of_a_word() -> HeadWidget:
    explorer = _explorer()
    explorer.tokens = [("query", 7), ("key", 2)]
    return explorer


FIGURES: dict[str, Callable[[], HeadWidget]] = {
    "explorer": _explorer,
    "explorer of a pair": _of_a_word,
    "explorer without a head": lambda: _explorer(disabled=[(1, 8)]),
    "explorer of a long text": lambda: _explorer(f"{TEXT} " * 6),
    "explorer of two texts": lambda: _explorer(versus_text=TEXT.replace("he", "she")),
    "grid": lambda: HeadGrid(load_model().attend(TEXT)),
    "grid with a metric": lambda: HeadGrid(
        load_model().attend(TEXT), metrics={"some": np.arange(72.0).reshape(6, 12)}, metric="some"
    ),
    "lines": lambda: HeadView(load_model().attend(TEXT), 1, 3),
    "matrix": lambda: HeadView(load_model().attend(TEXT), 1, 3, mode="matrix"),
    "several": lambda: HeadView(
        load_model().attend(TEXT), selected=[(1, 3), (2, 8)], arrangement="beside"
    ),
    "map": lambda: HeadScatter.from_positions(np.random.default_rng(0).normal(size=(6, 12, 2))),
    "table": _relations,
    "arcs": _arcs,
    "coreference": _coreference,
    "predictions": _predictions,
    "link": lambda: LinkView(load_model().attend(TEXT), 1, 3, query=7, key=2),
    "atlas": lambda: AtlasView(demo_atlas()),
}


def saved(name: str, folder: Path) -> str:
    widget = FIGURES[name]()
    path = widget.save(folder / "page.html")
    widget.close()
    return path.as_uri()


def opened(seen: Watched, address: str) -> Locator:
    seen.page.goto(address)
    root = seen.page.locator(".attnw-root").first
    root.wait_for()
    settle(root)
    return root


def test_browsers_of_tests_have_scroll_bars_that_take_room(seen: Watched) -> None:
    seen.page.set_content("<div class=attnw-root style='overflow-y: scroll; width: 99px'></div>")
    root = seen.page.locator(".attnw-root")
    assert root.evaluate("(root) => root.offsetWidth - root.clientWidth") > BARELY
    root.evaluate(
        "(root) => { root.style.height = '50px'; "
        "root.insertAdjacentHTML('beforeend', '<p style=\"margin: 0; height: 51px\">') }"
    )
    assert barely_scrolling(root) == ["attnw-root: 0 across, 1 down"]


@pytest.mark.parametrize("name", ["explorer of a pair"])
def test_no_box_is_a_few_pixels_too_small(name: str, seen: Watched, tmp_path: Path) -> None:
    root = opened(seen, saved(name, tmp_path))
    for width in WIDTHS:
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert barely_scrolling(root) == [], width
        assert root.evaluate("(root) => root.scrollWidth <= root.clientWidth"), width


def test_no_page_changes_its_width_for_ever(seen: Watched, tmp_path: Path) -> None:
    """A matrix is higher on a wider page: a scroll bar that takes room would come and go."""
    root = opened(seen, saved("matrix", tmp_path))
    for height in range(700, 1000, 20):
        seen.page.set_viewport_size({"width": 640, "height": height})
        seen.page.wait_for_timeout(100)
        assert len(set(root.evaluate(WIDTHS_OF_FRAMES))) == 1, height


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_no_box_is_a_few_pixels_too_small_at_any_zoom_and_in_any_font(
    name: str, browser: Browser, tmp_path: Path
) -> None:
    address = saved(name, tmp_path)
    for zoom, fonts in ZOOMS.items():
        with watched(browser, density=zoom) as seen:
            root = opened(seen, address)
            for font in fonts:
                seen.page.evaluate(SET_FONT, font)
                for width in WIDTHS:
                    # A window of the same device pixels has more pixels of the page at 80 %.
                    shown = max(WIDTHS[0], round(width / zoom))
                    seen.page.set_viewport_size({"width": shown, "height": 900})
                    assert barely_scrolling(root) == [], (zoom, font, shown)
            seen.assert_quiet()
