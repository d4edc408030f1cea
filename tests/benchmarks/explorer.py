"""How soon the explorer is on the page, beside an empty widget."""

from __future__ import annotations

from typing import Any

from benchmarks.browsers import beside, open_notebook
from benchmarks.rows import Row

ROUNDS = 5
SETUP = """
import anywidget
from attnwidget import explore, load_model
model = load_model()
class Empty(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.innerHTML = '<b class=empty>word</b>' } }"
once = explore(model, "Warm.")
once.wait()
once._repr_mimebundle_()
once.close()
"""
# From the run of a cell until grid and view are painted, by the page's own clock, in ms.
FIRST_PIXELS = """async () => {
  const start = performance.now();
  void window.jupyterapp.commands.execute("notebook:run-cell");
  const painted = () => {
    const root = document.querySelector(".attnw-ex-root");
    const layout = root?.querySelector("canvas.attnw-grid")?.dataset.layout ?? "{}";
    return JSON.parse(layout).rows > 0 && root.querySelector(".attnw-view-root canvas");
  };
  for (;;) {
    await new Promise(requestAnimationFrame);
    if (painted()) return performance.now() - start;
    if (performance.now() - start > 60000) return Infinity;
  }
}"""
# The same from Ctrl+Enter until sentence, lines and grid show the other text. Where the explorer
# hides [CLS] and [SEP], the lines have two tokens less. A row of pixels stands for the grid.
RERUN = """async ([text, count]) => {
  const root = document.querySelector(".attnw-ex-root");
  const grid = root.querySelector("canvas.attnw-grid");
  const pixels = () => {
    const row = grid.getContext("2d").getImageData(0, grid.height >> 1, grid.width, 1);
    return row.data.join();
  };
  const before = pixels();
  const area = root.querySelector("textarea");
  area.value = text;
  area.dispatchEvent(new Event("input"));
  const start = performance.now();
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }));
  const shows = () => {
    const words = root.querySelectorAll(".attnw-ex-sentence [role=toolbar] button").length;
    const lines = root.querySelector("canvas.attnw-lines")?.dataset.layout ?? "{}";
    const drawn = JSON.parse(lines).rows;
    return words === count && (drawn === count || drawn === count - 2);
  };
  for (;;) {
    await new Promise(requestAnimationFrame);
    if (shows() && pixels() !== before) return performance.now() - start;
    if (performance.now() - start > 60000) return Infinity;
  }
}"""

EMPTY = """async () => {
  document.querySelector("b.empty")?.classList.remove("empty");
  const start = performance.now();
  void window.jupyterapp.commands.execute("notebook:run-cell");
  while (!document.querySelector("b.empty")) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
ACTIVATE = "(cell) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell }"


def measured() -> dict[str, Any]:
    """Return the milliseconds of each step in JupyterLab."""
    cells = [SETUP, "Empty()", "explorer = explore(model)\nexplorer"]
    with open_notebook(cells) as (notebook, page):
        notebook.run_cell(0)
        empty = []
        first = []
        for _ in range(ROUNDS):
            page.evaluate(ACTIVATE, 1)
            empty.append(page.evaluate(EMPTY))
            page.evaluate(ACTIVATE, 2)
            first.append(page.evaluate(FIRST_PIXELS))
            notebook.run_in_kernel("explorer.wait()")
            if len(first) < ROUNDS:
                notebook.run_in_kernel("explorer.close()")
                page.locator(".attnw-ex-root").wait_for(state="detached")
                # The kernel and the page are still letting go of the figures.
                page.wait_for_timeout(500)
        page.wait_for_timeout(1000)
        texts = [[f"{'cats and ' * n}cats .", 2 * n + 4] for n in (3, 4, 5, 6, 7)]
        again = []
        for text in texts:
            again.append(page.evaluate(RERUN, text))
            notebook.run_in_kernel("explorer.wait()")  # what is measured after the pictures
        return {"empty": empty, "first": first, "again": again}


def rows_from(ms: dict[str, Any]) -> list[Row]:
    """Return the rows of what was measured."""
    empty = "an empty widget in the same page"
    return [
        beside(
            "`explore(model)`, from the cell to grid and lines", empty, ms["first"], ms["empty"]
        ),
        beside("`explore(model)`, another text", empty, ms["again"], ms["empty"]),
    ]


def rows() -> list[Row]:
    """Return the rows of `make bench`."""
    return rows_from(measured())
