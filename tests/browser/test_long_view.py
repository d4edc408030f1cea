"""A HeadView of 8,192 tokens, live in JupyterLab: from the overview to one weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from attnwidget import HeadView
from browser.axe import complaints
from browser.notebook import LiveNotebook, OpenNotebook
from browser.overflow import overflowing
from browser.pages import Watched
from browser.reader_numbers import in_per_cent
from browser.settled import settle
from references.formula_attention import FormulaAttention

pytestmark = pytest.mark.browser

TESTS = Path(__file__).parents[1]
SETUP = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from attnwidget import HeadGrid, HeadView, link_figures
from references.formula_attention import FormulaAttention
attention = FormulaAttention(8192)
view = HeadView(attention, 0, 1)
"""
NEEDLES = (7100, 1234)
STATE = """(canvas) => {
  const { left, top } = canvas.getBoundingClientRect();
  return { ...JSON.parse(canvas.dataset.layout), left, top };
}"""
# A hundred moves of the pressed mouse, each `step` pixels to the right of the one before.
MOVES = """(canvas, [x, y, step]) => {
  for (let i = 1; i <= 100; i++)
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x + step * i, clientY: y,
      pointerId: 1, pointerType: "mouse", buttons: 1, bubbles: true }));
}"""


class OnPage:
    """A view of a long input in the output of a cell."""

    def __init__(self, in_lab: OpenNotebook, width: int) -> None:
        self.notebook: LiveNotebook = in_lab([SETUP, "view"])
        self.page = self.notebook.page
        self.page.set_viewport_size({"width": width + 500, "height": 1300})
        for cell in range(2):
            self.notebook.run_cell(cell)
        self.root: Locator = self.notebook.output(1).locator(".attnw-root")
        self.caption = self.root.locator("[data-caption]")
        self.figure = self.root.get_by_role("group", name="Attention of L0 H1")
        self.readout = self.root.locator(".attnw-readout")
        self.set_width(width)
        expect(self.caption).to_contain_text("long input, 8,192 tokens")

    def set_width(self, width: int) -> None:
        self.root.evaluate("(root, width) => { root.style.width = `${width}px` }", width)

    @property
    def state(self) -> dict[str, Any]:
        """Where the plot is, what is in sight, and the blocks that are drawn."""
        settle(self.root)
        found: dict[str, Any] = self.root.locator("canvas.attnw-matrix").evaluate(STATE)
        return found

    def point_of(self, query: float, key: float) -> tuple[float, float]:
        """Where a place lies on the page."""
        at = self.state
        q0, q1, k0, k1 = at["part"]
        across = (key + 0.5 - k0) / (k1 - k0)
        down = (query + 0.5 - q0) / (q1 - q0)
        x = at["left"] + at["x0"] + across * at["cols"] * at["cellWidth"]
        y = at["top"] + at["y0"]
        return x, y + down * at["rows"] * at["cellHeight"]

    def wait_for_step(self, step: int) -> None:
        wait = "([canvas, step]) => JSON.parse(canvas.dataset.layout).step === step"
        canvas = self.root.locator("canvas.attnw-matrix").element_handle()
        self.page.wait_for_function(wait, arg=[canvas, step])

    def weight(self, query: int, key: int) -> str:
        """As Python has it, in per cent."""
        code = f"float(attention.value(0, 1, {query}, {key}))"
        return in_per_cent(self.notebook.value(code))


