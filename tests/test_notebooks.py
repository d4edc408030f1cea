"""Every notebook runs from top to bottom, offline, as `make demo` runs the first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def test_there_are_notebooks() -> None:
    assert (NOTEBOOKS / "01_quickstart.ipynb").is_file()


@pytest.mark.parametrize("source", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(source: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home"), "IPYTHONDIR": str(tmp_path / "ipython")}
    run = subprocess.run(
        [sys.executable, NOTEBOOKS / "execute.py", source, tmp_path / "out"],
        env=os.environ | home,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    cells = json.loads((tmp_path / "out" / source.name).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert any(cell["outputs"] for cell in code)
    if source.stem == "01_quickstart":
        page = (tmp_path / "out" / "attention.html").read_text(encoding="utf-8")
        assert page.lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize("source", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_is_committed_without_widget_state(source: Path) -> None:
    notebook = json.loads(source.read_text(encoding="utf-8"))
    assert "widgets" not in notebook["metadata"]
