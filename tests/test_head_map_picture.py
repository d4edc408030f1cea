"""The picture of HeadMap: the heads, their marks, the selection and the legend as shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import comm
import ipywidgets
import numpy as np
import pytest
import vl_convert

from attnwidget.figures.theme import DARK, LIGHT
from attnwidget.widgets.head_map import HeadMap
from recording import RecordingComm

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<b>zebra</b> & "co"'
NOTE = "metric MDS of Jensen-Shannon distances, 1,234 tokens · stress 0.5"
# Heads at (head, layer): none touches another.
POSITIONS = np.stack(np.indices((3, 4))[::-1], axis=-1).astype(float)
LABELS = np.array(
    [
        ["to [SEP]", "next token", "other", HOSTILE],
        ["to [SEP]", "to [SEP]", "other", HOSTILE],
        ["next token", "apple", "other", "other"],
    ]
)


@pytest.fixture(autouse=True)
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(comm, "create_comm", RecordingComm)
    yield
    ipywidgets.Widget.close_all()


def head_map(**options: object) -> HeadMap:
    return HeadMap.from_positions(POSITIONS, model_name="BertForMaskedLM", note=NOTE, **options)


def drawn(widget: HeadMap, **options: object) -> ElementTree.Element:
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


def numbers(root: ElementTree.Element) -> list[tuple[str, tuple[float, float]]]:
    """Layer numbers on the map, and where they stand."""
    bold = (e for e in root.iter(f"{SVG}text") if e.get("font-weight") == "600")
    return [("".join(e.itertext()), place(e)) for e in bold if e.get("text-anchor") == "middle"]


def test_each_head_is_its_layers_number_at_its_place() -> None:
    found = sorted(numbers(drawn(head_map())), key=lambda n: (-n[1][1], n[1][0]))
    assert [text for text, _ in found] == [str(layer) for layer in range(3) for _ in range(4)]
    places = np.array([at for _, at in found]).reshape(3, 4, 2)
    across, up = np.diff(places[0, :, 0]), -np.diff(places[:, 0, 1])
    # A unit is as long across as it is up.
    np.testing.assert_allclose(across, across[0], atol=0.02)
    np.testing.assert_allclose(up, across[0], atol=0.02)


def test_numbers_that_touch_are_parted_by_the_ground() -> None:
    crowded = POSITIONS.copy()
    crowded[1, 1] = crowded[1, 0] + 0.01
    root = drawn(HeadMap.from_positions(crowded))
    halos = [e for e in root.iter(f"{SVG}text") if e.get("stroke") == LIGHT.ground]
    assert ["".join(halo.itertext()) for halo in halos] == ["1"]
    assert len(numbers(root)) == 13


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("behaviours", [None, LABELS])
def test_selected_heads_are_ringed_and_the_last_is_named(
    theme: str, behaviours: np.ndarray | None
) -> None:
    widget = head_map(behaviours=behaviours, selected=[(0, 1), (2, 3)])
    root = drawn(widget, theme=theme)
    colours = DARK if theme == "dark" else LIGHT
    rings = [place(ring) for ring in paths(root, stroke=colours.accent)]
    assert len(rings) == 2
    assert "L2 H3" in texts(root)
    assert "selected 2 heads: L0 H1, L2 H3" in texts(root)
    if behaviours is None:
        shown = {at: text for text, at in numbers(root)}
        under = [
            text
            for x, y in rings
            for at, text in shown.items()
            if at[0] == x and at[1] - y < 5 and at[1] > y
        ]
        assert under == ["0", "2"]


def test_behaviours_have_a_colour_a_shape_a_name_and_a_count() -> None:
    root = drawn(head_map(behaviours=LABELS))
    said = texts(root)
    for name, count in {"to [SEP]": 3, "next token": 2, "apple": 1, HOSTILE: 2, "other": 4}.items():
        y = next(place(e)[1] for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == name)
        beside = {"".join(e.itertext()) for e in root.iter(f"{SVG}text") if place(e)[1] == y}
        assert name in said and str(count) in beside
    # The mark of each stands in the legend too; grey rings have no fill.
    for slot, count in {1: 3, 4: 2, 0: 2, 2: 1}.items():
        marks = paths(root, fill=LIGHT.series[slot])
        assert len(marks) == count + 1
        on_map = {mark.attrib["d"] for mark in marks}
        assert len(on_map) == 2, "one shape on the map, a smaller one in the legend"
    assert len(paths(root, stroke=LIGHT.rest)) == 5


def test_colour_by_layer_goes_from_the_first_to_the_last() -> None:
    root = drawn(head_map(behaviours=LABELS, color="layer"))
    assert {"layer 0", "2"} <= set(texts(root))
    assert "apple" not in texts(root)
    bold = [e for e in root.iter(f"{SVG}text") if e.get("text-anchor") == "middle"]
    colours = {"".join(e.itertext()): e.get("fill") for e in bold}
    rgb = ["rgb({},{},{})".format(*bytes.fromhex(LIGHT.layers[i][1:])) for i in (0, -1)]
    assert [colours["0"], colours["2"]] == rgb


@pytest.mark.parametrize(("width", "beside"), [(480, False), (719, False), (720, True)])
def test_the_legend_stands_beside_the_map_where_there_is_room(width: int, beside: bool) -> None:
    root = drawn(head_map(behaviours=LABELS), width=width)
    left = next(place(e)[0] for e in root.iter(f"{SVG}text") if "".join(e.itertext()) == "apple")
    assert (left > 450) == beside
    assert abs(float(root.attrib["viewBox"].split()[2]) - width) <= 2


def test_many_heads_are_small_and_one_head_is_drawn_in_the_middle() -> None:
    many = np.random.default_rng(0).normal(size=(24, 16, 2))
    sizes = {e.get("font-size") for e in drawn(HeadMap.from_positions(many)).iter(f"{SVG}text")}
    assert "10px" in sizes
    alone = HeadMap.from_positions(np.zeros((1, 1, 2)), selected=[(0, 0)])
    assert [text for text, _ in numbers(drawn(alone, width=480))] == ["0"]


def test_caption_and_table_say_what_is_shown() -> None:
    widget = head_map(behaviours=LABELS, selected=[(2, 3), (0, 1)])
    text = widget.caption.text()
    assert widget.caption.quantity == "positions given"
    for part in ("BertForMaskedLM", "L2 H3 (3-4), L0 H1 (1-2)", NOTE, "colours and shapes"):
        assert part in text
    assert NOTE in " ".join(texts(drawn(widget)))
    rows = widget._table().to_numpy().tolist()
    assert rows[:3] == [
        ["selected", 1, "L2 H3 (3-4)"],
        ["selected", 1, "L0 H1 (1-2)"],
        ["to [SEP]", 3, "L0 H0, L1 H0, L1 H1"],
    ]
    assert len(rows) == 7
    widget.selected = [(layer, head) for layer in range(3) for head in range(4)]
    widget.color = "layer"
    assert len(widget._table()) == 15
    assert "selected 12 heads: " in " ".join(texts(drawn(widget)))


def test_a_long_table_says_that_it_is_cut() -> None:
    widget = HeadMap.from_positions(np.random.default_rng(0).normal(size=(24, 16, 2)))
    assert len(widget._table()) == 20
    assert "table: the first 20 of 24 rows" in widget.caption.notes
