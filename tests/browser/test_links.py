"""Links that run on the page, and models with several stacks, live in JupyterLab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browser.figures import SETUP, GridOnPage
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser

THREE_STACKS = """
import numpy as np
from transformers.utils import ModelOutput
from attnwidget import Attention, HeadGrid, HeadView, link
rng = np.random.default_rng(0)
def maps(layers, heads, queries, keys):
    scores = np.exp(rng.normal(size=(layers, heads, queries, keys)))
    return tuple(scores / scores.sum(-1, keepdims=True))
output = ModelOutput(
    encoder_attentions=maps(2, 4, 7, 7),
    decoder_attentions=maps(4, 8, 5, 5),
    cross_attentions=maps(4, 8, 5, 7),
)
attention = Attention.from_weights(output, list("abcde"), key_tokens=list("tuvwxyz"))
grid, view = HeadGrid(attention), HeadView(attention)
both = link(grid, view)
"""


def test_jslink_joins_two_widgets_on_the_page(in_lab: OpenNotebook) -> None:
    notebook = in_lab(
        [
            f"{SETUP}import ipywidgets\ngrid, view = HeadGrid(attention), HeadView(attention)\n"
            "ipywidgets.jslink((grid, 'selected'), (view, 'selected'))\ngrid",
            "view",
        ]
    )
    notebook.run_cell(0)
    notebook.run_cell(1)
    GridOnPage(notebook.output(0)).click(4, 9)
    expect(notebook.output(1).locator(".attnw-root")).to_contain_text("L4 H9")
    notebook.wait_for_value("tuple(view.selected[-1])", (4, 9, "self"))


def test_every_stack_of_an_encoder_decoder_is_shown_whole(in_lab: OpenNotebook) -> None:
    notebook = in_lab([THREE_STACKS, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    root = notebook.output(1).locator(".attnw-root")
    for stack, size in [("decoder", (4, 8)), ("cross", (4, 8)), ("encoder", (2, 4))]:
        root.get_by_role("combobox", name="stack").select_option(stack)
        notebook.wait_for_value("grid._thumbnails['stack']", stack)
        rows, cols = size
        expect(root.locator("canvas.attnw-grid")).to_have_attribute(
            "data-layout", re.compile(rf'"rows":{rows},"cols":{cols}\b')
        )
        GridOnPage(notebook.output(1)).click(1, 3)
        notebook.wait_for_value("tuple(view.selected[-1])", (1, 3, stack))
        expect(notebook.output(2).locator(".attnw-title")).to_contain_text(f"{stack} L1 H3")
