"""Links that run on the page, and models with several stacks, live in JupyterLab."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browser.axe import complaints
from browser.figures import LINKED, SETUP, GridOnPage, open_menu
from browser.notebook import OpenNotebook
from browser.settled import settle

pytestmark = pytest.mark.browser

THREE_STACKS = """
import numpy as np
from transformers.utils import ModelOutput
from attnwidget import Attention, HeadGrid, HeadView, link_figures
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
both = link_figures(grid, view)
"""


@pytest.mark.slow
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


@pytest.mark.slow
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


LISTEN = """(circle) => {
  globalThis.peeked = [];
  globalThis[Symbol.for("attnwidget.peek")].addEventListener("peek", ({ detail }) => {
    if (detail.circle !== circle) return;
    detail.shown = true;
    const { head, rows, values } = detail.peeked ?? {};
    globalThis.peeked.push(head ? [...head, rows, values.length] : null);
  });
}"""


@pytest.mark.slow
def test_a_hovered_head_goes_to_linked_figures_of_the_page_and_to_no_kernel(
    in_lab: OpenNotebook,
) -> None:
    notebook = in_lab([f"{SETUP}{LINKED}grid"])
    notebook.run_cell(0)
    output = notebook.output(0)
    page = notebook.page
    grid = GridOnPage(output)
    preview = output.locator(".attnw-grid-preview")

    def point(layer: int, head: int) -> None:
        half = grid.layout["cell"] / 2
        x, y = grid.corner(layer, head)
        grid.canvas.hover(position={"x": x + half, "y": y + half})

    notebook.run_in_kernel(
        "heard, answer = [], grid._handle_msg\n"
        "grid.comm.on_msg(lambda message: (heard.append(message), answer(message)))"
    )
    point(1, 2)
    expect(preview).to_be_visible()
    # It stands beside, under or over the thumbnails.
    settle(page)
    over = preview.bounding_box()
    under = output.locator(".attnw-grid-box").bounding_box()
    assert over and under
    apart = over["y"] >= under["y"] + under["height"] or over["y"] + over["height"] <= under["y"]
    width = output.locator("canvas.attnw-grid").bounding_box()
    assert width and (apart or over["x"] >= width["x"] + width["width"])
    assert complaints(page) == []
    page.evaluate(LISTEN, notebook.value("view._circle"))
    point(3, 4)
    expect(preview).to_be_hidden()
    output.get_by_role("grid").focus()
    # One change a frame goes out: a slow page would make one of the next three of them.
    page.keyboard.press("ArrowRight")
    page.wait_for_function("peeked.some((head) => head?.[0] === 0 && head[1] === 1)")
    page.keyboard.press("Tab")
    page.mouse.move(0, 0)
    page.wait_for_function("peeked.at(-1) === null")
    size = notebook.value("grid._thumbnails['values']['shape']")[2]
    seen = page.evaluate("peeked")
    assert seen[0] == [3, 4, "self", size, size**2]
    assert [0, 1, "self", size, size**2] in seen
    assert notebook.value("len(heard)") == 0
    grid.click(3, 4)
    notebook.wait_for_value("len(heard) > 0", True)
    output.locator(".attnw-root").evaluate("(root) => { root.style.width = '480px' }")
    expect(open_menu(output).get_by_role("combobox", name="scale")).to_be_visible()
    assert complaints(page) == []
