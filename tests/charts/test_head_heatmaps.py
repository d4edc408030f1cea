"""Several heat maps of heads side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnwidget.charts.head_heatmap import head_heatmap, head_heatmaps
from refusals import naming


def panels_of(chart: Any) -> list[Any]:
    return [panel for row in chart.to_dict()["vconcat"] for panel in row["hconcat"]]


def test_every_panel_has_its_cells_and_its_own_scale() -> None:
    rng = np.random.default_rng(0)
    values = {f"p{i}": rng.random((3, 4)) * (i + 1) for i in range(5)}
    values["p4"][1, 2] = np.nan
    chart = head_heatmaps(values, title="Panels\nof heads", value_title="weight")
    panels = panels_of(chart)
    data = chart.to_dict()["datasets"]
    assert [len(row["hconcat"]) for row in chart.to_dict()["vconcat"]] == [3, 2]
    for panel, (name, array) in zip(panels, values.items(), strict=True):
        rows = data[panel["data"]["name"]]
        assert len(rows) == np.isfinite(array).sum()
        assert all(row["value"] == array[row["layer"], row["head"]] for row in rows)
        top = np.nanmax(array)
        assert panel["encoding"]["color"]["scale"]["domain"] == [0.0, top]
        assert panel["title"]["text"] == f"{name}: up to {top:.2g}"
        assert panel["encoding"]["y"]["scale"]["domain"] == [0, 1, 2]


def test_layers_of_deep_models_lie_across() -> None:
    values = np.random.default_rng(0).random((30, 9))
    values[1, 2] = np.nan
    panels = {f"p{i}": values for i in range(8)}
    chart = head_heatmaps(panels, title="Panels", value_title="weight", marked={"p0": values > 0.9})
    first = panels_of(chart)[0]["layer"][0]
    assert first["encoding"]["x"]["field"] == "layer"
    assert first["encoding"]["y"]["field"] == "head"
    steps = [row["hconcat"][0]["height"]["step"] for row in chart.to_dict()["vconcat"]]
    assert 9 * sum(steps) < 440
    # Two panels of six layers are not tall.
    low = head_heatmaps({"p": np.ones((6, 4))}, title="Panel", value_title="weight")
    assert panels_of(low)[0]["encoding"]["y"]["field"] == "layer"
    one = head_heatmap(values, title="Panel", value_title="weight", layers=values[:, 0]).to_dict()
    encoding = one["layer"][0]["encoding"]
    assert (encoding["x"]["field"], encoding["y"]["field"]) == ("layer", "head")
    assert encoding["y"]["scale"]["domain"][-1] == "whole layer"
    assert one["height"]["step"] * 11 < 440
    square = head_heatmap(np.ones((12, 12)), title="Panel", value_title="weight").to_dict()
    assert square["layer"][0]["encoding"]["y"]["field"] == "layer"


def test_it_draws(tmp_path: Any) -> None:
    chart = head_heatmaps(
        {"nothing": np.zeros((2, 3)), "not measured": np.full((2, 3), np.nan)},
        title="Empty",
        value_title="weight",
    )
    chart.save(tmp_path / "panels.svg")
    assert "not measured" in (tmp_path / "panels.svg").read_text()


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({}, ("head_heatmaps", "[L, H]", "{}")),
        ({"a": np.zeros(3)}, ("head_heatmaps", "[L, H]", "equal shape")),
        (
            {"a": np.zeros((2, 3)), "b": np.zeros((3, 2))},
            ("head_heatmaps", "[L, H]", "equal shape"),
        ),
        ({"a": np.array([[-1.0]])}, ("head_heatmaps", "finite", "'a'")),
        ({"a": np.array([[np.inf]])}, ("head_heatmaps", "finite", "'a'")),
    ],
)
def test_what_cannot_be_drawn_is_refused(values: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        head_heatmaps(values, title="Panels", value_title="weight")
