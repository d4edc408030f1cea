"""What a view of 8,192 tokens costs the page: frames while panning, and gesture to tile.

In JupyterLab, beside empty frames and empty cells. The weights are a formula, so that what is
measured is the page and the way to it: the kernel's part is in the benchmark of long inputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.browsers import EMPTY_FRAMES, beside, open_notebook
from benchmarks.rows import Row

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


def measured() -> dict[str, Any]:
    """Return the milliseconds of each step in JupyterLab, and the memory of the page in MB."""
    with open_notebook([SETUP, "view"], height=1400) as (notebook, page):
        for cell in range(2):
            notebook.run_cell(cell)
        page.locator(".attnw-matrix-figure").wait_for()
        page.wait_for_timeout(2000)
        devtools = page.context.new_cdp_session(page)
        found = {
            "empty": page.evaluate(EMPTY_FRAMES),
            "pan": page.evaluate(PAN, 200),
            "cells": page.evaluate(EMPTY_CELLS),
            "heap": [],
        }
        for _ in range(2):
            found["tiles"] = page.evaluate(TILES, 100)
            devtools.send("HeapProfiler.collectGarbage")
            found["heap"].append(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
        return found


def rows_from(measured: dict[str, Any]) -> list[Row]:
    """Return the rows of what was measured."""
    first, last = measured["heap"]
    ratio = last / first
    return [
        beside(
            "a move that pans 8,192 tokens", "an empty frame", measured["pan"], measured["empty"]
        ),
        beside(
            "a click on the small map, until the tile is drawn",
            "an empty cell of the kernel",
            measured["tiles"],
            measured["cells"],
        ),
        Row("memory of the page after 200 tiles", "100 tiles", ratio, ratio, ratio, last, "MB", 1),
    ]


def rows() -> list[Row]:
    """Return the rows of `make bench`."""
    return rows_from(measured())