@pytest.mark.slow
def test_by_keyboard_from_the_overview_to_one_weight(in_lab: OpenNotebook) -> None:
    view = OnPage(in_lab, 1200)
    page = view.page
    notebook = view.notebook
    view.wait_for_step(32)
    expect(view.caption).to_contain_text("maxima of 32 × 32 positions")
    expect(view.caption).to_contain_text(
        "<s> (0) in a column of its own, at most 70\N{NO-BREAK SPACE}%"
    )

    # From block to block, and nearer at the cursor, until cells are pairs of tokens.
    view.figure.focus()
    page.keyboard.press("ArrowDown")
    expect(view.readout).to_contain_text("at most")
    for _ in range(8):
        page.keyboard.press("+")
    view.wait_for_step(1)
    notebook.wait_for_value("view.window and 16 < view.window[1] - view.window[0] < 48", True)
    expect(view.readout).to_contain_text(") → ")
    expect(view.root.locator(".attnw-plate")).to_have_attribute("aria-busy", "false")
    settle(page)
    before = view.readout.text_content() or ""
    page.keyboard.press("ArrowDown")
    expect(view.readout).not_to_have_text(before)
    settle(page)
    said = view.readout.text_content() or ""
    query, key = (int(part.split(")")[0]) for part in said.split("(")[1:3])
    assert said.endswith(view.weight(query, key))

    # Locked, the row of its query is drawn over all keys.
    page.keyboard.press("Enter")
    notebook.wait_for_value("view.tokens", [("query", query), ("key", key)])
    expect(view.root.locator(".attnw-curve")).to_be_visible()
    expect(view.root.get_by_text("strongest from")).to_be_visible()
    page.keyboard.press("Escape")
    notebook.wait_for_value("view.tokens", [])

    # A token is looked for, and the strongest links are gone to.
    page.keyboard.press("f")
    page.keyboard.type("NEEDLE")
    page.keyboard.press("Enter")
    expect(view.root.get_by_role("status").filter(has_text="1 of 2")).to_be_visible()
    notebook.wait_for_value("view.tokens", [("key", 1234)])
    page.keyboard.press("Enter")
    notebook.wait_for_value("view.tokens", [("key", 7100)])
    view.figure.focus()
    page.keyboard.press("0")
    notebook.wait_for_value("view.window", None)
    view.root.get_by_role("button", name="go to needle (7100)").focus()
    page.keyboard.press("Enter")
    notebook.wait_for_value("view.tokens", [("query", 7100), ("key", 1234)])
    expect(view.readout).to_have_text(f"needle (7100) → needle (1234) {view.weight(*NEEDLES)}")
    assert complaints(page) == []

    # The strongest links of what is in sight, one after the other.
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    page.keyboard.press("m")
    notebook.wait_for_value("view.mode", "lines")
    expect(view.caption).to_contain_text("the strongest 300 links in sight; weaker links")
    links = view.root.get_by_role(
        "button", name="go to needle (7100) → needle (1234), 46\N{NO-BREAK SPACE}%"
    )
    expect(links).to_be_visible()
    assert complaints(page) == []
    notebook.use_theme("dark")
    expect(view.root).to_have_attribute("data-theme", "dark")
    for width in (1200, 480):
        view.set_width(width)
        assert overflowing(view.root) == []
    assert complaints(page) == []


@pytest.mark.slow
def test_by_mouse_what_is_passed_through_is_never_asked_for(in_lab: OpenNotebook) -> None:
    view = OnPage(in_lab, 1200)
    page = view.page
    notebook = view.notebook
    page.mouse.move(*view.point_of(*NEEDLES))
    expect(view.readout).to_contain_text("at most 46\N{NO-BREAK SPACE}%")

    # A wheel with Ctrl, about the pointer.
    page.keyboard.down("Control")
    for _ in range(7):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    view.wait_for_step(1)
    page.mouse.move(*view.point_of(*NEEDLES))
    expect(view.readout).to_have_text(f"needle (7100) → needle (1234) {view.weight(*NEEDLES)}")

    # Dragging goes with the pointer; of a hundred moves few are asked for, the last one is.
    notebook.run_in_kernel("import time; attention.asked.clear()")
    x, y = view.point_of(*NEEDLES)
    page.mouse.move(x, y)
    page.mouse.down()
    # In one go: a window in sight for a while is asked for.
    view.root.locator("canvas.attnw-matrix").evaluate(MOVES, [x, y, -4])
    page.mouse.move(x - 400, y)
    page.mouse.up()
    cells = view.state["cellWidth"]
    start = 1234 + 0.5 - (x - view.state["left"] - view.state["x0"]) / cells + 400 / cells
    assert view.state["part"][2] == pytest.approx(start, abs=1.01)
    notebook.wait_for_value("view.window[2]", round(view.state["part"][2]))
    assert notebook.value("len(attention.asked)") < 40
    expect(view.root.locator(".attnw-plate")).to_have_attribute("aria-busy", "false")

    # The small map: a click shows that part.
    box = view.root.locator(".attnw-minimap").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + 3 * box["height"] / 4)
    middle = "[(view.window[at] + view.window[at + 1]) / 2 for at in (0, 2)]"
    near = "[abs(at - wanted) <= 80 for at, wanted in zip({}, (6144, 2048))]"
    notebook.wait_for_value(near.format(middle), [True, True])

    # A short input in its place has the same figure, and back.
    notebook.run_in_kernel(
        "from attnwidget import load_model\n"
        "view.window = None\nview.attention = load_model().attend('The cat sat.')"
    )
    expect(view.caption).to_contain_text("6 tokens")
    expect(view.root.locator(".attnw-lines-figure:not([hidden])")).to_be_visible()
    notebook.run_in_kernel("view.attention = attention")
    expect(view.caption).to_contain_text("long input, 8,192 tokens")
    view.wait_for_step(32)


