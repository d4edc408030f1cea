"""The grid of a 12 x 12 model, in one browser beside bertviz's model_view on the same maps."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import torch
from playwright.sync_api import Browser, Page, Route

from attnwidget import Attention, save_page
from benchmarks.browsers import EMPTY_FRAMES, beside, open_browser, open_notebook
from benchmarks.rows import NotMeasuredError, Row

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


def random_attention(tokens: int) -> tuple[Attention, np.ndarray]:
    """Maps [12, 12, n, n] of peaked random scores."""
    scores = np.random.default_rng(0).normal(size=(12, 12, tokens, tokens)).astype("f4") * 2
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    words = ["[CLS]", *(f"word{i}" for i in range(tokens - 2)), "[SEP]"]
    return Attention.from_weights(weights, words), weights


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
    try:
        from bertviz import model_view
    except ImportError:
        raise NotMeasuredError("no bertviz: pip install bertviz") from None
    layers = tuple(torch.from_numpy(layer)[None] for layer in weights)
    page = model_view(layers, words, html_action="return")
    path.write_text(f"<!doctype html><body>{page.data}</body>", "utf-8")


def beside_bertviz(browser: Browser, folder: Path, tokens: int) -> dict[str, list[float]]:
    """Return the milliseconds from the start of a page to its pixels, of both tools."""
    attention, weights = random_attention(tokens)
    page = browser.new_page(viewport={"width": 1200, "height": 1400})
    page.set_default_timeout(300_000)
    cdn_from_npm(page, folder)
    ours = folder / "ours.html"
    theirs = folder / "theirs.html"
    save_page(attention, ours)
    bertviz_page(weights, attention.tokens, theirs)
    found: dict[str, list[float]] = {"ours": [], "bertviz": []}
    for _ in range(3):
        page.goto(f"file://{ours}")
        found["ours"].append(page.evaluate(DRAWN))
        # Every thumbnail of theirs is an SVG group of n * n lines.
        page.goto(f"file://{theirs}")
        page.wait_for_function(
            f"document.querySelectorAll('line').length >= {144 * tokens * tokens}", polling=50
        )
        found["bertviz"].append(
            page.evaluate("new Promise(r => requestAnimationFrame(() => r(performance.now())))")
        )
    page.close()
    return found


def setup(tokens: int) -> str:
    """Return the first cell of a notebook that measures."""
    return (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from benchmarks.first_light import random_attention\nfrom attnwidget import HeadGrid\n"
        f"attention, _ = random_attention({tokens})"
    )


def in_jupyterlab(tokens: int) -> dict[str, list[float]]:
    """Return the milliseconds from the run of a cell to the pixels of a grid, and of a hover."""
    with open_notebook([setup(tokens), "HeadGrid(attention)"]) as (notebook, page):
        notebook.run_cell(0)
        empty = page.evaluate(EMPTY_FRAMES)
        start = page.evaluate("performance.now()")
        page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
            "void window.jupyterapp.commands.execute('notebook:run-cell')"
        )
        drawn = page.evaluate(DRAWN) - start
        return {"drawn": [drawn], "hover": page.evaluate(HOVER), "empty": empty}


def measured() -> dict[str, Any]:
    """Return the milliseconds of each step."""
    with open_browser() as (browser, folder):
        pages = {tokens: beside_bertviz(browser, folder, tokens) for tokens in (32, 64)}
    return {"pages": pages, "lab": {tokens: in_jupyterlab(tokens) for tokens in (128,)}}


def rows_from(measured: dict[str, Any]) -> list[Row]:
    """Return the rows of what was measured."""
    found = [
        beside(
            f"`save_page`, from the start to pixels, 12 x 12 heads, {tokens} tokens",
            "`model_view` of bertviz",
            ms["ours"],
            ms["bertviz"],
        )
        for tokens, ms in measured["pages"].items()
    ]
    for tokens, ms in measured["lab"].items():
        what = f"12 x 12 heads, {tokens} tokens"
        frame = "an empty frame"
        found += [
            beside(f"`HeadGrid`, from the cell to pixels, {what}", frame, ms["drawn"], ms["empty"]),
            beside(f"a move over `HeadGrid`, {what}", frame, ms["hover"], ms["empty"]),
        ]
    return found


def rows() -> list[Row]:
    """Return the rows of `make bench`."""
    return rows_from(measured())
