"""Figures of changes: maps before and after, points per head, and heads switched off."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from attnwidget.charts import in_dark
from attnwidget.charts.change_histogram import change_histogram
from attnwidget.charts.change_maps import change_maps
from attnwidget.charts.head_points import head_points
from attnwidget.charts.theme import LIGHT
from refusals import naming

RNG = np.random.default_rng(0)
BEFORE = {name: RNG.uniform(0, 0.5, (6, 12)) for name in ("[CLS]", "NOUN", "VERB")}
CHANGE = {name: RNG.normal(0, 0.1, (6, 12)) for name in BEFORE}


def maps(**options: Any) -> Any:
    after = {name: np.clip(BEFORE[name] + CHANGE[name], 0, 1) for name in BEFORE}
    return change_maps(
        {"before": BEFORE, "after": after},
        {"change": CHANGE, "by noise": {name: values / 10 for name, values in CHANGE.items()}},
        reach=0.2,
        title="Attention to words",
        **options,
    )


def points(**options: Any) -> Any:
    rows = [
        {"row": row, "series": series, "layer": 5, "head": head, "value": (head + 1) / (20 + shift)}
        for row in BEFORE
        for shift, series in enumerate(("before", "after", "noise of the same size"))
        for head in range(12)
    ]
    return head_points(pd.DataFrame(rows), title="From [CLS]", value_title="weight", **options)


def off(values: list[float], layers: list[float] | None = None, **options: Any) -> Any:
    heads = pd.DataFrame(
        {"layer": 0, "head": range(len(values)), "value": values, "low": np.nan, "high": np.nan}
    )
    listed = layers or []
    whole = pd.DataFrame({"layer": range(len(listed)), "value": listed})
    whole = whole.assign(head=np.nan, low=whole["value"] - 2, high=whole["value"] + 2)
    frame = pd.concat([heads, whole], ignore_index=True)
    frame["significant"] = frame["value"].abs() > 5
    given = {"value_title": "points", "layer_title": "points, layers", "better_above": True}
    return change_histogram(frame, title="Heads off", **(given | options))


def rows(spec: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    data = part["data"]
    found: list[dict[str, Any]]
    found = spec["datasets"][data["name"]] if "name" in data else data["values"]
    return found


def text_of(svg: str) -> set[str]:
    return set(re.findall(r"<text[^>]*>([^<]+)</text>", svg))


@pytest.mark.parametrize("width", [320, 640])
@pytest.mark.parametrize("make", [maps, points, lambda width: off([1, 0, -1], [-2], width=width)])
def test_a_figure_fits_its_width(make: Any, width: int) -> None:
    svg = vl_convert.vegalite_to_svg(make(width=width).to_dict())
    found = re.search(r'width="([\d.]+)"', svg)
    assert found and width - 80 <= float(found[1]) <= width


def test_maps_have_one_scale_for_values_and_one_for_changes() -> None:
    spec = maps().to_dict()
    values, changes = spec["layer"][:2]
    assert values["encoding"]["color"]["scale"]["domain"] == [0, 1]
    signed = changes["encoding"]["color"]["scale"]
    assert signed["domain"][0] == -0.2 and signed["domain"][-1] == 0.2 and signed["clamp"]
    by_name = {row["name"]: row for row in rows(spec, changes)}
    for name, array in CHANGE.items():
        for layer, head in np.ndindex(array.shape):
            cell = by_name[f"{name}, change: L{layer} H{head}"]
            assert cell["value"] == pytest.approx(array[layer, head], abs=1e-4)
    above, below = (by_name[f"NOUN, change: {head}"] for head in ("L0 H3", "L1 H3"))
    assert above["x"] == below["x"] and above["y2"] == pytest.approx(below["y"], abs=0.02)
    texts = text_of(vl_convert.vegalite_to_svg(spec))
    assert {"before", "after", "change", "by noise", "[CLS]", "L0", "L5", "H11"} <= texts
    assert {"≤ −0.2", "≥ 0.2"} <= texts


def test_layers_without_attention_have_no_cells() -> None:
    before = {"NOUN": np.full((3, 2), 0.5)}
    before["NOUN"][1] = np.nan
    chart = change_maps({"before": before}, {"change": before}, reach=1, title="t").to_dict()
    names = {row["name"] for part in chart["layer"][:2] for row in rows(chart, part)}
    assert "NOUN, before: L0 H0" in names and "NOUN, before: L1 H0" not in names


def test_points_have_a_stroke_at_the_mean() -> None:
    spec = points().to_dict()
    means = {(row["row"], row["series"]): row["value"] for row in rows(spec, spec["layer"][1])}
    assert means["NOUN", "before"] == pytest.approx(np.mean(np.arange(1, 13)) / 20)
    assert len(rows(spec, spec["layer"][0])) == 3 * 3 * 12


def test_heads_that_harm_stand_on_the_side_of_better() -> None:
    for better_above, sides in ((True, ("better", "worse")), (False, ("worse", "better"))):
        spec = off([1.5, 0, -1.5], better_above=better_above).to_dict()
        (panel,) = spec["vconcat"]
        dots = next(part for part in panel["layer"] if part["mark"]["type"] == "point")
        found = {row["value"]: (row["side"], row["at"]) for row in rows(spec, dots)}
        assert found[1.5] == (sides[0], pytest.approx(1.5))
        assert found[0][0] == "the same" and found[-1.5][0] == sides[1]


def test_equal_changes_are_stacked_and_never_overlap() -> None:
    spec = off([0.5] * 30 + [0.0] * 41 + [-0.5]).to_dict()
    (panel,) = spec["vconcat"]
    dots = next(part for part in panel["layer"] if part["mark"]["type"] == "point")
    places = {(round(row["at"], 4), row["height"]) for row in rows(spec, dots)}
    assert len(places) == 72
    right = [at for at, _ in places if at > 0.25]
    assert len(right) == 30 and np.mean([min(right), max(right)]) == pytest.approx(0.5)


def test_lines_show_the_smallest_change_if_it_is_near() -> None:
    near, far = (text_of(vl_convert.vegalite_to_svg(off([1, -3], smallest=s).to_dict()))
                 for s in (6.1, 50))  # fmt: skip
    assert "typical head: significant from 6.1" in near
    assert not any("significant from" in text for text in far)


def test_layers_are_bars_with_intervals_and_significant_ones_are_filled() -> None:
    spec = off([1, -1], [-2, -8, 1]).to_dict()
    bars, intervals = spec["vconcat"][1]["layer"][:2]
    assert [row["name"] for row in rows(spec, bars)] == ["L0", "L1", "L2"]
    assert intervals["encoding"]["x2"]["field"] == "high"
    svg = vl_convert.vegalite_to_svg(spec)
    assert svg.count(f'fill="{LIGHT.wrong}"') == 1
    vl_convert.vegalite_to_svg(in_dark(off([1, -1], [-2])).to_dict())


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: change_maps({}, {"change": CHANGE}, reach=1, title="t"), ("values", "changes")),
        (lambda: change_maps({"before": BEFORE}, {"change": {"NOUN": BEFORE["NOUN"]}}, reach=1,
                             title="t"), ("4 maps", "2 columns")),
        (lambda: head_points(pd.DataFrame({"row": ["a"]}), title="t", value_title="v"),
         ("head_points", "series")),
        (lambda: change_histogram(pd.DataFrame({"layer": [0]}), title="t", value_title="v",
                                  layer_title="v", better_above=True),
         ("change_histogram", "head", "significant")),
        (lambda: off([]), ("change_histogram", "no changes")),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(make: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        make()
