"""The grid of a 12 x 12 model, in one browser beside bertviz's model_view on the same maps.

Run by `make bench`. Prints bytes sent, time from display to pixels and the cost of a hover.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import comm
import numpy as np
import torch
from playwright.sync_api import Browser, Page, Route, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from attnwidget import Attention, HeadGrid, save_page
from browser.notebook import LiveNotebook
from browser.pages import FLAGS, chromium
from browser.servers import jupyter

# What bertviz asks a CDN for, from npm instead; the keys tell the addresses apart.
PACKAGES = {
    "require": ("requirejs@2.3.6", "requirejs/require.js"),
    "d3": ("d3@5.7.0", "d3/dist/d3.min.js"),
    "jquery": ("jquery@2.2.4", "jquery/dist/jquery.min.js"),
}
DRAWN = """async () => {
  const painted = () => {
    const canvas = document.querySelector("canvas.attnw-grid");
    if (!canvas?.dataset.layout || !canvas.width) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const dark = data.some((value, i) => i % 4 === 0 && value < 100 && data[i + 3] === 255);
    return dark;
  };
  while (!painted()) await new Promise(requestAnimationFrame);
  return performance.now();
}"""
HOVER = """async () => {
  const canvas = document.querySelector("canvas.attnw-grid");
  const { x0, y0, cell, gap } = JSON.parse(canvas.dataset.layout);
  const box = canvas.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 40; i++) {
    const at = (k) => (k % 12) * (cell + gap) + cell / 2;
    const event = { bubbles: true, clientX: box.x + x0 + at(i), clientY: box.y + y0 + at(i * 5) };
    await new Promise(requestAnimationFrame);
    const start = performance.now();
    for (const type of ["pointerover", "pointerenter", "pointermove"])
      canvas.dispatchEvent(new PointerEvent(type, event));
    await new Promise(requestAnimationFrame);
    await new Promise((resolve) => setTimeout(resolve));
    times.push(performance.now() - start);
  }
  return times;
}"""


class CountingComm(comm.base_comm.BaseComm):
    """Adds up what would cross to the page."""

    total = 0

    def publish_msg(self, msg_type: str, data: Any = None, buffers: Any = None, **_: Any) -> None:
        blobs = sum(memoryview(buffer).nbytes for buffer in buffers or [])
        CountingComm.total += len(json.dumps(data, default=str)) + blobs


def random_attention(tokens: int) -> tuple[Attention, np.ndarray]:
    """Maps [12, 12, n, n] of peaked random scores."""
    scores = np.random.default_rng(0).normal(size=(12, 12, tokens, tokens)).astype("f4") * 2
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    words = ["[CLS]", *(f"word{i}" for i in range(tokens - 2)), "[SEP]"]
    return Attention.from_weights(weights, words), weights


def bytes_sent(tokens: int) -> int:
    attention, _ = random_attention(tokens)
    create, comm.create_comm = comm.create_comm, CountingComm
    CountingComm.total = 0
    try:
        HeadGrid(attention).close()
    finally:
        comm.create_comm = create
    return CountingComm.total


def cdn_from_npm(page: Page, folder: Path) -> None:
    names = [name for name, _ in PACKAGES.values()]
    subprocess.run(
        ["npm", "install", "--silent", "--no-save", "--prefix", str(folder), *names], check=True
    )

    def answer(route: Route) -> None:
        for part, (_, path) in PACKAGES.items():
            if part in route.request.url.rsplit("/", 1)[-1]:
                route.fulfill(path=folder / "node_modules" / path)
                return
        route.abort()

    page.route("https://**/*", answer)


def bertviz_page(weights: np.ndarray, words: list[str], path: Path) -> None:
    from bertviz import model_view

    layers = tuple(torch.from_numpy(layer)[None] for layer in weights)
    page = model_view(layers, words, html_action="return")
    path.write_text(f"<!doctype html><body>{page.data}</body>", "utf-8")


def beside_bertviz(browser: Browser, folder: Path, tokens: int) -> None:
    attention, weights = random_attention(tokens)
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.set_default_timeout(300_000)
    cdn_from_npm(page, folder)
    ours = folder / "ours.html"
    theirs = folder / "theirs.html"
    save_page(attention, ours)
    bertviz_page(weights, attention.tokens, theirs)
    page.goto(f"file://{ours}")
    ours_ms = page.evaluate(DRAWN)
    ours_count = page.evaluate("document.querySelectorAll('*').length")
    # Every thumbnail of theirs is an SVG group of n * n lines.
    page.goto(f"file://{theirs}")
    page.wait_for_function(
        f"document.querySelectorAll('line').length >= {144 * tokens * tokens}", polling=50
    )
    theirs_ms = page.evaluate("new Promise(r => requestAnimationFrame(() => r(performance.now())))")
    theirs_count = page.evaluate("document.querySelectorAll('*').length")
    page.close()
    print(
        f"{tokens:4} tokens: page to pixels {ours_ms:7.0f} ms, {ours_count} elements;"
        f" bertviz {theirs_ms:7.0f} ms, {theirs_count} elements"
        f" ({theirs_ms / ours_ms:.1f} x the time)"
    )


def setup(tokens: int) -> str:
    """The first cell of a notebook that measures."""
    return (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from benchmarks.first_light import random_attention\nfrom attnwidget import HeadGrid\n"
        f"attention, _ = random_attention({tokens})"
    )


def in_jupyterlab(browser: Browser, folder: Path, tokens: int) -> None:
    with jupyter(folder / f"lab{tokens}") as server:
        page = browser.new_page(viewport={"width": 1200, "height": 1400})
        notebook = LiveNotebook(
            page, server, "lab/tree", "bench", [setup(tokens), "HeadGrid(attention)"]
        )
        notebook.run_cell(0)
        start = page.evaluate("performance.now()")
        notebook.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
            "void window.jupyterapp.commands.execute('notebook:run-cell')"
        )
        drawn = page.evaluate(DRAWN) - start
        hover = page.evaluate(HOVER)
        print(
            f"{tokens:4} tokens in JupyterLab: display to pixels {drawn:.0f} ms;"
            f" hover to the next frame {median(hover):.0f} ms (largest {max(hover):.0f})"
        )
        notebook.close()
        page.close()


# What a page keeps of any widget that a cell showed and closed.
EMPTY = "__import__('anywidget').AnyWidget(_esm='export default { render() {} }')"


def rerun(browser: Browser, folder: Path, widget: str = "HeadGrid(attention)") -> None:
    """Run one cell again and again; what the page and the kernel then hold."""
    cell = f"if 'shown' in globals(): shown.close()\nshown = {widget}\nshown"
    with jupyter(folder / f"rerun{len(widget)}") as server:
        page = browser.new_page(viewport={"width": 1200, "height": 1400})
        notebook = LiveNotebook(page, server, "lab/tree", "rerun", [setup(128), cell])
        notebook.run_cell(0)
        heap = []
        devtools = page.context.new_cdp_session(page)
        for run in range(61):
            notebook.run_cell(1)
            if run % 20 == 0:
                page.wait_for_timeout(1000)
                devtools.send("HeapProfiler.collectGarbage")
                heap.append(devtools.send("Runtime.getHeapUsage")["usedSize"] / 1e6)
        living = notebook.value("len(__import__('ipywidgets').widgets.widget._instances)")
        sizes = ", ".join(f"{size:.1f}" for size in heap)
        print(
            f"page heap after 1, 21, 41 and 61 runs of {widget}: {sizes} MB;"
            f" live models in the kernel: {living} (the widget, its layout)"
        )
        notebook.close()
        page.close()


def import_time() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import attnwidget;"
        "print(f'import attnwidget: {time.perf_counter() - start:.3f} s,'"
        " f\" torch imported: {'torch' in sys.modules}\")"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    path = chromium()
    if path is None:
        raise SystemExit(
            "no Chromium: install it, or name one in the environment variable CHROMIUM"
        )
    import_time()
    for tokens in (32, 128, 512):
        print(f"{tokens:4} tokens: {bytes_sent(tokens) / 1e6:.3f} MB sent for 12 x 12 heads")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for tokens in (32, 64):
            beside_bertviz(browser, Path(name), tokens)
        for tokens in (128, 512):
            in_jupyterlab(browser, Path(name), tokens)
        for widget in ("HeadGrid(attention)", EMPTY):
            rerun(browser, Path(name), widget)
        browser.close()


if __name__ == "__main__":
    main()
