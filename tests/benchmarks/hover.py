"""How soon a live figure answers to a pointer and a head switched off.

In JupyterLab, beside an empty frame and one pass of the model: 12 heads over one another at 122
tokens, a key in a grid that answers of the embedded model are linked to.
"""

from __future__ import annotations

from typing import Any

from benchmarks.browsers import EMPTY_FRAMES, beside, open_notebook
from benchmarks.rows import Row

SETUP = """
import numpy as np
from attnwidget import Attention, HeadView
maps = np.random.default_rng(0).dirichlet(np.full(122, 0.1), (12, 12, 122)).astype("f4")
attention = Attention.from_weights(maps, [f"token{i}" for i in range(122)])
view = HeadView(attention, 3, 0, mode="lines", arrangement="overlay", shown_heads="layer")
"""
SWITCHED = """
import time
from attnwidget import HeadGrid, PredictionView, link_figures, load_model
model = load_model(device="cpu")
text = "The woman washed [MASK] hands before dinner."
answers, grid = PredictionView(model.attend(text)), HeadGrid(model.attend(text), selected=[(1, 8)])
grid.attention = answers.attention
both = link_figures(grid, answers)
def passes():
    found = []
    for _ in range(20):
        start = time.perf_counter()
        model.predict(text)
        found.append(1000 * (time.perf_counter() - start))
    return found
"""
# From the key until the answers say that the head is off, or on again, in ms.
SWITCH = """async () => {
  const grid = document.querySelector(".attnw-head-grid-root [role=grid]");
  const caption = document.querySelector(".attnw-prediction-root [data-caption]");
  const took = [];
  grid.focus();
  for (let i = 0; i < 8; i++) {
    const off = caption.textContent.includes("without L1 H8");
    const start = performance.now();
    grid.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true }));
    while (caption.textContent.includes("without L1 H8") === off)
      await new Promise(requestAnimationFrame);
    took.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 2500));  // until the effects are computed
  }
  return took;
}"""
# Milliseconds that the page is busy for each of 60 moves of the pointer: what a frame waits for.
HOVER = """async () => {
  const canvas = document.querySelector(".attnw-view-root canvas[data-layout]");
  const { left, top } = canvas.getBoundingClientRect();
  const { x0 } = JSON.parse(canvas.dataset.layout);
  const readout = document.querySelector(".attnw-view-root .attnw-readout");
  const said = new Set();
  const frame = () => new Promise(requestAnimationFrame);
  const busy = [];
  for (let i = 0; i < 60; i++) {
    const at = { clientX: left + x0 - 10, clientY: top + 30 + (i * 13) % 500, bubbles: true };
    await frame();
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", { ...at, pointerType: "mouse" }));
    await frame();
    await new Promise((done) => { const { port1, port2 } = new MessageChannel();
      port2.onmessage = done; port1.postMessage(0); });
    busy.push(performance.now() - start);
    said.add(readout.textContent);
  }
  if (said.size < 20) throw new Error(`the pointer was over ${said.size} tokens`);
  return busy;
}"""
CELLS = [SETUP, "view", SWITCHED, "grid", "answers"]


def measured() -> dict[str, Any]:
    """Return the milliseconds of each step in JupyterLab."""
    with open_notebook(CELLS) as (notebook, page):
        for cell in range(len(CELLS)):
            notebook.run_cell(cell)
        page.locator(".attnw-view-root canvas").first.wait_for()
        page.wait_for_timeout(3000)
        empty, hover = (page.evaluate(script) for script in (EMPTY_FRAMES, HOVER))
        switch = page.evaluate(SWITCH)
        passes = notebook.value("passes()")
        return {"empty": empty, "hover": hover, "switch": switch, "pass": passes}


def rows_from(ms: dict[str, Any]) -> list[Row]:
    """Return the rows of what was measured."""
    frame = "an empty frame"
    return [
        beside("a move over 12 heads, 122 tokens", frame, ms["hover"], ms["empty"]),
        beside(
            "a head switched off, until the answers change",
            "a forward pass",
            ms["switch"],
            ms["pass"],
        ),
    ]


def rows() -> list[Row]:
    """Return the rows of `make bench`."""
    return rows_from(measured())
