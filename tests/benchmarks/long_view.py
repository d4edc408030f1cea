"""What a view of 8,192 tokens costs the page: frames while panning, gesture to tile, memory, bytes.

Run by `make bench`, in JupyterLab, beside empty frames. The weights are a formula, so that what is
measured is the page and the way to it: the kernel's own part is in the benchmark of tiles.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from hover import EMPTY, spread

from browser.notebook import LiveNotebook
from browser.pages import FLAGS, chromium
from browser.servers import jupyter

TESTS = Path(__file__).parents[1]
SETUP = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from attnwidget import HeadView
from references.formula_attention import FormulaAttention
attention = FormulaAttention(8192)
view = HeadView(attention, 0, 1, window=(4000, 4100, 3900, 4000))
"""
# Moves of a hand that pans, one a frame: how long the page is busy with each of them, in ms.
PAN = """async (moves) => {
  const box = document.querySelector(".attnw-matrix-figure:not([hidden])");
  const { left, top } = box.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  const send = (type, x, y) => box.dispatchEvent(
    new PointerEvent(type, { clientX: x, clientY: y, pointerId: 7, bubbles: true, button: 0 }));
  const busy = [];
  for (let i = 0; i < moves; i++) {
    const x = left + 500 - (i % 20) * 20, y = top + 300;
    if (i % 20 === 0) { send("pointerup", x, y); send("pointerdown", x, y); }
    await frame();
    const start = performance.now();
    send("pointermove", x, y + (i % 7));
    await frame();
    await new Promise((done) => { const { port1, port2 } = new MessageChannel();
      port2.onmessage = done; port1.postMessage(0); });
    busy.push(performance.now() - start);
  }
  send("pointerup", left, top);
  return busy;
}"""
# From a click on the small map until the tile there is drawn, in ms.
TILES = """async (count) => {
  const map = document.querySelector(".attnw-minimap");
  const plate = document.querySelector(".attnw-plate");
  const { left, top } = map.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  const took = [];
  for (let i = 0; i < count; i++) {
    await new Promise((done) => setTimeout(done, 30));
    const place = { clientX: left + 10 + (i * 37) % 100, clientY: top + 10 + (i * 53) % 100 };
    const start = performance.now();
    map.dispatchEvent(new PointerEvent("pointerdown", { ...place, bubbles: true }));
    do await frame(); while (plate.getAttribute("aria-busy") === "true");
    took.push(performance.now() - start);
  }
  return took;
}"""
# What the way to the kernel and back takes by itself, in ms.
EMPTY_CELLS = """async () => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const took = [];
  for (let i = 0; i < 30; i++) {
    const start = performance.now();
    await kernel.requestExecute({ code: "", silent: true, store_history: false }).done;
    took.push(performance.now() - start);
  }
  return took;
}"""


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
        page = browser.new_page(viewport={"width": 1700, "height": 1400})
        notebook = LiveNotebook(page, server, "lab/tree", "long", [SETUP, "view"])
        for cell in range(2):
            notebook.run_cell(cell)
        page.locator(".attnw-matrix-figure").wait_for()
        page.wait_for_timeout(2000)
        devtools = page.context.new_cdp_session(page)
        empty = page.evaluate(EMPTY)
        pan = page.evaluate(PAN, 200)
        heap = []
        cells = page.evaluate(EMPTY_CELLS)
        for _ in range(3):
            took = page.evaluate(TILES, 100)
            devtools.send("HeapProfiler.collectGarbage")
            heap.append(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
        asked = notebook.value("len(attention.asked)")
        size = notebook.value("view._tile['values']['view'].nbytes")
        sizes = ", ".join(f"{one:.1f}" for one in heap)
        print(
            f"a frame: empty {spread(empty)}, panning {spread(pan)}, the longest {max(pan):.0f} ms;"
            f" gesture to tile {spread(took)}, {size:,} bytes, an empty cell {spread(cells)};"
            f" heap after 100, 200 and 300 tiles: {sizes} MB ({asked} parts asked for)"
        )
        notebook.close()
        browser.close()


if __name__ == "__main__":
    main()
