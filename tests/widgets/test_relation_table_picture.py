"""The picture of a RelationTable: its rows, the chosen relation, the map of all heads."""

from __future__ import annotations

import dataclasses
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from attnwidget import load_model
from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.picture import Picture
from attnwidget.drawing.static_figure import static_figure
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.relation_table import RelationTable
from attnwidget.words.relations import RelationAccuracies, probe_relations
from fixtures.svg_picture import css, elements, fills, number, offset, ramp_table, strokes, texts

pytestmark = pytest.mark.usefixtures("recording")

HOSTILE = "<script>alert('x')</script> & \"quotes\" ]]> \\n"
SENTENCES = [
    Sentence.from_lists(
        ["The", "old", "cat", "sat", "on", "my", "mat"],
        [3, 3, 4, 0, 7, 7, 4],
        ["det", "amod", "nsubj", "root", "case", HOSTILE, "obl"],
    ),
    Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence.from_lists(
        ["The", "end", "of", "the", "day"],
        [2, 0, 5, 5, 2],
        ["det", "root", "case", "det", "nmod"],
    ),
]
#: Height of a row, of a bar, and of the tick of the best offset.
ROW = 25
BAR = 8
TICK = 14


@pytest.fixture(scope="module")
def found() -> RelationAccuracies:
    return probe_relations(load_model(), SENTENCES, progress=False)


@pytest.fixture(scope="module")
def many() -> RelationAccuracies:
    words = [f"w{i}" for i in range(25)]
    labels = [f"rel{i:02}" for i in range(25)]
    sentence = Sentence.from_lists(words, [0, *range(1, 25)], labels)
    return probe_relations(load_model(), [sentence], progress=False)


def place(element: ElementTree.Element) -> tuple[float, float]:
    (x, y), (dx, dy) = offset(element), (number(element, "x"), number(element, "y"))
    return x + dx, y + dy


def text_at(picture: Picture, text: str) -> tuple[float, float]:
    return next(place(element) for element in elements(picture, "text") if element.text == text)


def rectangles(picture: Picture, height: float) -> list[ElementTree.Element]:
    """Filled rectangles of a height, from top to bottom."""
    found = [each for each in elements(picture, "rect") if number(each, "height") == height]
    return sorted((each for each in found if each.get("fill") != "none"), key=lambda e: place(e)[1])


def percent(share: float, n: int) -> str:
    """A share in per cent, with as many digits as a count of `n` bears."""
    digits = Decimal("0.1") if n >= 100 else Decimal(1)
    return str(Decimal(100 * share).quantize(digits, ROUND_HALF_UP)).replace("-", "−")


def printed_row(row: dict[str, Any]) -> list[str]:
    n = row["n"]
    return [
        str(row["relation"]),
        f"{n:,}",
        f"L{row['layer']} H{row['head']}",
        "governor" if row["direction"] == "dependent to governor" else "dependent",
        percent(row["accuracy"], n),
        f"{percent(row['low'], n)}–{percent(row['high'], n)}",
        percent(row["baseline"], n),
        f"{row['offset']:+}".replace("-", "−"),
        percent(row["gain"], n),
    ]


def drawn_rows(table: RelationTable) -> pd.DataFrame:
    """The rows of a picture: each relation once, and no row of all words."""
    frame = table.to_frame()
    names = set(frame["relation"])
    repeated = frame["relation"].map(lambda name: name == "all" or f"{name} (all)" in names)
    return frame[~repeated].head(table.picture_rows).reset_index(drop=True)


@pytest.mark.parametrize(
    "sort", ["relation", "n", "head", "direction", "accuracy", "baseline", "gain"]
)
def test_every_row_is_text_in_the_order_shown(found: RelationAccuracies, sort: str) -> None:
    table = RelationTable(found, min_count=2, sort=sort, descending=sort != "relation")
    frame = drawn_rows(table)
    picture = table.figure()
    ordered = sorted((place(e)[1], e.text) for e in elements(picture, "text"))
    names = [text for _, text in ordered if text in set(frame["relation"])]
    assert names == list(frame["relation"]) and len(names) > 2
    for row in frame.to_dict("records"):
        y = text_at(picture, row["relation"])[1]
        beside = {e.text for e in elements(picture, "text") if place(e)[1] == y}
        assert set(printed_row(row)) <= beside
        assert ("*" in beside) == row["significant"]
    assert f"{len(frame)} of {len(table.relations())} rows" in " ".join(texts(picture))


