"""Notebooks run from top to bottom without network, and contain the outputs of such a run."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from fixtures import forked_python
from fixtures.zoo import TRANSFORMERS_4

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
VEGA_LITE = "application/vnd.vegalite.v5+json"
MAGIC = {"html": b"", "svg": b"<", "pdf": b"%PDF", "png": b"\x89PNG", "gif": b"GIF8"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# What a notebook writes, and how many charts it shows.
WRITES = {
    "01_quickstart": [
        "attention.html",
        *("all_layers.pdf", "all_layers.gif"),
        *(
            f"{name}.{suffix}"
            for name in ("four_heads", "he_and_captain")
            for suffix in ("svg", "pdf", "png")
        ),
    ],
    "02_what_does_bert_look_at": ["object_arcs.svg", "special_tokens.html", "special_tokens.svg"],
    "03_norms": ["norms.pdf", "norms.svg"],
    "04_your_own_model": ["induction.svg", "induction_head.svg", "reversal.pdf"],
    "05_what_do_heads_do": ["anaphors.svg", "genres.svg", "without_a_head.svg"],
    "06_what_did_fine_tuning_change": [
        "changed_heads.svg",
        "changed_layers.svg",
        "changed_most.svg",
    ],
    "07_is_syntax_in_the_maps": ["probe_arcs.svg", "probe_scores.svg"],
    "08_who_is_she": ["coreference.svg"],
    "09_why_it_looks_there": ["other_distances.html", "why_captain.svg"],
    "10_where_does_it_look_in_the_picture": ["lift.svg", "picture_head.svg"],
    "11_which_head_aligns_speech": ["speech_head.svg", "word_weights.svg"],
    "12_a_real_language_model": ["direct_effects.svg", "heads_of_a_deep_model.svg"],
    "13_a_name_for_every_head": ["atlas.html", "patches.svg", "training.svg", "two_distances.svg"],
    # Lessons write no files: their exercises have tests of their own.
    "01_what_attention_is": [],
    "02_what_heads_look_at": [],
    "03_heads_and_grammar": [],
    "04_what_happens_without_a_head": [],
    "05_why_a_head_looks_there": [],
    "06_pictures": [],
}
CHARTS = {
    "01_quickstart": 0,
    "02_what_does_bert_look_at": 12,
    "03_norms": 5,
    "04_your_own_model": 1,
    "05_what_do_heads_do": 5,
    "06_what_did_fine_tuning_change": 8,
    "07_is_syntax_in_the_maps": 7,
    "08_who_is_she": 1,
    "09_why_it_looks_there": 2,
    "10_where_does_it_look_in_the_picture": 2,
    "11_which_head_aligns_speech": 2,
    "12_a_real_language_model": 11,
    "13_a_name_for_every_head": 9,
    "03_heads_and_grammar": 1,
    "06_pictures": 1,
}
# This notebook trains two models, whose weights depend on the processor: its numbers may differ,
# and rows of a table that is sorted by weights may change places.
TRAINS = "04_your_own_model"
# This notebook reads a model that the package does not contain. The variable names the model.
NEEDS = {"11_which_head_aligns_speech": "ATTNWIDGET_WHISPER"}
# This notebook runs on a model of the package if the variable does not name the model of its stored
# outputs.
STORED_WITH = {"12_a_real_language_model": "ATTNWIDGET_SMOLLM2"}
LARGEST = 2_000_000  # bytes of a notebook with its outputs
SOURCES = [*sorted(NOTEBOOKS.glob("*.ipynb")), *sorted(NOTEBOOKS.glob("lessons/*.ipynb"))]
every_notebook = pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])


def test_every_notebook_is_known() -> None:
    assert [source.stem for source in SOURCES] == list(WRITES)


def unexpected(warned: str) -> str:
    """Return warnings without what transformers 4 says whenever it loads a model of pictures."""
    lines = warned.splitlines()
    return "\n".join(line for line in lines if "Using a slow image processor" not in line)


@pytest.fixture
def execute(
    tmp_path: Path, forks: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[[Path], str]:
    """`execute(notebook)` is what `execute.py` prints that runs it.

    The first notebook is run as a reader runs it. Kernels of the others are forks of a process
    that has read torch, and the program is run here: reading the libraries takes longer than most
    notebooks do.
    """
    out = str(tmp_path / "out")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("ATTNWIDGET_DEMO_OUT", out)

    def as_a_program(source: Path) -> str:
        program = [sys.executable, NOTEBOOKS / "execute.py", source, out]
        run = subprocess.run(program, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-4000:]
        assert not unexpected(run.stderr), "running it is quiet"
        return run.stdout

    def here(source: Path) -> str:
        for name, value in forked_python.kernelspec(tmp_path / "data", forks).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["execute.py", str(source), out])
        runpy.run_path(str(NOTEBOOKS / "execute.py"), run_name="__main__")
        printed, warned = capfd.readouterr()
        assert not unexpected(warned), "running it is quiet"
        return printed

    return lambda source: (as_a_program if source == SOURCES[0] else here)(source)


@pytest.mark.slow
@pytest.mark.timeout(900)
@every_notebook
def test_notebook_runs(source: Path, tmp_path: Path, execute: Callable[[Path], str]) -> None:
    variable = NEEDS.get(source.stem, "")
    if variable and not os.environ.get(variable):
        pytest.skip(f"{source.stem} needs a speech model: set {variable} to its name or folder")
    printed = execute(source)
    cells = json.loads((tmp_path / "out" / source.name).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert any(cell["outputs"] for cell in code)
    outputs = [output for cell in code for output in cell["outputs"]]
    kinds = {output["output_type"] for output in outputs}
    assert "error" not in kinds
    errors = [output["text"] for output in outputs if output.get("name") == "stderr"]
    assert not errors, errors[0]
    widgets = [output for output in outputs if WIDGET_VIEW in output.get("data", {})]
    assert widgets
    for output in widgets:
        picture = outputs[outputs.index(output) - 1]
        assert picture["data"]["image/png"] and "<table" in "".join(picture["data"]["text/html"])
        assert picture["metadata"]["image/png"]["alt"]
    shown = [output["data"] for output in outputs if VEGA_LITE in output.get("data", {})]
    assert len(shown) == CHARTS.get(source.stem, 0)
    assert all(data["image/png"] for data in shown)
    for name in WRITES[source.stem]:
        written = (tmp_path / "out" / name).read_bytes()
        if name.endswith(".html"):
            assert written.lstrip().lower().startswith(b"<!doctype html>")
            assert not re.search(rb"<script[^>]+src=", written)
            assert len(written) > 10_000
        assert written.startswith(MAGIC[name.rpartition(".")[2]])
        assert len(written) > 2_000
        assert name in printed

    # The stored texts are those of the versions in constraints.txt.
    other_model = STORED_WITH.get(source.stem)
    if not TRANSFORMERS_4 and (other_model is None or os.environ.get(other_model)):
        _assert_same_texts(source, tmp_path / "out" / source.name)


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def _assert_same_texts(source: Path, executed: Path) -> None:
    """The texts of a new run are the stored texts, and the numbers are close to each other."""
    program = runpy.run_path(str(NOTEBOOKS / "execute.py"))
    made = program["stored"](nbformat.read(executed, as_version=4))
    kept = nbformat.read(source, as_version=4)
    for made_cell, kept_cell in zip(made.cells, kept.cells, strict=True):
        made_texts = _texts(made_cell)
        kept_texts = _texts(kept_cell)
        made_words = NUMBER.sub("#", made_texts).split()
        kept_words = NUMBER.sub("#", kept_texts).split()
        if source.stem == TRAINS:
            made_words.sort()
            kept_words.sort()
        assert made_words == kept_words, "run `make notebooks`"
        if source.stem != TRAINS:
            made_numbers = [float(number) for number in NUMBER.findall(made_texts)]
            kept_numbers = [float(number) for number in NUMBER.findall(kept_texts)]
            assert made_numbers == pytest.approx(kept_numbers, rel=0.05, abs=0.02), kept_texts


def _texts(cell: nbformat.NotebookNode) -> str:
    """The printed texts, the values and the tables of a cell, with single spaces."""
    texts = []
    for output in cell.get("outputs", []):
        if "text" in output:
            texts.append(output.text)
        # A table as plain text depends on the width of the terminal.
        elif table := re.search(r"<table.*</table>", output.data.get("text/html", ""), re.DOTALL):
            texts.append(re.sub(r"<[^>]+>", " ", table[0]))
        elif "image/png" not in output.data:
            texts.append(output.data.get("text/plain", ""))
    return " ".join(" ".join(texts).split())


@every_notebook
def test_notebook_is_stored_with_pictures_and_without_widgets(source: Path) -> None:
    assert source.stat().st_size < LARGEST
    notebook = json.loads(source.read_text(encoding="utf-8"))
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    cells = notebook["cells"]
    assert [cell["id"] for cell in cells] == [f"c{i:02}" for i in range(1, len(cells) + 1)]
    assert not any(cell["metadata"] or "attachments" in cell for cell in cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in kinds and not kinds & {WIDGET_VIEW, VEGA_LITE}
    assert not any(output["output_type"] == "error" for output in outputs)
    assert not re.search(r"/(home|root|tmp|Users)/", json.dumps(outputs))
