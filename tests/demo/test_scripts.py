"""The scripts that made the embedded models run as programs, from any folder."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "models"
PROGRAMS = sorted(
    script for script in FOLDER.glob("*.py") if "__main__" in script.read_text("utf-8")
)


@pytest.mark.parametrize("script", PROGRAMS, ids=lambda script: script.stem)
def test_a_script_shows_its_arguments(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, whose path has the folder of the scripts, as that of a program has."""
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert said.startswith("usage: ") and script.name in said


@pytest.mark.slow
def test_a_script_runs_as_a_program_from_another_folder(tmp_path: Path) -> None:
    script = FOLDER / "evaluate.py"
    run = subprocess.run(
        [sys.executable, script, "--help"], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("usage: ") and script.name in run.stdout


def test_all_programs_are_found() -> None:
    assert [script.stem for script in PROGRAMS] == [
        "evaluate",
        "finetune",
        "make_atlas",
        "measure_dependency_probes",
        "measure_names",
        "measure_other_texts",
        "patterns_cnn",
        "train",
        "train_induction",
        "train_pairs",
        "train_shapes",
        "train_translation",
        "train_trees",
    ]
