"""The sheet on which pictures are drawn: what covers what, whose colours, and what is refused."""

from __future__ import annotations

import json
from math import cos, radians, sin
from typing import Any
from xml.etree import ElementTree

import altair as alt
import pytest
import vl_convert

from attnwidget.figures.paths import disc, polygon, rectangle
from attnwidget.figures.sheet import UNDER, Sheet
from attnwidget.figures.text_width import in_lines, text_width, wrapped
from attnwidget.figures.theme import DARK, LIGHT, Theme

SVG = "{http://www.w3.org/2000/svg}"
BOX = rectangle(0, 0, 10, 10)
TITLE = "L3 H5 · weights · tokens\nfirst\nmodel"


def elements(sheet: Sheet, title: str = "A sheet") -> list[ElementTree.Element]:
    """Paths and texts of the sheet itself in the order in which they cover each other."""
    spec = sheet.chart(100, 50, title=title).to_dict()
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec))
    own = [group for group in root.iter(f"{SVG}g") if "mark-" in group.get("class", "")]
    kinds = ("mark-symbol", "mark-text", "mark-image")
    groups = [
        g for g in own if g.get("class", "").startswith(kinds) and "layer" in g.get("class", "")
    ]
    return [e for group in groups for e in group.iter() if e.tag != f"{SVG}g"]


def kinds(spec: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["layer"]]


def rows(sheet: Sheet) -> list[dict[str, Any]]:
    """Those of a sheet of texts alone, whose data Altair makes the chart's."""
    chart: Any = sheet.chart(50, 50, title="Texts").to_dict()
    found: list[dict[str, Any]] = json.loads(chart["data"]["values"])
    return found


def test_texts_lie_over_paths_and_planes_over_planes() -> None:
    sheet = Sheet()
    sheet.text(0, 10, "high", plane=5)
    sheet.text(0, 10, "plain")
    sheet.area(BOX, "accent")
    sheet.line(BOX, "muted", plane=UNDER)
    sheet.area(BOX, "second", plane=4)
    looks = ["".join(e.itertext()) or e.get("stroke") or e.get("fill") for e in elements(sheet)]
    assert looks == [LIGHT.muted, LIGHT.accent, "plain", LIGHT.second, "high"]


