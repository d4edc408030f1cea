"""The picture of MetricStrip: the numbers of a head, and where they stand among all."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.picture import Picture
from attnwidget.widgets.metric_strip import MetricStrip
from fixtures.svg_picture import elements, fills, number, offset, strokes, texts

pytestmark = pytest.mark.usefixtures("recording")

HOSTILE = "<script>alert('x')</script> & \"quotes\" ]]> \\n"
METRICS = {
    "entropy": np.arange(12.0).reshape(3, 4) ** 2 / 7,
    HOSTILE + "x" * 80: np.arange(12.0).reshape(3, 4) * -1e7,
    "constant": np.full((3, 4), 0.25),
}


def left(mark: ElementTree.Element) -> float:
    return offset(mark)[0] + number(mark, "x")


def rows_of(picture: Picture) -> list[float]:
    """The heights at which the lines over the rows are."""
    lines = [e for e in fills(picture, LIGHT.hairline) if left(e) == 8]
    return sorted(offset(e)[1] + number(e, "y") for e in lines)


@pytest.mark.parametrize("width", [None, 480, 1200])
def test_every_metric_is_text_with_its_numbers(width: int | None) -> None:
    strip = MetricStrip(METRICS, selected=[(0, 2), (2, 1)])
    picture = strip.figure(width=width)
    written = texts(picture)
    # Of L2 H1: its values, its percentiles, the smallest and the largest values of all heads.
    assert {"11.6", "-9.0e7", "0.25"} <= set(written)
    assert {"82\xa0%", "18\xa0%", "50\xa0%"} <= set(written)
    assert {"0", "17.3", "-1.1e8", "0.25"} <= set(written)
    joined = re.sub(r"\s", "", "".join(written))
    assert all(re.sub(r"\s", "", title) in joined for title in METRICS)
    assert "L2 H1" in written
    pd.testing.assert_frame_equal(picture.table, strip.to_frame())


def test_marks_stand_where_values_are() -> None:
    strip = MetricStrip({"a": METRICS["entropy"]}, selected=[(0, 0), (2, 3)])
    picture = strip.figure(width=736)
    bars = [e for e in elements(picture, "rect") if e.get("fill") == LIGHT.accent]
    marks = [left(bar) + number(bar, "width") / 2 for bar in bars]
    assert marks == sorted(marks) and len(marks) == 2
    (track,) = [e for e in fills(picture, LIGHT.hairline) if left(e) > 8]
    ends = [left(track), left(track) + number(track, "width")]
    assert marks == pytest.approx(ends, abs=0.02)
    arrows = [e for e in elements(picture, "path") if e.get("fill") == LIGHT.accent]
    assert len(arrows) == 1


def test_ticks_add_up_where_heads_crowd() -> None:
    values = np.array([[0.0, 1.0, 1.0, 2.0]])
    picture = MetricStrip({"a": values}, selected=[(0, 0)]).figure(theme="dark")
    ticks = {
        e.get("stroke-opacity"): e.attrib["d"].count("M") for e in strokes(picture, DARK.muted)
    }
    assert ticks == {"0.45": 2, "0.698": 1}


def test_a_strip_of_a_thousand_heads_stays_small() -> None:
    values = np.random.default_rng(0).normal(size=(32, 32))
    strip = MetricStrip({f"m{i}": values for i in range(8)}, selected=[(5, 5)])
    picture = strip.figure()
    assert len(elements(picture, "path")) < 150
    assert "1,024 heads" in strip.caption.notes


def test_without_a_selection_the_figure_says_so() -> None:
    strip = MetricStrip(METRICS)
    picture = strip.figure(width=480)
    assert "Select a head" in " ".join(texts(picture))
    assert picture.table.empty and "no head selected" in picture.caption.text()
    assert list(picture.table.columns) == list(strip.to_frame().columns)


def test_one_head_alone_has_no_percentile() -> None:
    picture = MetricStrip({"a": np.ones((1, 1))}, selected=[(0, 0)]).figure()
    assert "–" in texts(picture) and picture.table["percentile"].isna().all()


@pytest.mark.parametrize("width", [200, 320, 480, 1200])
def test_nothing_lies_on_anything_else(width: int) -> None:
    picture = MetricStrip(METRICS, selected=[(2, 1)]).figure(width=width)
    *_, (x, y, across, down) = picture.drawing.figures
    assert x + across <= picture.drawing.width
    rows = [*rows_of(picture), y + down]
    assert len(rows) == 4 and min(np.diff(rows)) >= 37
    (heading,) = [e for e in elements(picture, "text") if e.text == "percentile"]
    assert left(heading) == x + across
    for text in elements(picture, "text"):
        assert offset(text)[0] + number(text, "x") <= picture.drawing.width
        assert number(text, "font-size") >= 10


def test_the_caption_says_what_is_shown() -> None:
    strip = MetricStrip(METRICS, selected=[(0, 2), (2, 1)])
    said = strip.caption
    assert (said.head, said.quantity) == ("L2 H1 (3-2)", "3 metrics")
    assert said.scale == "each strip from the smallest value to the largest"
    assert said.notes == (
        "12 heads",
        "percentile: the share of the other heads with a smaller value, ties by half",
        "2 selected heads are marked",
    )
    assert " ".join(said.notes) == " ".join(texts(strip.figure(width=1200))[-1:]).replace(
        " · ", " "
    )


def test_a_notebook_keeps_the_first_metrics_and_says_so() -> None:
    strip = MetricStrip({f"m{i}": np.ones((2, 2)) for i in range(25)}, selected=[(0, 0)])
    assert len(strip.figure().table) == 25
    kept = strip.figure().drawn(brief=True)
    assert len(kept.table) == 20 and "table: the first 20 of 25 rows" in kept.caption.notes
