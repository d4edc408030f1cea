"""The picture of HeadScatter: the heads, their marks, the selection and the legend as shown."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from attnwidget.charts.theme import DARK, LIGHT
from attnwidget.drawing.picture import Picture
from attnwidget.widgets.head_scatter import HeadScatter
from fixtures.svg_picture import elements, fills, number, offset, strokes, texts

pytestmark = pytest.mark.usefixtures("recording")

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


def head_scatter(**options: object) -> HeadScatter:
    return HeadScatter.from_positions(POSITIONS, model_name="BertForMaskedLM", note=NOTE, **options)


def place(text: ElementTree.Element) -> tuple[float, float]:
    """Where a text's baseline begins, or its middle is."""
    x, y = offset(text)
    return round(x + number(text, "x"), 2), round(y + number(text, "y"), 2)


def center(ring: ElementTree.Element) -> tuple[float, float]:
    """The middle of a circle, which is written as the two ends of its diameter."""
    found = [float(n) for n in re.findall(r"[-\d.]+", ring.attrib["d"])]
    (x, y), (dx, dy) = ((found[0] + found[7]) / 2, found[1]), offset(ring)
    return round(x + dx, 2), round(y + dy, 2)


def outline(mark: ElementTree.Element) -> str:
    """The form of a mark, wherever it is."""
    found = re.findall(r"([MLA])([-\d. ]+)", mark.attrib["d"])
    corners = np.array([[float(n) for n in numbers.split()[-2:]] for _, numbers in found])
    return f"{''.join(letter for letter, _ in found)} {(corners - corners[0]).round(1).tolist()}"


def numbers(picture: Picture) -> list[tuple[str, tuple[float, float]]]:
    """Layer numbers on the map, and where they stand."""
    bold = (e for e in elements(picture, "text") if e.get("font-weight") == "700")
    return [(e.text or "", place(e)) for e in bold if e.get("text-anchor") == "middle"]


def test_each_head_is_its_layers_number_at_its_place() -> None:
    found = sorted(numbers(head_scatter().figure()), key=lambda n: (-n[1][1], n[1][0]))
    assert [text for text, _ in found] == [str(layer) for layer in range(3) for _ in range(4)]
    places = np.array([at for _, at in found]).reshape(3, 4, 2)
    across = np.diff(places[0, :, 0])
    up = -np.diff(places[:, 0, 1])
    # A unit is as long across as it is up.
    np.testing.assert_allclose(across, across[0], atol=0.02)
    np.testing.assert_allclose(up, across[0], atol=0.02)


def test_numbers_that_touch_are_parted_by_the_ground() -> None:
    crowded = POSITIONS.copy()
    crowded[1, 1] = crowded[1, 0] + 0.01
    picture = HeadScatter.from_positions(crowded).figure()
    halos = [e for e in elements(picture, "text") if e.get("stroke") == LIGHT.ground]
    assert [halo.text for halo in halos] == ["1"]
    assert len(numbers(picture)) == 13


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("behaviors", [None, LABELS])
def test_selected_heads_are_ringed_and_the_last_is_named(
    theme: str, behaviors: np.ndarray | None
) -> None:
    widget = head_scatter(behaviors=behaviors, selected=[(0, 1), (2, 3)])
    picture = widget.figure(theme=theme)
    colors = DARK if theme == "dark" else LIGHT
    rings = [center(ring) for ring in strokes(picture, colors.accent)]
    assert len(rings) == 2
    assert "L2 H3" in texts(picture)
    assert "selected 2 heads: L0 H1, L2 H3" in texts(picture)
    if behaviors is None:
        # The rings lie under all numbers, so that they hide no neighbor.
        drawn = list(ElementTree.fromstring(picture.svg).iter())
        first = next(i for i, each in enumerate(drawn) if (each.text or "").isdigit())
        accents = [i for i, each in enumerate(drawn) if each.get("stroke") == colors.accent]
        assert max(accents) < first
        shown = {at: text for text, at in numbers(picture)}
        under = [
            text
            for x, y in rings
            for at, text in shown.items()
            if at[0] == x and at[1] - y < 5 and at[1] > y
        ]
        assert under == ["0", "2"]


def test_behaviors_have_a_color_a_shape_a_name_and_a_count() -> None:
    picture = head_scatter(behaviors=LABELS).figure()
    written = elements(picture, "text")
    for name, count in {"to [SEP]": 3, "next token": 2, "apple": 1, HOSTILE: 2, "other": 4}.items():
        # The name stands on the map, and then in the legend.
        y = [place(e)[1] for e in written if e.text == name][-1]
        assert str(count) in {e.text for e in written if place(e)[1] == y}
    # The mark of each stands in the legend too; gray rings have no fill.
    for slot, count in {1: 3, 4: 2, 0: 2, 2: 1}.items():
        marks = fills(picture, LIGHT.series[slot])
        assert len(marks) == count + 1
        outlines = {outline(mark) for mark in marks}
        assert len(outlines) == 2, "one shape on the map, a smaller one in the legend"
    rings = [ring.attrib["d"].count("M") for ring in strokes(picture, LIGHT.rest)]
    assert sum(rings) == 5