def test_neighbours_are_one_layer() -> None:
    sheet = Sheet()
    for i in range(50):
        sheet.area(BOX, "accent", at=(i, 0), opacity=0.5)
        sheet.line(BOX, "muted", dash=(2, 1))
        sheet.text(i, 0, str(i), angle=i, opacity=0.3, halo=i == 3)
    assert kinds(sheet.chart(9, 9, title="Many").to_dict()) == ["point", "text"]
    sheet.image(0, 0, 4, 4, "data:image/png;base64,")
    sheet.line(BOX, "muted", clip=True)
    found = kinds(sheet.chart(9, 9, title="Many").to_dict())
    assert found == ["point", "image", "point", "text"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_colours_are_the_themes_own(theme: Theme) -> None:
    sheet = Sheet(theme)
    named = {
        "right": theme.right,
        "series 7": theme.series[7 % len(theme.series)],
        "bar": theme.ramp[4],
        "#123456": "#123456",
        "rgb(1,2,3)": "rgb(1,2,3)",
    }
    for name in named:
        sheet.area(BOX, name)
    for place in (0, 0.125, 1):
        sheet.area(BOX, ("ramp", place))
    drawn = [e.get("fill") for e in elements(sheet)]
    ramp = ["rgb({},{},{})".format(*bytes.fromhex(theme.ramp[i][1:])) for i in (0, 1, -1)]
    assert drawn == [*named.values(), *ramp]
    assert sheet.chart(9, 9, title="t").to_dict()["config"]["background"] == theme.ground


def test_the_middle_of_a_text_turns_with_it() -> None:
    sheet = Sheet()
    sheet.text(20, 30, "flat", size=11, middle=True)
    sheet.text(20, 30, "steep", size=11, middle=True, angle=-60)
    flat, steep = rows(sheet)
    # Vega's own "middle" of this size is three pixels above the baseline.
    assert (flat["x"], flat["y"]) == (20, 33)
    turn = radians(-60)
    assert (steep["x"], steep["y"]) == pytest.approx(
        (20 - 3 * sin(turn), 30 + 3 * cos(turn)), abs=6e-3
    )


def test_a_wordpiece_mark_is_pale_and_control_characters_are_shown() -> None:
    sheet = Sheet()
    sheet.token(0, 10, "##ing", "text")
    sheet.token(0, 30, "##", "text")
    sheet.text(0, 40, "a\x00\t\ud800\ufffe")
    piece, mark, odd = rows(sheet)
    assert piece["text"] == "##ing" and mark["fill"] == LIGHT.text
    ends = {stop["offset"] for stop in piece["fill"]["stops"]}
    assert round(text_width("##", 1) / text_width("##ing", 1), 4) in ends
    assert odd["text"] == "a␀␉\ufffd\ufffd"


def test_titles_wrap_and_notes_follow_their_last_line() -> None:
    sheet = Sheet()
    sheet.text(0, 10, "x")
    chart = sheet.chart(
        120, 20, title="L3 H5 · weights · tokens\nfirst\nmodel", notes=["a", "b" * 40]
    )
    assert chart.title.text == ["L3 H5 · weights ·", "tokens"]
    under = chart.title.subtitle
    assert under[:2] == ["first", "model · a ·"] and "".join(under[2:]) == "b" * 40
    assert all(text_width(line, 11) <= 120 for line in under)
    plain = sheet.chart(120, 20, title="One").to_dict()
    assert "subtitle" not in plain["title"], "titles of other charts leave nothing behind"


def test_a_chart_is_valid_and_can_be_changed() -> None:
    sheet = Sheet()
    sheet.text(0, 10, "x", halo=True)
    sheet.line(BOX, "muted", clip=True, blend="darken", dash=(1, 2))
    sheet.colour_bar(0, 20, 40, 8)
    chart = sheet.chart(60, 40, title="t")
    changed = chart.configure_title(color="#ff0000").properties(width=99)
    assert changed.to_dict(validate=True)["width"] == 99
    other = sheet.chart(60, 40, title="t").to_dict()
    assert other["config"]["title"]["color"] == LIGHT.text and other["width"] == 60
    point = alt.Chart(alt.Data(values=[{}])).mark_point()
    assert len((chart + point).to_dict()["layer"]) == len(other["layer"]) + 1


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="empty sheet"):
        Sheet().chart(10, 10, title="t")
    sheet = Sheet()
    for name in ("purple", "series", "series x", ""):
        with pytest.raises(ValueError, match="there is no colour"):
            sheet.area(BOX, name)
    sheet.text(0, 0, "x")
    for title in ("", " \n"):
        with pytest.raises(ValueError, match="title is empty"):
            sheet.chart(10, 10, title=title)


def test_shapes_close() -> None:
    assert disc(5) == "M-5,0a5,5,0,1,0,10,0a5,5,0,1,0,-10,0Z"
    assert polygon([(1, 2), (3.5, 4)]) == "M1,2L3.5,4Z"


@pytest.mark.parametrize("room", [0, 5, 40, 90, 1000])
def test_lines_keep_every_letter_and_fit(room: float) -> None:
    text = "attention to [SEP] · " + "x" * 30 + " · p < 0.001"
    lines = wrapped(text, 12, room)
    assert "".join("".join(lines).split()) == "".join(text.split())
    # A line holds a letter at least, and may have a point after its end.
    point = text_width(" ·", 12)
    assert all(text_width(line, 12) <= max(room, 12) + point + 0.01 for line in lines)
    assert not any(line.startswith("·") for line in lines)
    joined = in_lines(text.split(" · "), 12, room)
    assert "".join("".join(joined).split()) == "".join(text.split())
    assert wrapped("", 12, room) == []
