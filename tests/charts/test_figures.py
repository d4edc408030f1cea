"""The charts: valid, complete, legible to everyone, and clear about what they cannot draw."""

from __future__ import annotations

import itertools
import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.charts.accuracy_bars import accuracy_bars
from attnwidget.charts.curve_panels import curve_panels
from attnwidget.charts.groups_in_plane import groups_in_plane
from attnwidget.charts.head_heatmap import head_heatmap
from attnwidget.charts.heads_in_plane import heads_in_plane
from attnwidget.charts.layer_curves import layer_curves
from attnwidget.charts.named_heads import named_heads
from attnwidget.charts.pattern_sets import pattern_sets
from attnwidget.charts.pattern_shares import pattern_shares
from attnwidget.charts.score_panels import score_panels
from attnwidget.charts.series_style import spread
from attnwidget.charts.theme import DARK, LIGHT, WIDTH, Theme, in_dark
from refusals import naming

CLASSES = ["to [CLS]", "to [SEP]", "to . ,", "other"]


def curve_frame(series: list[str] = CLASSES, n_layers: int = 6, n_heads: int = 12) -> pd.DataFrame:
    rows = itertools.product(range(n_layers), range(n_heads), series)
    frame = pd.DataFrame(rows, columns=["layer", "head", "series"])
    return frame.assign(value=np.random.default_rng(0).uniform(0, 0.5, len(frame)))


def map_frame() -> pd.DataFrame:
    places = np.random.default_rng(1).normal(size=(72, 2))
    layer, head = (index.ravel() for index in np.indices((6, 12)))
    frame = pd.DataFrame({"layer": layer, "head": head, "x": places[:, 0], "y": places[:, 1]})
    return frame.assign(group=np.resize(["next token", "other", "to [SEP]"], 72))


def fraction_frame() -> pd.DataFrame:
    patterns = ["vertical", "heterogeneous", "diagonal"]
    rows = [(layer, p, 1 / 3) for layer in range(6) for p in patterns]
    return pd.DataFrame(rows, columns=["layer", "pattern", "value"])


def sets_frame() -> pd.DataFrame:
    frames = [
        fraction_frame().assign(texts=texts, model=model)
        for model in ("before", "after")
        for texts in ("novels", "newsgroup")
    ]
    return pd.concat(frames)


def score_frame() -> pd.DataFrame:
    names = ["attention+words", "right-branching", "offset -1"]
    frame = pd.DataFrame({"task": "UAS", "predictor": names, "value": [0.6, 0.3, 0.2]})
    return frame.assign(low=frame["value"] - 0.02, high=frame["value"] + 0.02)


def panel_frame() -> pd.DataFrame:
    frames = [curve_frame().assign(quantity=q) for q in ("weight a", "norm ‖a f(x)‖")]
    return pd.concat(frames)


CHARTS = {
    "curves": lambda: layer_curves(
        curve_frame(),
        title="Special tokens\nthe embedded model",
        value_title="mean weight",
        reference={"uniform": 0.6},
    ),
    "heat map": lambda: head_heatmap(
        np.random.default_rng(2).uniform(size=(6, 12)),
        title="Entropy of all heads",
        value_title="entropy (nats)",
    ),
    "groups": lambda: groups_in_plane(map_frame(), title="Heads alike\nstress 0.2"),
    "map": lambda: heads_in_plane(map_frame(), title="Heads by layer"),
    "panels": lambda: curve_panels(panel_frame(), title="Weights and norms"),
    "fractions": lambda: pattern_shares(fraction_frame(), title="Attention patterns"),
    "sets": lambda: pattern_sets(sets_frame(), title="Attention patterns\nby rule"),
    "probe": lambda: accuracy_bars(score_frame(), title="Governors\n3 seeds"),
    "names": lambda: named_heads(
        np.resize(["previous token", "", "[CLS]", "induction (random tokens)"], (6, 12)),
        np.random.default_rng(3).uniform(size=(6, 12)),
        title="What the heads do",
    ),
}
every_chart = pytest.mark.parametrize("name", CHARTS)


@cache
def drawn(name: str, vl_version: str | None = None) -> str:
    """One of the charts as SVG."""
    return str(vl_convert.vegalite_to_svg(CHARTS[name]().to_dict(), vl_version=vl_version))


