"""Run a notebook from top to bottom: `python execute.py NOTEBOOK FOLDER`.

The executed copy and whatever the notebook writes go to FOLDER, which the notebook finds in the
environment variable ATTNWIDGET_DEMO_OUT.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TIMEOUT = 300  # seconds a cell may take


def execute(source: Path, out: Path) -> list[Path]:
    """Execute `source` with `out` as its place to write; every file that is then in `out`.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed; the message holds the cell.
    """
    out.mkdir(parents=True, exist_ok=True)
    os.environ["ATTNWIDGET_DEMO_OUT"] = str(out.resolve())
    notebook = nbformat.read(source, as_version=4)
    folder = {"metadata": {"path": str(source.parent.resolve())}}
    NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", resources=folder).execute()
    nbformat.write(notebook, out / source.name)
    return sorted(path for path in out.iterdir() if path.is_file())


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    print(f"running {source} ...", flush=True)
    for path in execute(source, out):
        print(f"{path}  ({path.stat().st_size / 1000:.0f} kB)")
    print("Open the .html page in any browser: it needs no server and no network.")


if __name__ == "__main__":
    main()
