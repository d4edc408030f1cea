"""Run a notebook from top to bottom: `python execute.py [--store] NOTEBOOK FOLDER`.

The executed copy and the files of the notebook go to FOLDER, which the notebook finds in the
environment variable ATTNWIDGET_DEMO_OUT. With `--store`, the notebook itself gets the outputs too.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TIMEOUT = 300  # seconds a cell may take
# The kernel logs a notice about unencrypted connections, which are safe on one machine.
QUIET = ["--log-level=ERROR"]
WIDGET = "application/vnd.jupyter.widget-view+json"
VEGA_LITE = "application/vnd.vegalite.v5+json"
KINDS = {
    ".ipynb": "the executed notebook",
    ".html": "a page for any browser: it needs no server and no network",
    ".svg": "a figure for the web, or to edit",
    ".pdf": "a figure for a paper",
    ".png": "a figure for slides",
}


def execute(source: Path, out: Path) -> list[Path]:
    """Execute `source` in the folder `out`, and return the files that were written there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the message contains the cell.
    """
    out.mkdir(parents=True, exist_ok=True)
    os.environ["ATTNWIDGET_DEMO_OUT"] = str(out.resolve())
    before = _written(out)
    notebook = nbformat.read(source, as_version=4)
    folder = {"metadata": {"path": str(source.parent.resolve())}}
    NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        extra_arguments=QUIET,
        record_timing=False,
        resources=folder,
    ).execute()
    nbformat.write(notebook, out / source.name)
    return sorted(path for path, when in _written(out).items() if before.get(path) != when)


def stored(executed: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a copy of an executed notebook that keeps texts, tables and pictures only.

    Live widgets need the kernel that made them, and before each stands an output with a picture and
    a table, which stays. Of charts, the picture stays without the data. Progress bars, the state of
    widgets and the version of Python are removed.
    """
    notebook = copy.deepcopy(executed)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_live(output)]
            for output in cell.outputs:
                output.get("data", {}).pop(VEGA_LITE, None)
    return notebook


def _is_live(output: nbformat.NotebookNode) -> bool:
    data = output.get("data", {})
    return WIDGET in data or "%|" in data.get("text/plain", "")


def _written(out: Path) -> dict[Path, int]:
    """The files of `out` with the time of the last change in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in out.iterdir() if path.is_file()}


def summary(files: list[Path]) -> str:
    """One line per file: path, size and purpose."""
    order = list(KINDS)
    files = sorted(
        files, key=lambda path: order.index(path.suffix) if path.suffix in order else len(order)
    )
    width = max(len(str(path)) for path in files)
    lines = []
    for path in files:
        size = f"{path.stat().st_size / 1000:.0f} kB"
        lines.append(f"{path!s:{width}} {size:>8}  {KINDS.get(path.suffix, 'a file')}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebook", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", action="store_true", help="write outputs into the notebook")
    options = parser.parse_args()
    print(f"running {options.notebook} ...", flush=True)
    start = time.monotonic()
    files = execute(options.notebook, options.folder)
    print(f"done in {time.monotonic() - start:.0f} s, {len(files)} files written:")
    print(summary(files))
    if options.store:
        executed = nbformat.read(options.folder / options.notebook.name, as_version=4)
        nbformat.write(stored(executed), options.notebook)


if __name__ == "__main__":
    main()