def test_bars_are_as_long_as_accuracies(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=1)
    picture = table.figure(width=900)
    frame = drawn_rows(table)
    bars = rectangles(picture, BAR)
    tracks = [each for each in fills(picture, LIGHT.hairline) if number(each, "x") == 1]
    length = number(tracks[0], "width")
    assert length > 90 and len(bars) == len(tracks) == len(frame)
    lengths = [number(bar, "width") for bar in bars]
    np.testing.assert_allclose(lengths, length * frame["accuracy"], atol=0.001)
    ticks = rectangles(picture, TICK)
    assert {tick.get("fill") for tick in ticks} == {LIGHT.second}
    at = [number(tick, "x") + 1 for tick in ticks]
    np.testing.assert_allclose(at, 1 + length * frame["baseline"], atol=0.001)
    # The interval is drawn twice: its halo, then the line, from one end to the other.
    drawn = strokes(picture, LIGHT.text)
    ends = [list(map(float, re.findall(r"[ML]([\d.]+)", each.get("d", "")))) for each in drawn]
    expected = 1 + length * frame[["low", "high"]].to_numpy()
    np.testing.assert_allclose([each[:2] for each in ends], expected, atol=0.001)
    assert len(strokes(picture, LIGHT.ground)) == len(drawn)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_cell_has_its_heads_accuracy(found: RelationAccuracies, theme: ThemeName) -> None:
    table = RelationTable(found, min_count=1, relation="det", selected=[(3, 8), (1, 2)])
    picture = table.figure(theme=theme)
    accuracy = found.accuracy[:, :, 0, found.relations.index("det")]
    squares = [e for e in elements(picture, "rect") if e.get("width") == e.get("height")]
    cells = [e for e in squares if e.get("fill") != "none"]
    columns, rows = (sorted({place(cell)[i] for cell in cells}) for i in (0, 1))
    assert (len(columns), len(rows)) == accuracy.shape[::-1] == (12, 6)
    levels = np.floor(255 * accuracy / accuracy.max() + 0.5).astype(int)
    colors = ramp_table(theme)[levels]
    for cell in cells:
        x, y = place(cell)
        assert cell.get("fill") == css(colors[rows.index(y), columns.index(x)])
    accent = (DARK if theme == "dark" else LIGHT).accent
    frames = [e for e in squares if e.get("stroke") == accent]
    at = [(rows.index(y + 1), columns.index(x + 1)) for x, y in map(place, frames)]
    assert at == [(3, 8), (1, 2)]
    said = " ".join(texts(picture))
    assert "every head on det" in said and "dependent to governor" in said
    hits = round(3 * accuracy[1, 2])
    n = 3
    assert f"L1 H2: {percent(hits / n, n)}\xa0% of 3 words (95\xa0% interval" in said