def rows_of(spec: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    return spec["datasets"][part["data"]["name"]]


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    written = (e.itertext() for e in root.iter("{http://www.w3.org/2000/svg}text"))
    return [line for lines in written for line in lines]


def size(svg: str) -> tuple[float, float]:
    view = ElementTree.fromstring(svg).attrib["viewBox"].split()
    return float(view[2]), float(view[3])


@pytest.mark.slow
@every_chart
def test_it_is_valid_and_drawn_with_its_titles_as_text(name: str) -> None:
    spec = CHARTS[name]().to_dict(validate=True)
    title = spec["title"]
    for line in [*title["text"], *title.get("subtitle", [])]:
        assert line in texts(drawn(name))
    assert spec["description"].startswith(" ".join(title["text"]))
    assert spec["config"]["background"] == LIGHT.ground


@pytest.mark.slow
@every_chart
def test_vega_lite_5_draws_the_same_words(name: str) -> None:
    assert sorted(texts(drawn(name, "5.20"))) == sorted(texts(drawn(name)))


@every_chart
def test_it_is_as_wide_as_a_paper_with_no_text_too_small(name: str) -> None:
    assert 560 <= size(drawn(name))[0] <= WIDTH
    assert min(float(s) for s in re.findall(r'font-size="([\d.]+)px"', drawn(name))) >= 10


@every_chart
def test_tooltips_name_what_is_under_the_pointer(name: str) -> None:
    text = json.dumps(CHARTS[name]().to_dict())
    assert '"tooltip"' in text
    assert name in ("fractions", "sets", "probe") or '"L5 H11"' in text


@pytest.mark.slow
@every_chart
def test_in_dark_every_color_has_its_counterpart(name: str) -> None:
    light = CHARTS[name]()
    dark = in_dark(light)
    assert type(dark) is type(light)
    spec = dark.to_dict(validate=True)
    own = set(re.findall(r'"(#[0-9a-f]{6})"', json.dumps(spec)))
    assert own <= colors(DARK)
    assert spec["datasets"] == light.to_dict()["datasets"]
    assert texts(vl_convert.vegalite_to_svg(spec))


def colors(theme: Theme) -> set[str]:
    return set(re.findall(r"#[0-9a-f]{6}", repr(theme)))


@pytest.mark.parametrize("width", [480, 900])
@pytest.mark.parametrize(
    "make",
    [
        lambda width: layer_curves(curve_frame(), title="t", value_title="v", width=width),
        lambda width: curve_panels(panel_frame(), title="t", width=width),
        lambda width: pattern_sets(sets_frame(), title="t", width=width),
        lambda width: accuracy_bars(score_frame(), title="t", width=width),
        lambda width: heads_in_plane(map_frame(), title="t", width=width),
        lambda width: groups_in_plane(map_frame(), title="t", width=width),
    ],
    ids=["curves", "panels", "sets", "probe", "map", "groups"],
)
def test_a_chart_takes_the_width_that_is_given(make: Any, width: int) -> None:
    assert width - 80 <= size(vl_convert.vegalite_to_svg(make(width).to_dict()))[0] <= width


#: Names as long as those of classes of tokens are.
SIXTEEN = [f"series number {i}" for i in range(16)]


@pytest.mark.slow
def test_sixteen_series_differ_by_color_shape_or_dash_and_have_their_names_at_their_ends() -> None:
    frame = curve_frame(SIXTEEN)
    chart = layer_curves(frame, title="Sixteen", value_title="mean weight")
    _, lines, knots, _, _ = chart.to_dict()["layer"]
    looks = list(
        zip(
            *(lines["encoding"][channel]["scale"]["range"] for channel in ("color", "strokeDash")),
            knots["encoding"]["shape"]["scale"]["range"],
            strict=True,
        )
    )
    assert len({str(look) for look in looks}) == 16
    # Of two that print alike in gray one has another shape or dash.
    assert len({(str(dash), shape) for _, dash, shape in looks}) == 16
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    assert {*SIXTEEN} <= {*texts(svg)}
    assert size(svg)[0] <= WIDTH


@pytest.mark.slow
def test_a_legend_of_sixteen_series_is_not_cut() -> None:
    frame = curve_frame(SIXTEEN).assign(quantity="weight")
    svg = vl_convert.vegalite_to_svg(curve_panels(frame, title="Sixteen").to_dict())
    assert {*SIXTEEN} <= {*texts(svg)}
    assert size(svg)[0] <= WIDTH


def test_a_title_is_wrapped_only_where_the_figure_ends() -> None:
    line = "Attention to classes of tokens: small BERT (in the package), 1,000 segments of prose"
    spec = layer_curves(curve_frame(), title=line, value_title="v").to_dict()
    assert spec["title"]["text"] == [line]
    narrow = layer_curves(curve_frame(), title=line, value_title="v", width=400).to_dict()
    assert len(narrow["title"]["text"]) == 2


def test_curves_hold_every_head_the_means_and_the_reference() -> None:
    frame = curve_frame()
    spec = CHARTS["curves"]().to_dict()
    rules, points, lines, knots, _, names, levels = spec["layer"]
    assert rows_of(spec, rules) == [{"name": "uniform", "value": 0.6}]
    assert len(rows_of(spec, points)) == len(frame)
    means = frame.groupby(["series", "layer"])["value"].mean()
    for row in rows_of(spec, lines):
        assert row["value"] == pytest.approx(means[row["series"], row["layer"]])
    assert [part["mark"]["type"] for part in (points, lines, knots)] == ["point", "line", "point"]
    assert (
        lines["encoding"]["x"]["field"] == "layer" and lines["encoding"]["x"]["type"] == "ordinal"
    )
    assert {row["series"] for row in rows_of(spec, names)} == set(CLASSES)
    assert [row["series"] for row in rows_of(spec, levels)] == ["uniform 0.6"]


def test_axis_labels_count_layers_from_0() -> None:
    written = texts(drawn("curves"))
    assert [text for text in written if re.fullmatch(r"L\d+", text)] == [f"L{i}" for i in range(6)]


def test_rows_without_a_value_are_left_out() -> None:
    frame = curve_frame()
    frame.loc[:9, "value"] = np.nan
    spec = layer_curves(frame, title="t", value_title="v").to_dict()
    assert len(rows_of(spec, spec["layer"][0])) == len(frame) - 10


def test_one_series_needs_no_label() -> None:
    frame = curve_frame(["to [SEP]"])
    written = texts(
        vl_convert.vegalite_to_svg(layer_curves(frame, title="t", value_title="v").to_dict())
    )
    assert "to [SEP]" not in written


@pytest.mark.slow
def test_more_rows_than_altair_allows_a_raw_frame() -> None:
    frame = curve_frame(n_layers=48, n_heads=32)
    assert len(frame) > 5000
    layer_curves(frame, title="t", value_title="v").to_dict()


def test_a_meaning_has_one_color_in_every_figure() -> None:
    def scale(part: dict[str, Any]) -> dict[str, str]:
        scale = part["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    curves = scale(CHARTS["curves"]().to_dict()["layer"][1])
    (named,) = (
        part
        for part in CHARTS["groups"]().to_dict()["layer"]
        if part["encoding"].get("color", {}).get("field") == "group"
        and part["encoding"].get("text", {}).get("field") == "layer"
    )
    heads = scale(named)
    assert curves["to [SEP]"] == heads["to [SEP]"]
    assert curves["other"] == heads["no name"] == LIGHT.rest
    assert len(set(curves.values())) == len(CLASSES)


@pytest.mark.slow
def test_a_heat_map_has_a_cell_for_every_head_from_zero() -> None:
    values = np.arange(72.0).reshape(6, 12)
    values[2, 3] = np.nan
    spec = head_heatmap(values, title="t", value_title="v").to_dict()
    cells, crosses = spec["layer"]
    assert {(r["layer"], r["head"]): r["value"] for r in rows_of(spec, cells)} == {
        (i, j): values[i, j] for i in range(6) for j in range(12) if (i, j) != (2, 3)
    }
    assert rows_of(spec, crosses) == [{"layer": 2, "head": 3}]
    assert cells["encoding"]["color"]["scale"]["domain"] == [0, 71]


@pytest.mark.parametrize(
    ("values", "domain", "first"),
    [
        ([[-2.0, 1.0]], [-2, 0, 2], LIGHT.diverging[0]),
        ([[-2.0, -1.0]], [-2, 0], LIGHT.ramp[-1]),
        ([[0.0, 0.0]], [0, 1], LIGHT.ground),
    ],
)
def test_zero_is_the_middle_or_the_end_of_a_heat_map(
    values: list[list[float]], domain: list[float], first: str
) -> None:
    spec = head_heatmap(values, title="t", value_title="v").to_dict()
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == domain and scale["range"][0] == first


def test_a_map_has_units_of_one_length_and_its_layers_as_marks() -> None:
    spec = CHARTS["map"]().to_dict()
    x, y = (spec["encoding"][axis]["scale"]["domain"] for axis in "xy")
    assert (x[1] - x[0]) / spec["width"] == pytest.approx((y[0] - y[1]) / spec["height"], rel=0.01)
    rows = rows_of(spec, spec)
    assert all(x[0] < row["x"] < x[1] and y[1] < row["y"] < y[0] for row in rows)
    frame = map_frame().sort_values("y")
    heights = {(row["layer"], row["head"]): row["y"] for row in rows}
    drawn_heights = [heights[key] for key in zip(frame["layer"], frame["head"], strict=True)]
    assert drawn_heights[0] > drawn_heights[-1], "y points upward"
    assert len(rows) == 72 and spec["encoding"]["text"]["field"] == "layer"


@pytest.mark.parametrize("scale", [(0, 0), (1, 0), (0, 1), (1e-9, 1e9)])
def test_a_map_of_any_extent_is_drawn(scale: tuple[float, float]) -> None:
    frame = map_frame()
    frame["x"] *= scale[0]
    frame["y"] *= scale[1]
    vl_convert.vegalite_to_svg(heads_in_plane(frame, title="t").to_dict())
    vl_convert.vegalite_to_svg(groups_in_plane(frame, title="t").to_dict())


@pytest.mark.slow
def test_panels_share_their_layers_and_have_their_own_values() -> None:
    spec = CHARTS["panels"]().to_dict()
    titles = [
        panel["layer"][0]["encoding"]["y"]["title"] for panel in spec["vconcat"][0]["hconcat"]
    ]
    assert titles == ["weight a", "norm ‖a f(x)‖"]
    written = texts(drawn("panels"))
    assert all(written.count(name) == 1 for name in CLASSES), "one legend for all panels"


def test_fractions_fill_a_bar_a_layer_in_order_with_the_rest_last() -> None:
    spec = CHARTS["fractions"]().to_dict()
    rows = rows_of(spec, spec)
    order = {row["pattern"]: row["order"] for row in rows}
    assert order == {"vertical": 0, "diagonal": 1, "heterogeneous": 2}
    by_layer = pd.DataFrame(rows).groupby("layer")["value"].sum()
    assert by_layer.tolist() == pytest.approx([1] * 6)


def test_fractions_of_heads_are_averaged() -> None:
    frame = pd.DataFrame({"layer": 0, "head": [0, 1], "pattern": "block", "value": [0.2, 0.4]})
    spec = pattern_shares(frame, title="t").to_dict()
    assert rows_of(spec, spec)[0]["value"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: layer_curves(curve_frame().drop(columns="series"), title="t", value_title="v"),
         ("layer_curves", "series missing")),
        (lambda: layer_curves(curve_frame()[:0], title="t", value_title="v"),
         ("layer_curves", "nothing")),
        (lambda: layer_curves(curve_frame().assign(value=np.nan), title="t", value_title="v"),
         ("layer_curves", "no row")),
        (lambda: layer_curves(curve_frame().assign(value=np.inf), title="t", value_title="v"),
         ("layer_curves", "infinite", "'value'")),
        (lambda: layer_curves(curve_frame().assign(value="a"), title="t", value_title="v"),
         ("layer_curves", "numbers", "'value'", "'a'")),
        (lambda: layer_curves(curve_frame().assign(layer=-1), title="t", value_title="v"),
         ("layer_curves", "0, 1, 2", "'layer'")),
        (lambda: layer_curves(curve_frame(list("abcdefghijklmnopqrs")), title="t", value_title="v"),
         ("layer_curves", "18 series", "19")),
        (lambda: layer_curves(curve_frame(), title=" \n", value_title="v"), ("title", "empty")),
        (lambda: layer_curves(
            curve_frame(), title="t", value_title="v", reference={"uniform": np.nan}
        ), ("layer_curves", "'uniform'", "nan")),
        (lambda: head_heatmap(np.zeros(3), title="t", value_title="v"),
         ("head_heatmap", "[L, H]", "(3,)")),
        (lambda: head_heatmap(np.zeros((0, 2)), title="t", value_title="v"),
         ("head_heatmap", "[L, H]", "(0, 2)")),
        (lambda: head_heatmap([[np.inf]], title="t", value_title="v"), ("head_heatmap", "finite")),
        (lambda: head_heatmap([[np.nan]], title="t", value_title="v"), ("head_heatmap", "all NaN")),
        (lambda: groups_in_plane(map_frame().drop(columns="group"), title="t"),
         ("groups_in_plane", "group missing")),
        (lambda: curve_panels(curve_frame(), title="t"), ("curve_panels", "quantity missing")),
        (lambda: pattern_shares(fraction_frame().assign(value=30.0), title="t"),
         ("pattern_shares", "0 to 1")),
        (lambda: pattern_shares(fraction_frame().assign(value=0.5), title="t"),
         ("layer 0", "sum to 1.5")),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_explained(make: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        make()


def test_only_a_frame_is_a_frame() -> None:
    with pytest.raises(TypeError, match=naming("layer_curves", "DataFrame", "dict")):
        layer_curves({}, title="t", value_title="v")  # type: ignore[arg-type]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12).map(
        lambda heights: {f"series {i}": height for i, height in enumerate(heights)}
    )
)
def test_labels_keep_their_order_and_distance_inside_the_figure(places: dict[str, float]) -> None:
    placed = spread(places, 0, 1, height=240)
    in_order = sorted(placed, key=placed.__getitem__)
    assert [places[name] for name in in_order] == sorted(places.values())
    heights = [placed[name] for name in in_order]
    assert np.diff(heights).min(initial=1) >= 13 / 240 - 1e-9
    assert heights[0] >= 0 and heights[-1] <= 1 + 1e-9


def test_labels_with_room_stay_where_they_belong() -> None:
    places = {"a": 0.1, "b": 0.5, "c": 0.9}
    assert spread(places, 0, 1) == pytest.approx(places)


@pytest.mark.slow
def test_altair_itself_is_left_as_it_was() -> None:
    before = alt.theme.active, alt.renderers.active, alt.data_transformers.active
    for make in CHARTS.values():
        make()._repr_mimebundle_()
    assert (alt.theme.active, alt.renderers.active, alt.data_transformers.active) == before


@every_chart
def test_the_built_site_fetches_nothing(name: str) -> None:
    spec = CHARTS[name]().to_dict()
    del spec["$schema"]
    assert "://" not in json.dumps(spec) and '"url"' not in json.dumps(spec)


def test_a_title_of_a_megabyte_is_cut() -> None:
    long = "m" * 1_000_000
    title = head_heatmap(np.eye(3), title=f"{long}\n{long} {long}", value_title="weight").title
    lines = [*title.text, *title.subtitle]
    assert sum(map(len, lines)) <= 4000 and all("…" in line for line in lines)
    assert "…" in title.text[-1]


def test_values_without_an_interval_are_drawn() -> None:
    absent = {"low": [0.7, np.nan], "high": [0.9, np.nan]}
    bars = accuracy_bars(
        pd.DataFrame(
            {"task": "t", "predictor": ["attention", "offset"], "value": [0.8, 0.5], **absent}
        ),
        title="t",
    )
    points = score_panels(
        pd.DataFrame(
            {"layer": [0, 1], "rank": 64, "series": "s", "measure": "m", "value": [0.8, 0.5]}
            | absent
        ),
        title="t",
    )
    for chart in (bars, points):
        json.dumps(chart.to_dict(), allow_nan=False)
    svg = vl_convert.vegalite_to_svg(bars.to_dict())
    assert "80.0%" in svg and "50.0%" in svg
