"""Charts in notebooks that can reach nothing: drawn by the host, with tooltips, in both themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.notebook import LiveNotebook, OpenNotebook

pytestmark = pytest.mark.browser

CURVES = """
import pandas as pd
from attnwidget.charts.layer_curves import layer_curves
rows = [(layer, head, "to [SEP]", 0.9) for layer in range(6) for head in range(12)]
frame = pd.DataFrame(rows, columns=["layer", "head", "series", "value"])
layer_curves(frame, title="Special tokens", value_title="weight")
"""
HEAT = """
import numpy as np
from attnwidget.charts.head_heatmap import head_heatmap
head_heatmap(np.ones((6, 12)), title="Heads", value_title="weight")
"""


def assert_drawn_with_a_tooltip(notebook: LiveNotebook, cell: int, tooltip: str) -> None:
    chart = notebook.output(cell).locator(".vega-embed canvas")
    expect(chart).to_be_visible()
    chart.hover()
    expect(notebook.page.locator("#vg-tooltip-element")).to_contain_text(tooltip)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_jupyterlab_draws_charts_and_their_tooltips(in_lab: OpenNotebook, theme: str) -> None:
    notebook = in_lab([CURVES, HEAT])
    notebook.use_theme(theme)
    notebook.run_cell(0)
    expect(notebook.output(0).locator(".vega-embed canvas")).to_be_visible()
    notebook.run_cell(1)
    assert_drawn_with_a_tooltip(notebook, 1, "weight")


def test_notebook_7_draws_charts(in_notebook7: OpenNotebook) -> None:
    notebook = in_notebook7([HEAT])
    notebook.run_cell(0)
    assert_drawn_with_a_tooltip(notebook, 0, "weight")
