"""One table of public names: the stub says what `attnwidget` gives, and nothing else is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import attnwidget
from attnwidget import metrics
from attnwidget.studies.accumulator import Accumulator
from attnwidget.studies.measure import METRICS


def test_every_name_is_where_the_table_says() -> None:
    for name, home in attnwidget._HOMES.items():
        value = getattr(attnwidget, name)
        if name == "metrics":
            assert value is metrics
        elif home == "metrics":
            assert value is getattr(metrics, name)
        elif isinstance(value, type) or callable(value):
            assert value.__module__ == f"attnwidget.{home}" and value.__name__ == name


def test_metrics_are_at_hand_but_not_listed() -> None:
    assert dir(attnwidget) == attnwidget.__all__ == sorted(attnwidget.__all__)
    assert {"HeadGrid", "load_model", "measure", "metrics", "__version__"} <= {*attnwidget.__all__}
    assert not {*attnwidget.__all__} & {*metrics.__all__}
    assert attnwidget.Norms is metrics.Norms
    with pytest.raises(AttributeError, match="'attnwidget' has no attribute 'Nothing'"):
        _ = attnwidget.Nothing


def test_everything_that_measure_knows_by_name_is_a_public_metric() -> None:
    public = [getattr(metrics, name) for name in metrics.__all__]
    known = {
        one.name: one for one in public if issubclass(one, Accumulator) and "name" in vars(one)
    }
    assert known == METRICS
    assert all(getattr(attnwidget, one.__name__) is one for one in METRICS.values())


def test_a_name_loads_its_module_and_no_other() -> None:
    code = (
        "import sys, attnwidget; attnwidget.Segment;"
        "print([m for m in sys.modules if m.startswith('attnwidget.')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['attnwidget.text', 'attnwidget.text.segments']"


def test_a_dependency_that_fails_to_load_is_named() -> None:
    code = "from attnwidget import explore"  # Altair needs the docstrings that -OO removes
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "attnwidget.explore cannot be loaded: Found no doc" in run.stderr
    assert "run Python without -OO" in run.stderr
