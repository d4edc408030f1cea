"""Every notebook runs from top to bottom, offline, as `make demo` runs the first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
VEGA_LITE = "application/vnd.vegalite.v5+json"
# What a notebook writes, and how many charts it shows.
WRITES = {
    "01_quickstart": ["attention.html"],
    "02_what_does_bert_look_at": ["special_tokens.html", "special_tokens.svg"],
    "03_norms": ["norms.pdf", "norms.svg"],
}
CHARTS = {"01_quickstart": 0, "02_what_does_bert_look_at": 9, "03_norms": 1}
SOURCES = sorted(NOTEBOOKS.glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])


def test_every_notebook_is_known() -> None:
    assert [source.stem for source in SOURCES] == list(WRITES)


@pytest.mark.timeout(900)
@every_notebook
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
    outputs = [output for cell in code for output in cell["outputs"]]
    shown = [output["data"] for output in outputs if VEGA_LITE in output.get("data", {})]
    assert len(shown) == CHARTS[source.stem]
    assert all(data["image/png"] for data in shown)
    for name in WRITES[source.stem]:
        written = (tmp_path / "out" / name).read_bytes()
        if name.endswith(".html"):
            assert written.lstrip().lower().startswith(b"<!doctype html>")
            assert not re.search(rb"<script[^>]+src=", written)
        assert len(written) > 10_000


@every_notebook
def test_notebook_is_committed_without_outputs(source: Path) -> None:
    notebook = json.loads(source.read_text(encoding="utf-8"))
    assert "widgets" not in notebook["metadata"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
