"""Maps of offsets side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attnwidget.charts.offset_maps import offset_maps
from refusals import naming


def test_maps_have_one_scale_and_the_offset_of_each_cell() -> None:
    values = {f"L0 H{i}": np.random.default_rng(i).random((3, 5)) * (i + 1) for i in range(6)}
    values["L0 H4"][0, 0] = np.nan
    chart = offset_maps(values, title="Offsets\nof heads", value_title="weight").to_dict()
    rows = [row.get("hconcat", [row]) for row in chart["vconcat"]]
    panels = [panel for row in rows for panel in row]
    assert [len(row) for row in rows] == [4, 2]
    top = max(np.nanmax(array) for array in values.values())
    for panel, (name, array) in zip(panels, values.items(), strict=True):
        cells = chart["datasets"][panel["data"]["name"]]
        assert len(cells) == np.isfinite(array).sum() and panel["title"]["text"] == name
        assert all(cell["value"] == array[cell["down"] + 1, cell["right"] + 2] for cell in cells)
        assert panel["encoding"]["color"]["scale"]["domain"] == [0.0, top]


def test_it_draws(tmp_path: Path) -> None:
    maps = {"L0 H0": np.zeros((1, 1)), "L1 H1": np.full((1, 1), np.nan)}
    offset_maps(maps, title="Empty", value_title="weight").save(tmp_path / "maps.svg")
    assert "L1 H1" in (tmp_path / "maps.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({}, ("offset_maps", "[2R + 1, 2C + 1]", "{}")),
        ({"a": np.zeros((2, 3))}, ("offset_maps", "[2R + 1, 2C + 1]", "(2, 3)")),
        ({"a": np.zeros((3, 3)), "b": np.zeros((1, 3))}, ("'a'", "b", "offset_maps", "equal")),
        ({"a": -np.ones((3, 3))}, ("offset_maps", "finite")),
        ({"a": np.full((3, 3), np.inf)}, ("offset_maps", "finite")),
    ],
)
def test_other_arrays_are_refused(values: dict[str, np.ndarray], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        offset_maps(values, title="t", value_title="v")
