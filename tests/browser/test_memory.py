"""The memory of a page in which a cell with a widget runs again and again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.notebook import OpenNotebook
from browser.settled import settle, wait_until

pytestmark = pytest.mark.browser
SETUP = """
import numpy as np
from attnwidget import Attention, HeadGrid
scores = np.random.default_rng(0).normal(size=(12, 12, 128, 128)).astype("f4")
weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
attention = Attention.from_weights(weights, [f"word{i}" for i in range(128)])
"""
AGAIN = """
if "shown" in globals():
    shown.close()
shown = HeadGrid(attention)
shown
"""
RUNS = 12
#: A first dozen runs takes about 110 kB each, mostly compiled code of JupyterLab. The page would
#: hold the code of a grid as a string of 134 kB.
BYTES_A_RUN = 180_000


@pytest.mark.slow
def test_a_page_keeps_neither_code_nor_maps_of_closed_widgets(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP, AGAIN])
    page = notebook.page
    devtools = page.context.new_cdp_session(page)

    def heap() -> int:
        settle(page)
        devtools.send("HeapProfiler.collectGarbage")
        return int(devtools.send("Runtime.getHeapUsage")["usedSize"])

    notebook.run_cell(0)
    for _ in range(5):
        notebook.run_cell(1)
    page.wait_for_timeout(1000)
    before = heap()
    for _ in range(RUNS):
        notebook.run_cell(1)
    expect(notebook.output(1).locator("canvas.attnw-grid")).to_be_visible()
    # What JupyterLab still does with closed widgets ends, sooner or later.
    wait_until(page, lambda: heap() - before < RUNS * BYTES_A_RUN, "as small a page as expected")