@pytest.mark.slow
def test_a_saved_page_shows_what_was_in_sight(seen: Watched, tmp_path: Path) -> None:
    page = seen.page
    view = HeadView(FormulaAttention(8192), 0, 1, window=(7084, 7116, 1218, 1250))
    view.tokens = [("query", 7100), ("key", 1234)]
    page.goto(view.save(tmp_path / "view.html").as_uri())
    root = page.locator(".attnw-view-root")
    expect(root.locator(".attnw-readout")).to_have_text(
        "needle (7100) → needle (1234) 46\N{NO-BREAK SPACE}%"
    )
    expect(root.locator(".attnw-curve")).to_be_visible()
    page.get_by_text("about this page").click()
    expect(page.get_by_text("long input: holds an overview of L0 H1")).to_be_visible()
    # What it has not is drawn from the overview; there is nobody to search for a token.
    expect(root.locator("[type=search]")).to_be_hidden()
    root.get_by_role("group", name="Attention of L0 H1").focus()
    page.keyboard.press("0")
    expect(root.locator("[data-caption]")).not_to_contain_text("zoomed")
    page.keyboard.press("]")
    expect(root.locator(".attnw-title")).to_have_text("L0 H1: attention between tokens")
    assert complaints(page) == []


MADE = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from attnwidget import HeadView
from references.formula_attention import FormulaAttention
"""
OF_LENGTH = {
    100: "from attnwidget import Attention; import numpy as np\n"
    "attention = Attention.from_weights(np.random.default_rng(0).dirichlet(np.full(100, 0.1), "
    "size=(1, 1, 100)).astype('f4'), [f't{i}' for i in range(100)])",
    3600: "attention = FormulaAttention(3600)",
}

# Two small models of the same input.
LLAMAS = """
import torch
from fixtures import zoo
from attnwidget import load_model
def made(strength):
    model = zoo.build("llama", positions=4096)
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(strength)
    return load_model(model)
