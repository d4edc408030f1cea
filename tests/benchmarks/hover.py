"""How soon a live figure answers to a pointer, another word and a head switched off.

Run by `make bench`, in JupyterLab, beside an empty frame and one pass of the model: 12 heads over
one another at 122 tokens, the lens over 144 heads x 122 tokens, a key in a grid that answers of the
embedded model are linked to.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser.notebook import LiveNotebook
from browser.pages import FLAGS, chromium
from browser.servers import jupyter

SETUP = """
import numpy as np
from attnwidget import Attention, HeadView, TokenLens
maps = np.random.default_rng(0).dirichlet(np.full(122, 0.1), (12, 12, 122)).astype("f4")
attention = Attention.from_weights(maps, [f"token{i}" for i in range(122)])
view = HeadView(attention, 3, 0, mode="lines", arrangement="overlay", of="layer")
lens = TokenLens(attention, of="model", tokens=[("query", 3)])
"""
SWITCHED = """
import time
from attnwidget import HeadGrid, PredictionView, link, load_model
model = load_model(device="cpu")
text = "The woman washed [MASK] hands before dinner."
answers, grid = PredictionView(model.attend(text)), HeadGrid(model.attend(text), selected=[(1, 8)])
grid.attention = answers.attention
both = link(grid, answers)
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
  for (let i = 0; i < 12; i++) {
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
EMPTY = """async () => {
  const busy = [];
  for (let i = 0; i < 60; i++) {
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    await new Promise(requestAnimationFrame);
    busy.push(performance.now() - start);
  }
  return busy;
}"""
# From the choice of another word until the lens says so, by the page's own clock, in ms.
LENS = """async () => {
  const root = document.querySelector(".attnw-lens-root");
  const [from] = root.querySelectorAll("select");
  const took = [];
  for (const i of [5, 9, 20, 40, 60]) {
    from.selectedIndex = i;
    const name = from.selectedOptions[0].textContent;
    const start = performance.now();
    from.dispatchEvent(new Event("change", { bubbles: true }));
    const said = () => root.querySelector(".attnw-lens-caption").textContent;
    while (!said().includes(`\\u201c${name}\\u201d`)) await new Promise(requestAnimationFrame);
    took.push(performance.now() - start);
  }
  return took;
}"""
CELLS = [SETUP, "view", "lens", SWITCHED, "grid", "answers"]


def spread(milliseconds: list[float]) -> str:
    low, middle, high = np.percentile(milliseconds, [0, 50, 95])
    return f"{middle:.0f} ms ({low:.0f} to {high:.0f})"


def main() -> None:
    path = chromium()
    if path is None:
        raise SystemExit(
            "no Chromium: install it, or name one in the environment variable CHROMIUM"
        )
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        jupyter(Path(folder)) as server,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1700, "height": 2600})
        notebook = LiveNotebook(page, server, "lab/tree", "hover", CELLS)
        for cell in range(len(CELLS)):
            notebook.run_cell(cell)
        page.locator(".attnw-lens-root canvas").first.wait_for()
        page.wait_for_timeout(3000)
        empty, hover, lens = (page.evaluate(script) for script in (EMPTY, HOVER, LENS))
        switch = page.evaluate(SWITCH)
        passes = notebook.value("passes()")
        size = notebook.value("lens._lens['values']['view'].nbytes")
        print(
            f"a frame: empty {spread(empty)}, hover over 12 heads {spread(hover)}; "
            f"another word in the lens {spread(lens)}, {size:,} bytes; "
            f"a head switched off or on: answers {spread(switch)}, one pass {spread(passes)}"
        )
        notebook.close()
        browser.close()


if __name__ == "__main__":
    main()
