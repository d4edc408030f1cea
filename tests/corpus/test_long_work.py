"""Long work says that it goes on, in words that a saved notebook can show too."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from transformers import GPT2Config, GPT2LMHeadModel

from attnwidget import explore, load_model
from attnwidget.corpus import progress_bar as bars
from attnwidget.metrics.induction import induction_scores


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What a cell of a notebook puts out."""
    shell = InteractiveShell.instance()
    publisher = CapturingDisplayPublisher(shell=shell)
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    InteractiveShell.clear_instance()


def small_gpt2() -> Any:
    return load_model(GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=50)))


def lines(said: list[dict[str, Any]]) -> list[str]:
    assert all(set(output["data"]) == {"text/plain"} for output in said)
    return [output["data"]["text/plain"] for output in said]


def test_induction_scores_count_their_sequences(said: list[dict[str, Any]]) -> None:
    induction_scores(small_gpt2(), n_sequences=3, length=5)
    first, *_, last = lines(said)
    assert "0/3" in first and "3/3" in last and "100%|██████████|" in last
    # One line, written over.
    assert [output["update"] for output in said] == [False] + [True] * (len(said) - 1)


def test_without_progress_nothing_is_said(said: list[dict[str, Any]]) -> None:
    induction_scores(small_gpt2(), n_sequences=1, length=5, progress=False)
    assert said == []


def test_a_text_that_takes_long_is_said_to_be_read(
    said: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "_PATIENCE", 0.01)
    spoken = threading.Event()
    write = bars._Line.write

    def heard(line: Any, text: str) -> None:
        write(line, text)
        spoken.set()

    monkeypatch.setattr(bars._Line, "write", heard)

    def slow(*given: Any, **options: Any) -> str:
        assert spoken.wait(60)
        return "explorer"

    monkeypatch.setattr("attnwidget.widgets.explorer.explore.Explorer", slow)
    assert explore(text="A long text.") == "explorer"
    assert lines(said) == ["Reading the text …", ""]


def test_quick_work_shows_no_progress(
    said: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "_PATIENCE", 60.0)
    with bars.said_when_slow("Reading the text …"):
        pass
    assert said == []


STEPS = """
import threading
from attnwidget.widgets.shared.background import Background
begun, closed = threading.Event(), threading.Event()
def steps():
    for step in range(100):
        print("begun", flush=True)
        begun.set()
        closed.wait()
        print("done", flush=True)
        yield
background = Background(["steps"], print)
close = background.close
def close_and_tell():
    close()
    closed.set()
background.close = close_and_tell
background.add("steps", steps())
background.start()
begun.wait()
"""


def test_a_program_ends_after_the_step_that_runs() -> None:
    """A thread that were within torch by then would abort the process."""
    run = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "begun\ndone\n", "")
