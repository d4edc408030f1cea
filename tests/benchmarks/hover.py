"""How long a frame of hovering takes, and how soon the lens answers, beside an empty frame.

Run by `make bench`, in JupyterLab: 12 heads over one another at 122 tokens, and the lens over 144
heads x 122 tokens.
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
        jupyter("jupyterlab", Path(folder)) as server,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1700, "height": 2600})
        notebook = LiveNotebook(page, server, "lab/tree", "hover", [SETUP, "view", "lens"])
        for cell in range(3):
            notebook.run_cell(cell)
        page.locator(".attnw-lens-root canvas").first.wait_for()
        page.wait_for_timeout(3000)
        empty, hover, lens = (page.evaluate(script) for script in (EMPTY, HOVER, LENS))
        size = notebook.value("lens._lens['values']['view'].nbytes")
        print(
            f"a frame: empty {spread(empty)}, hover over 12 heads {spread(hover)}; "
            f"another word in the lens {spread(lens)}, {size:,} bytes"
        )
        notebook.close()
        browser.close()


if __name__ == "__main__":
    main()
