"""Run a notebook from top to bottom: `python execute.py NOTEBOOK FOLDER`.

The executed copy and whatever the notebook writes go to FOLDER, which the notebook finds in the
environment variable ATTNWIDGET_DEMO_OUT.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TIMEOUT = 300  # seconds a cell may take
# The kernel is this program's own, on this machine: its notice about connections is no news.
QUIET = ["--log-level=ERROR"]
KINDS = {
    ".ipynb": "the executed notebook",
    ".html": "a page for any browser: it needs no server and no network",
    ".svg": "a figure for the web, or to edit",
    ".pdf": "a figure for a paper",
    ".png": "a figure for slides",
}


def execute(source: Path, out: Path) -> list[Path]:
    """Execute `source` with `out` as its place to write; the files that this wrote there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the message holds the cell.
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
        resources=folder,
    ).execute()
    nbformat.write(notebook, out / source.name)
    return sorted(path for path, when in _written(out).items() if before.get(path) != when)


def _written(out: Path) -> dict[Path, int]:
    """The files of `out`, and when each was last written, in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in out.iterdir() if path.is_file()}


def summary(files: list[Path]) -> str:
    """What was written, a line a file: its path, its size and what it is good for."""
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
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source = Path(sys.argv[1])
    out = Path(sys.argv[2])
    print(f"running {source} ...", flush=True)
    start = time.monotonic()
    files = execute(source, out)
    print(f"done in {time.monotonic() - start:.0f} s, {len(files)} files written:")
    print(summary(files))


if __name__ == "__main__":
    main()
