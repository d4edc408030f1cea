"""The pictures of RelationTable and MetricStrip: the rows, the selection and the numbers shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import comm
import ipywidgets
import numpy as np
import pandas as pd
import pytest
import vl_convert

from attnwidget import load_model
from attnwidget.figures.metric_strip import metric_strip
from attnwidget.figures.printed import figures, percent, signed, whole
from attnwidget.figures.relation_table import relation_table
from attnwidget.figures.theme import DARK, LIGHT
from attnwidget.studies.relations import RelationAccuracies, probe_relations
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.head_map import HeadMap
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.relation_table import RelationTable
from recording import RecordingComm

SVG = "{http://www.w3.org/2000/svg}"
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


@pytest.fixture(scope="module")
def found() -> RelationAccuracies:
    return probe_relations(load_model(), SENTENCES, progress=False)


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    ipywidgets.Widget.close_all()


def drawn(widget: RelationTable | MetricStrip | HeadMap, **options: object) -> ElementTree.Element:
    chart = widget.figure(**options)
    return ElementTree.fromstring(vl_convert.vegalite_to_svg(chart.to_dict()))


def texts(root: ElementTree.Element) -> list[str]:
    written = (e.itertext() for e in root.iter(f"{SVG}text"))
    return [line for lines in written for line in lines]


def place(element: ElementTree.Element) -> tuple[float, float]:
    x, y = re.findall(r"[-\d.]+", element.attrib["transform"])
    return float(x), float(y)


def paths(root: ElementTree.Element, **look: str) -> list[ElementTree.Element]:
    named = {name.replace("_", "-"): value for name, value in look.items()}
    return [p for p in root.iter(f"{SVG}path") if all(p.get(k) == v for k, v in named.items())]


def extent(path: ElementTree.Element) -> tuple[float, float]:
    """Width and height of a rectangle."""
    numbers = np.array(re.findall(r"-?[\d.]+", path.attrib["d"]), dtype=float)
    corners = numbers[: len(numbers) // 2 * 2].reshape(-1, 2)
    width, height = np.ptp(corners, axis=0)
    return float(width), float(height)


def text_at(root: ElementTree.Element, text: str) -> tuple[float, float]:
    return next(place(e) for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == text)


# Relations


def printed_row(row: dict[str, object]) -> list[str]:
    n = row["n"]
    return [
        str(row["relation"]),
        f"{n:,}",
        f"L{row['layer']} H{row['head']}",
        "dep → gov" if row["direction"] == "dependent to governor" else "gov → dep",
        *(percent(row["accuracy"], n), f"{percent(row['low'], n)}–{percent(row['high'], n)}"),
        *(percent(row["baseline"], n), signed(row["offset"]), percent(row["gain"], n)),
    ]


@pytest.mark.parametrize("sort", ["relation", "n", "accuracy", "gain"])
def test_every_row_is_text_in_the_order_shown(found: RelationAccuracies, sort: str) -> None:
    table = RelationTable(found, min_count=2, sort=sort, descending=sort != "relation")
    frame = table.to_frame()
    root = drawn(table)
    ordered = sorted((place(e)[1], "".join(e.itertext())) for e in root.iter(f"{SVG}text"))
    names = [text for _, text in ordered if text in set(frame["relation"])]
    assert names == list(frame["relation"]) and len(names) > 2
    for row in frame.to_dict("records"):
        y = text_at(root, row["relation"])[1]
        beside = {"".join(e.itertext()) for e in root.iter(f"{SVG}text") if place(e)[1] == y}
        assert set(printed_row(row)) <= beside
    assert f"{len(frame)} of {len(table._relations())} rows" in " ".join(texts(root))


def test_bars_are_as_long_as_accuracies(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=1)
    frame = table.to_frame()
    bars = paths(drawn(table), fill=LIGHT.ramp[4])
    lengths = [extent(bar)[0] for bar in sorted(bars, key=lambda bar: place(bar)[1])]
    np.testing.assert_allclose(lengths, 94 * frame["accuracy"], atol=0.02)
    ticks = sorted(paths(drawn(table), stroke=LIGHT.second), key=lambda tick: place(tick)[1])
    at = [float(re.findall(r"[\d.]+", tick.attrib["d"])[0]) for tick in ticks]
    np.testing.assert_allclose(at, 1 + 94 * frame["baseline"], atol=0.051)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_selected_head_is_framed_on_its_cell(found: RelationAccuracies, theme: str) -> None:
    table = RelationTable(found, min_count=1, relation="det", selected=[(3, 8), (1, 2)])
    root = drawn(table, theme=theme)
    colours = DARK if theme == "dark" else LIGHT
    frames = paths(root, stroke=colours.accent)
    cells = {place(cell) for cell in paths(root) if cell.get("fill", "").startswith("rgb")}
    columns, rows = (sorted({cell[i] for cell in cells}) for i in (0, 1))
    assert (len(columns), len(rows)) == (12, 6)
    at = {(rows.index(place(frame)[1]), columns.index(place(frame)[0])) for frame in frames}
    assert at == {(3, 8), (1, 2)}
    said = " ".join(texts(root))
    assert "every head on det" in said and "L1 H2:" in said and "dependent to governor" in said


def test_a_notebook_keeps_the_first_rows_and_the_chosen_one() -> None:
    words = [f"w{i}" for i in range(25)]
    labels = [f"rel{i:02}" for i in range(25)]
    sentence = Sentence.from_lists(words, [0, *range(1, 25)], labels)
    many = probe_relations(load_model(), [sentence], progress=False)
    table = RelationTable(many, min_count=1, sort="relation", descending=False, relation="rel24")
    kept = table._saved_with_notebook()
    assert "21 of 26 rows" in kept.caption.text() and "26 of 26 rows" in table.caption.text()
    assert kept.height < table.static().height - 80


def test_the_chosen_row_is_marked(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=1)
    table.choose("nsubj")
    root = drawn(table)
    name = next(e for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == "nsubj")
    assert name.get("font-weight") == "600"
    (band,) = paths(root, fill=LIGHT.accent, fill_opacity="0.14")
    first = float(re.findall(r"[-\d.]+", band.attrib["d"])[1])
    assert 0 < text_at(root, "nsubj")[1] - first < 25


def test_an_empty_table_says_so(found: RelationAccuracies) -> None:
    table = RelationTable(found, search="zz")
    said = " ".join(texts(drawn(table, width=480)))
    assert "No relation is left" in said and "every head on all words" in said
    assert "0 of" in table.caption.text() and "“zz”" in table.caption.text()
    assert table._table().empty and "relation" in table._table().columns


@pytest.mark.parametrize("width", [None, 320, 480, 700, 1200])
def test_nothing_lies_outside_the_figure(found: RelationAccuracies, width: int | None) -> None:
    table = RelationTable(found, min_count=2, relation="det", selected=[(3, 8)])
    root = drawn(table, width=width)
    x, _, whole_width, height = map(float, root.attrib["viewBox"].split())
    if width and width >= 480:
        assert whole_width <= width + 2
    for element in [*root.iter(f"{SVG}text"), *paths(root, stroke=LIGHT.accent)]:
        if element.get("transform"):
            at_x, at_y = place(element)
            assert x - 10 <= at_x <= whole_width and at_y <= height
    sizes = {float(e.get("font-size", "12px")[:-2]) for e in root.iter(f"{SVG}text")}
    assert min(sizes) >= 10


def test_the_accessible_table_has_the_numbers_of_the_frame(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=1)
    frame, short = table.to_frame(), table._table()
    assert len(short) == min(20, len(frame))
    for (_, row), shown in zip(frame.iterrows(), short.to_dict("records"), strict=False):
        assert shown["accuracy %"] == percent(row["accuracy"], row["n"])
        assert shown["gain"].rstrip("*") == percent(row["gain"], row["n"])
        assert shown["best head"] == f"L{row['layer']} H{row['head']}"


def test_a_caption_names_what_is_shown(found: RelationAccuracies) -> None:
    table = RelationTable(found, min_count=2, significant=True, relation="det", selected=[(3, 8)])
    text = table.caption.text()
    for part in ("L3 H8 (4-9)", "at least 2 words", "only better than the offset", "Wilson"):
        assert part in text
    assert "map: every head on det, dependent to governor" in text


# Metrics

METRICS = {
    "entropy": np.arange(12.0).reshape(3, 4) ** 2 / 7,
    HOSTILE + "x" * 80: np.arange(12.0).reshape(3, 4) * -1e7,
    "constant": np.full((3, 4), 0.25),
}


def test_every_metric_is_text_with_its_numbers() -> None:
    strip = MetricStrip(METRICS, selected=[(0, 2), (2, 1)])
    root = drawn(strip)
    said = texts(root)
    frame = strip.to_frame()
    for _, row in frame.iterrows():
        assert figures(row["value"]) in said
        assert f"{whole(row['percentile'])} %" in said
    joined = re.sub(r"\s", "", "".join(said))
    assert all(re.sub(r"\s", "", title) in joined for title in METRICS)
    assert "L2 H1 · 3-2" in said
    assert {figures(v) for values in METRICS.values() for v in (values.min(), values.max())} <= set(
        said
    )
    pd.testing.assert_frame_equal(strip._table(), frame)


def test_marks_stand_where_values_are() -> None:
    strip = MetricStrip({"a": METRICS["entropy"]}, selected=[(0, 0), (2, 3)])
    root = drawn(strip, width=736)
    marks = [float(re.findall(r"[\d.]+", p.attrib["d"])[0]) for p in paths(root, **MARK)]
    assert marks == sorted(marks) and len(marks) == 2
    (track,) = [p for p in paths(root, stroke=LIGHT.hairline) if place(p)[0] > 0]
    first, _, last = map(float, re.findall(r"[\d.]+", track.attrib["d"])[:3])
    assert marks == pytest.approx([first, last], abs=0.02)
    assert len(paths(root, fill=LIGHT.accent)) == 1


MARK = {"stroke": LIGHT.accent, "stroke_width": "2"}


def test_a_strip_of_a_thousand_heads_stays_small() -> None:
    values = np.random.default_rng(0).normal(size=(32, 32))
    strip = MetricStrip({f"m{i}": values for i in range(8)}, selected=[(5, 5)])
    root = drawn(strip)
    assert len(list(root.iter(f"{SVG}path"))) < 150


def test_without_a_selection_the_figure_says_so() -> None:
    strip = MetricStrip(METRICS)
    assert "No head is selected" in " ".join(texts(drawn(strip, width=480)))
    assert strip._table().empty and "no head selected" in strip.caption.text()


def test_wrong_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="columns value, percentile"):
        metric_strip(pd.DataFrame({"metric": ["a"]}), [], marked=[], head="", title="t")
    frame = pd.DataFrame({"metric": ["a"], "value": [1.0], "percentile": [50.0]})
    with pytest.raises(ValueError, match="1 rows and 0 strips"):
        metric_strip(frame, [], marked=[], head="", title="t")
    heat = type("Heat", (), {})()
    with pytest.raises(ValueError, match="columns relation, n"):
        relation_table(frame, heat=heat, sort="n", descending=True, said="", title="t")


# How JavaScript prints these, by `toFixed` and `toPrecision`.
PRINTED = {
    0.0005: "0.0005",
    0.00049: "4.9e-4",
    -1234.5: "−1230",
    0.1235: "0.123",
    9995: "10000",
    999_999: "1000000",
    9.96e6: "1.0e7",
    -2.5e-9: "-2.5e-9",
    12.5: "12.5",
}


@pytest.mark.parametrize("value", PRINTED)
def test_numbers_are_printed_as_on_the_page(value: float) -> None:
    assert figures(value) == PRINTED[value]


@pytest.mark.parametrize(
    ("share", "n", "said"),
    [
        (1 / 8, 8, "13"),
        (0.5, 100, "50.0"),
        (-0.125, 8, "−13"),
        (0.0005, 1000, "0.1"),
        (1, 9, "100"),
    ],
)
def test_shares_are_printed_as_on_the_page(share: float, n: int, said: str) -> None:
    assert percent(share, n) == said