def test_a_dot_marks_heads_that_are_better_than_the_offset(found: RelationAccuracies) -> None:
    p_values = np.ones_like(found.p_values)
    p_values[2, 5, 0] = 0.01
    p_values[4, 1, 0] = 0.049
    p_values[4, 2, 0] = 0.051
    marked = dataclasses.replace(found)
    vars(marked)["p_values"] = p_values
    picture = RelationTable(marked, min_count=1, relation="det").figure()
    squares = [e for e in elements(picture, "rect") if e.get("width") == e.get("height")]
    cells = [place(e) for e in squares if e.get("fill") != "none"]
    dots = [e for e in elements(picture, "path") if "A" in e.get("d", "")]
    starts = [re.findall(r"M([\d.]+) ([\d.]+)", dot.get("d", ""))[0] for dot in dots]
    columns, rows = (sorted({cell[i] for cell in cells}) for i in (0, 1))
    at = [
        tuple(
            int((float(place) + moved - first[0]) // (first[1] - first[0]))
            for place, moved, first in zip(start, offset(dot), (columns, rows), strict=True)
        )
        for start, dot in zip(starts, dots, strict=True)
    ]
    assert at == [(5, 2), (1, 4)]


@pytest.mark.slow
def test_a_notebook_keeps_the_first_rows_and_the_chosen_one(many: RelationAccuracies) -> None:
    table = RelationTable(many, min_count=1, sort="relation", descending=False, relation="rel24")
    kept = static_figure(table.figure(), brief=True)
    assert "21 of 26 rows" in kept.caption.text() and "21 of 26 rows" in table.caption.text()
    table.picture_rows = 30
    assert "25 of 26 rows" in table.caption.text()
    assert kept.height < table.static().height - 80
    table.picture_rows = 20
    drawn = table.figure().drawn(brief=True).body
    assert re.findall(r"rel\d\d(?=</text>)", drawn)[-1] == "rel24" and ">rel23<" not in drawn
    table.relation = "rel03"
    text = static_figure(table.figure(), brief=True).caption.text()
    assert "20 of 26 rows" in text


def test_the_chosen_row_is_marked(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=1)
    table.choose("nsubj")
    picture = table.figure()
    (name,) = [e for e in elements(picture, "text") if e.text == "nsubj"]
    assert name.get("font-weight") == "700"
    others = [e for e in elements(picture, "text") if e.text in {"det", "obj"}]
    assert len(others) == 2 and not any(e.get("font-weight") for e in others)
    band, mark = fills(picture, LIGHT.accent)
    assert band.get("fill-opacity") == "0.14" and number(band, "height") == ROW
    assert 0 < place(name)[1] - place(band)[1] < ROW and place(mark) == place(band)


def test_an_empty_table_says_so(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=2000)
    said = " ".join(texts(table.figure(width=480)))
    assert "No relation is left" in said and "every head on" not in said
    assert table.figure().table.empty and "relation" in table.figure().table.columns


@pytest.mark.parametrize("width", [None, 320, 416, 480, 700, 1200])
def test_nothing_lies_outside_the_figure(found: RelationAccuracies, width: int | None) -> None:
    table = RelationTable(found, min_count=2, relation="det", selected=[(3, 8)])
    picture = table.figure(width=width)
    root = ElementTree.fromstring(picture.svg)
    _, _, whole_width, height = map(float, root.attrib["viewBox"].split())
    if width and width >= 416:
        assert whole_width == width
    for element in [*elements(picture, "text"), *elements(picture, "rect")]:
        x, y = place(element)
        wide = number(element, "width")
        high = number(element, "height")
        assert x >= 0 and y >= 0
        assert x + wide <= whole_width and y + high <= height
    assert min(number(e, "font-size") for e in elements(picture, "text") if e.text != "▼") >= 10


@pytest.mark.parametrize(
    ("width", "bars", "intervals"), [(700, 1, 1), (480, 1, 1), (448, 0, 1), (416, 0, 0)]
)
def test_narrow_tables_leave_out_bars_then_intervals(
    found: RelationAccuracies, width: int, bars: int, intervals: int
) -> None:
    table = RelationTable(found, min_count=2)
    picture = table.figure(width=width)
    frame = drawn_rows(table)
    assert len(rectangles(picture, BAR)) == bars * len(frame)
    assert sum("–" in text for text in texts(picture)) == intervals * len(frame)
    assert ("bar: accuracy" in picture.caption.text()) == bool(bars)


@pytest.mark.parametrize("width", [None, 480, 1200])
def test_the_map_stands_below_the_table_in_one_column(
    found: RelationAccuracies, width: int | None
) -> None:
    picture = RelationTable(found, min_count=2, relation="det").figure(width=width)
    table, heat = picture.drawing.figures
    assert heat[0] == table[0] and heat[1] >= table[1] + table[3]
    assert picture.drawing.width == (width or 640)
    assert len(RelationTable(found, min_count=2).figure().drawing.figures) == 1


def test_a_long_name_is_cut_short_where_it_has_to_be_and_stays_text(
    found: RelationAccuracies,
) -> None:
    table = RelationTable(found, min_count=1)
    assert HOSTILE in texts(table.figure(width=900))
    picture = table.figure(width=320)
    assert float(ElementTree.fromstring(picture.svg).attrib["viewBox"].split()[2]) == 320
    name = next(e for e in elements(picture, "text") if (e.text or "").startswith("<script"))
    assert (name.text or "").endswith("…") and HOSTILE.startswith((name.text or "")[:-1])
    gain = table.to_frame().set_index("relation").loc[HOSTILE, "gain"]
    row = [e for e in elements(picture, "text") if place(e)[1] == place(name)[1]]
    assert f"{100 * gain:.0f}".replace("-", "−") in {e.text for e in row}
    assert HOSTILE in list(picture.table["relation"])


def test_the_accessible_table_has_the_numbers_of_the_frame(
    found: RelationAccuracies, many: RelationAccuracies
) -> None:
    table = RelationTable(found, min_count=1)
    frame = drawn_rows(table)
    short = table.figure().table
    assert len(short) == min(20, len(frame))
    for row, shown in zip(frame.to_dict("records"), short.to_dict("records"), strict=False):
        assert shown["accuracy %"] == percent(row["accuracy"], row["n"])
        assert shown["gain"].rstrip("*") == percent(row["gain"], row["n"])
        assert shown["gain"].endswith("*") == row["significant"]
        assert shown["best head"] == f"L{row['layer']} H{row['head']}"
        assert (shown["n"], shown["direction"]) == (row["n"], row["direction"])
        assert shown["95 % interval"] == printed_row(row)[5]
        assert [shown["offset %"], shown["offset"]] == printed_row(row)[6:8]
    long = RelationTable(many, min_count=1, sort="relation", descending=False)
    assert len(long.figure().table) == 20
    long.relation = "rel24"
    assert [len(long.figure().table), long.figure().table["relation"].iloc[-1]] == [21, "rel24"]
