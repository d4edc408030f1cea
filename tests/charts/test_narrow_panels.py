"""Charts of several panels in a narrow column of a page."""

from __future__ import annotations

import io

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
from PIL import Image

from attnwidget.charts.curve_panels import curve_panels
from attnwidget.charts.head_heatmap import head_heatmaps
from attnwidget.charts.offset_maps import offset_maps
from attnwidget.charts.score_panels import score_panels

RNG = np.random.default_rng(0)
NAMES = ("nouns", "verbs", "negation words", "names", "numbers")


def heatmaps(width: int) -> alt.VConcatChart:
    values = {name: RNG.random((24, 16)) for name in NAMES}
    return head_heatmaps(values, title="Features", value_title="weight", width=width)


def maps_of_offsets(width: int) -> alt.VConcatChart:
    values = {f"L{i} H{i}": RNG.random((13, 13)) for i in range(9)}
    return offset_maps(values, title="Offsets", value_title="weight", width=width)


def scores(width: int) -> alt.VConcatChart:
    rows = [
        {"layer": layer, "series": "probe", "measure": measure, "value": 0.5, "low": 0.4, "high": 1}
        for layer in range(24)
        for measure in ("UUAS", "depth", "root")
    ]
    reference = {"UUAS": {"linear baseline": 0.4}}
    table = pd.DataFrame(rows)
    return score_panels(table, title="Trees", reference=reference, width=width)


def curves(width: int) -> alt.VConcatChart:
    rows = [
        {"layer": layer, "head": head, "series": series, "quantity": quantity, "value": 0.5}
        for layer in range(12)
        for head in range(2)
        for series in ("[CLS]", "previous token", "all other tokens")
        for quantity in ("weight", "norm of the value", "weight × norm")
    ]
    return curve_panels(pd.DataFrame(rows), title="Norms", width=width)


@pytest.mark.parametrize("width", [320, 380, 480])
def test_curves_of_three_quantities_fit_a_phone(width: int) -> None:
    picture = Image.open(io.BytesIO(vl_convert.vegalite_to_png(curves(width).to_dict())))
    assert picture.width <= width


@pytest.mark.parametrize("draw", [heatmaps, maps_of_offsets, scores])
def test_panels_that_do_not_fit_stand_in_the_next_row(draw) -> None:
    rows = []
    for width in (380, 480, 640):
        chart = draw(width).to_dict()
        picture = Image.open(io.BytesIO(vl_convert.vegalite_to_png(chart)))
        assert picture.width <= width
        rows.append(len(chart["vconcat"]))
    assert rows == sorted(rows, reverse=True) and rows[0] > rows[-1]


def test_names_of_close_reference_lines_share_a_text() -> None:
    row = {"layer": 0, "series": "probe", "measure": "UAS", "value": 0.6, "low": 0.5, "high": 0.7}
    reference = {"random": 0.1, "offset 1": 0.3441, "right-branching": 0.3444}
    chart = score_panels(pd.DataFrame([row]), title="Trees", reference={"UAS": reference})
    spec = chart.to_dict()
    (panel,) = spec["vconcat"][0]["hconcat"]
    (text,) = (part for part in panel["layer"] if part["mark"]["type"] == "text")
    assert text["mark"]["lineBreak"] == "\n"
    names = {row["name"]: row["value"] for row in spec["datasets"][text["data"]["name"]]}
    assert names == {
        "right-branching 0.34\noffset 1 0.34": pytest.approx(0.34425),
        "random 0.10": 0.1,
    }
    svg = vl_convert.vegalite_to_svg(spec)
    assert all(f">{name} " in svg for name in reference)


def test_one_panel_takes_the_width_of_the_figure() -> None:
    row = {"layer": 0, "series": "probe", "measure": "UAS", "value": 0.6, "low": 0.5, "high": 0.7}
    chart = score_panels(pd.DataFrame([row]), title="Trees", width=640)
    (panel,) = chart.to_dict()["vconcat"][0]["hconcat"]
    assert panel["width"] > 500