def test_color_by_layer_goes_from_the_first_to_the_last() -> None:
    picture = head_scatter().figure()
    assert {"layer 0", "2"} <= set(texts(picture))
    assert "apple" not in texts(picture)
    middle = [e for e in elements(picture, "text") if e.get("text-anchor") == "middle"]
    colors = {e.text: e.get("fill") for e in middle}
    assert [colors["0"], colors["2"]] == [LIGHT.layers[0], LIGHT.layers[-1]]


@pytest.mark.parametrize(("width", "beside"), [(480, False), (719, False), (720, True)])
def test_the_legend_stands_beside_the_map_where_there_is_room(width: int, beside: bool) -> None:
    picture = head_scatter(behaviors=LABELS).figure(width=width)
    left, top = [place(e) for e in elements(picture, "text") if e.text == "apple"][-1]
    x, y, map_width, map_height = picture.drawing.figures[0]
    assert (left > x + map_width) == beside and (top < y + map_height) == beside
    assert picture.drawing.width == width


def test_many_heads_are_small_and_one_head_is_drawn_in_the_middle() -> None:
    many = np.random.default_rng(0).normal(size=(24, 16, 2))
    written = elements(HeadScatter.from_positions(many).figure(), "text")
    assert "10" in {e.get("font-size") for e in written}
    alone = HeadScatter.from_positions(np.zeros((1, 1, 2)), selected=[(0, 0)])
    picture = alone.figure(width=480)
    (found,) = numbers(picture)
    x, y, width, height = picture.drawing.figures[0]
    assert found[0] == "0" and found[1] == pytest.approx((x + width / 2, y + height / 2), abs=4)


@pytest.mark.parametrize("width", [200, 320])
def test_no_name_of_a_long_legend_is_cut(width: int) -> None:
    name = "a behavior whose name is longer than the figure is wide"
    labels = np.where(LABELS == "apple", name, LABELS)
    picture = head_scatter(behaviors=labels).figure(width=width)
    assert name in " ".join(texts(picture)) and picture.drawing.width == width


def test_caption_and_table_say_what_is_shown() -> None:
    widget = head_scatter(behaviors=LABELS, selected=[(2, 3), (0, 1)])
    text = widget.caption.text()
    assert widget.caption.quantity == "positions given"
    for part in ("BertForMaskedLM", "L2 H3 (3-4), L0 H1 (1-2)", NOTE, "colors and shapes"):
        assert part in text
    assert NOTE in " ".join(texts(widget.figure()))
    rows = widget.figure().table.to_numpy().tolist()
    assert rows[:3] == [
        ["selected", 1, "L2 H3 (3-4)"],
        ["selected", 1, "L0 H1 (1-2)"],
        ["to [SEP]", 3, "L0 H0, L1 H0, L1 H1"],
    ]
    assert len(rows) == 7
    widget.selected = [(layer, head) for layer in range(3) for head in range(4)]
    widget.behaviors = None
    assert len(widget.figure().table) == 15
    assert "selected 12 heads: " in " ".join(texts(widget.figure()))


def test_a_notebook_keeps_the_first_rows_of_a_long_table_and_says_so() -> None:
    widget = HeadScatter.from_positions(np.random.default_rng(0).normal(size=(24, 16, 2)))
    assert len(widget.figure().table) == 24
    kept = widget.figure().drawn(brief=True)
    assert len(kept.table) == 20
    assert "table: the first 20 of 24 rows" in kept.caption.notes


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_group_is_named_on_the_map(theme: str) -> None:
    labels = np.array([["to [SEP]"] * 4, ["next token"] * 3 + ["other"], ["other"] * 4])
    widget = HeadScatter.from_positions(POSITIONS, labels)
    colors = DARK if theme == "dark" else LIGHT
    picture = widget.figure(theme=theme)
    named = [e for e in elements(picture, "text") if e.get("font-weight") == "700"]
    shown = [e for e in named if e.get("text-anchor") == "middle" and e.get("fill") != "none"]
    assert [(e.text, e.get("fill")) for e in shown] == [
        ("to [SEP]", colors.series[1]),
        ("next token", colors.series[4]),
    ]
    widget.behaviors = None
    assert "to [SEP]" not in texts(widget.figure())
