"""One table of public names: the stub says what `attnwidget` gives, and nothing else is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import attnwidget
from attnwidget import charts, demo, metrics, results
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.metrics.measure import METRICS


def test_every_name_is_where_the_table_says() -> None:
    for name, home in attnwidget._HOMES.items():
        value = getattr(attnwidget, name)
        if not home:
            assert value in (charts, demo, metrics, results)
        elif home in ("metrics", "results"):
            assert value is getattr(getattr(attnwidget, home), name)
        elif isinstance(value, type) or callable(value):
            assert value.__module__ == f"attnwidget.{home}" and value.__name__ == name


def test_metrics_and_results_can_be_imported_but_are_not_listed() -> None:
    assert dir(attnwidget) == attnwidget.__all__ == sorted(attnwidget.__all__)
    assert {"HeadGrid", "load_model", "measure", "metrics", "__version__"} <= {*attnwidget.__all__}
    assert not {*attnwidget.__all__} & {*metrics.__all__}
    assert {*attnwidget.__all__} & {*results.__all__} == {"Measurements"}
    assert attnwidget.Norms is metrics.Norms and attnwidget.Link is results.Link
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
    # `import attnwidget` says which figure an atlas has; this file imports nothing.
    figure = [
        "attnwidget.behaviours",
        "attnwidget.behaviours.atlas",
        "attnwidget.behaviours.atlas.atlas_figure",
    ]
    assert run.stdout.strip() == str([*figure, "attnwidget.text", "attnwidget.text.segments"])


@pytest.mark.slow
def test_a_dependency_that_fails_to_load_is_named() -> None:
    code = "from attnwidget import explore"  # Altair needs the docstrings that -OO removes
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "attnwidget.explore cannot be loaded: Found no doc" in run.stderr
    assert "run Python without -OO" in run.stderr