inputs = zoo.inputs("llama", batch=1, length=3600, padded=0)
attention, other = (made(strength).attend(inputs) for strength in (1.0, 1.5))
"""


@pytest.mark.slow
@pytest.mark.parametrize("length", [100, 3600])
def test_the_same_gestures_do_the_same_at_every_length(in_lab: OpenNotebook, length: int) -> None:
    notebook = in_lab(
        [MADE + OF_LENGTH[length], "view = HeadView(attention, 0, 0, mode='matrix')\nview"]
    )
    page = notebook.page
    for cell in range(2):
        notebook.run_cell(cell)
    root = notebook.output(1).locator(".attnw-root")
    canvas = root.locator(".attnw-matrix-figure:not([hidden]) canvas.attnw-matrix")
    expect(canvas).to_be_visible()
    canvas.scroll_into_view_if_needed()

    def state() -> dict[str, Any]:
        settle(canvas)
        found: dict[str, Any] = canvas.evaluate(STATE)
        return found

    def span() -> float:
        q0, q1, _, _ = state()["part"]
        return float(q1 - q0) / length

    def point(down: float, across: float) -> tuple[float, float]:
        at = state()
        x = at["left"] + at["x0"] + across * at["cols"] * at["cellWidth"]
        return x, at["top"] + at["y0"] + down * at["rows"] * at["cellHeight"]

    def drag(start: tuple[float, float], end: tuple[float, float]) -> None:
        page.mouse.move(*point(*start))
        to = point(*end)
        page.mouse.down()
        page.mouse.move(*to, steps=5)
        page.mouse.up()

    # Of all there is nothing to move.
    drag((0.6, 0.2), (0.7, 0.3))
    assert span() == 1
    # Shift frames a part.
    page.keyboard.down("Shift")
    drag((0.6, 0.2), (0.8, 0.4))
    page.keyboard.up("Shift")
    q0, q1, k0, k1 = (at / length for at in state()["part"])
    assert 0.15 < q1 - q0 < 0.45 and q0 <= 0.61 and q1 >= 0.79 and k0 <= 0.21 and k1 >= 0.39
    # A drag moves it, and locks nothing.
    drag((0.5, 0.5), (0.75, 0.25))
    moved = [at / length for at in state()["part"]]
    assert moved[1] - moved[0] == pytest.approx(q1 - q0)
    assert moved[0] == pytest.approx(q0 - 0.25 * (q1 - q0), abs=0.02)
    assert moved[2] == pytest.approx(k0 + 0.25 * (k1 - k0), abs=0.02)
    assert notebook.value("view.tokens") == []
    # A wheel with Ctrl comes nearer; keys and buttons do as well.
    page.mouse.move(*point(0.5, 0.5))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    assert span() < q1 - q0
    root.locator(".attnw-matrix-figure:not([hidden])").focus()
    before = span()
    page.keyboard.press("-")
    assert span() > before
    page.keyboard.press("0")
    assert span() == 1
    root.get_by_role("button", name="zoom in").click()
    assert span() == pytest.approx(0.5, abs=0.1)
    # A double click shows all.
    page.mouse.dblclick(*point(0.5, 0.5))
    assert span() == 1
    notebook.wait_for_value("view.window", None)


@pytest.mark.slow
def test_hidden_tokens_several_heads_and_two_models_at_3600_tokens(
    in_lab: OpenNotebook, tmp_path: Path
) -> None:
    """Each on the page, and in a saved PDF."""
    path = str(tmp_path / "view.pdf")
    notebook = in_lab(
        [
            MADE + LLAMAS,
            "view = HeadView(attention, 0, 1)\nview",
            "both = HeadView(attention, versus=other, layer=0, head=1)\nboth",
        ]
    )
    for cell in range(3):
        notebook.run_cell(cell)
    root = notebook.output(1).locator(".attnw-root")
    caption = root.locator("[data-caption]")
    expect(caption).to_contain_text("long input, 3,600 tokens")

    def saved(name: str) -> str:
        notebook.run_in_kernel(f"{name}.save({path!r})")
        return str(notebook.value(f"open({path!r}, 'rb').read(5)"))

    # Without its first token nothing stands apart.
    notebook.run_in_kernel("view.hidden = ['first']")
    expect(caption).to_contain_text("long input, 3,599 tokens")
    expect(caption).to_contain_text("hidden: ")
    expect(caption).not_to_contain_text("in a column of its own")
    assert "%PDF" in saved("view")

    # Two heads beside each other, each with its cells.
    notebook.run_in_kernel("view.selected = [(0, 1), (1, 2)]\nview.arrangement = 'beside'")
    panels = root.locator(".attnw-panel:not([hidden]) canvas.attnw-matrix")
    expect(panels).to_have_count(2)
    expect(root.locator(".attnw-beside .attnw-panel:visible")).to_have_count(2)
    expect(caption).to_contain_text("L0 H1")
    notebook.run_in_kernel("view.window = (1000, 1040, 900, 940)")
    expect(caption).to_contain_text("zoomed: queries 1000 to 1039 and keys 900 to 939")
    assert "%PDF" in saved("view")

    # Two models.
    compared = notebook.output(2).locator(".attnw-root")
    expect(compared.locator(".attnw-beside .attnw-panel:visible")).to_have_count(3)
    expect(compared.locator("[data-caption]")).to_contain_text("long input, 3,600 tokens")
    assert "%PDF" in saved("both")
