"""Numbers of all public studies, against those stored in the repository, and that none is left out.

`python tests/frozen_numbers.py summarize tests/references/frozen_numbers.json` writes the stored
numbers again, after a change that is meant to change them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import frozen_numbers

STORED = Path(__file__).with_name("frozen_numbers.json")


def test_every_public_function_is_a_study_or_named_as_none() -> None:
    functions = frozen_numbers.public_functions()
    used = frozen_numbers.used_names()
    without_numbers = set(frozen_numbers.NO_STUDY)
    assert {"measure", "ablate", "demo_texts"} <= functions
    assert functions - used - without_numbers == set(), "add a study to tests/frozen_numbers.py"
    assert without_numbers - functions == set(), "NO_STUDY names a function that does not exist"
    assert without_numbers & used == set(), "a function has a study and is named as none"


def test_every_metric_is_measured() -> None:
    from attnwidget import metrics
    from attnwidget.metrics.measure_heads import metrics_by_name

    makers = frozen_numbers.metric_makers()
    assert makers == metrics_by_name()
    measured = {maker.__name__ for maker in makers.values() if isinstance(maker, type)}
    bases = {"Accumulator", "Batch", "LayerBatch", "SegmentMeans", "Subject"}
    kinds = {name for name in metrics.__all__ if isinstance(getattr(metrics, name), type)}
    assert measured | bases == kinds


def test_every_method_with_numbers_of_a_model_and_an_attention_is_called() -> None:
    from attnwidget import Attention, AttentionModel

    called = frozen_numbers.called_names()
    inner = {
        "check_open",
        "close",
        "question",
        "stack_maps",
        "has",
        "head",
    }
    for kind in (Attention, AttentionModel):
        methods = {name for name in vars(kind) if not name.startswith("_")}
        methods = {name for name in methods if callable(getattr(kind, name))}
        assert methods - called - inner == set(), kind.__name__


def test_differences_name_arrays_that_differ_are_missing_or_new() -> None:
    words = np.asarray('["a", "b"]')
    before = {"same": np.arange(3), "half": np.array([1.0, np.nan]), "gone": words, "words": words}
    now = {
        "same": np.arange(3),
        "half": np.array([1.5, np.nan]),
        "words": np.asarray('["a", "c"]'),
        "new": words,
    }
    missing, new, half, other_words = frozen_numbers.differences(before, now)
    assert (missing, new) == ("missing: gone", "new: new")
    assert half == "differs: half: 1 of 2 entries, at most 0.5 (largest value 1)"
    assert other_words.startswith("differs: words: words ")
    assert frozen_numbers.differences(before, before) == []


def test_a_different_bit_or_type_is_a_difference() -> None:
    zero = np.array([0.0, 2.0])
    assert "1 of 2 entries" in frozen_numbers.difference(zero, np.array([-0.0, 2.0]))
    assert "float32" in frozen_numbers.difference(zero, zero.astype(np.float32))
    assert "(1, 2)" in frozen_numbers.difference(zero, zero[None])


def test_summaries_allow_rounding_only() -> None:
    values = np.linspace(-1, 2, 1000)
    before = frozen_numbers.summary(values)
    assert not frozen_numbers.summary_differs(before, frozen_numbers.summary(values * (1 + 1e-7)))
    assert frozen_numbers.summary_differs(before, frozen_numbers.summary(values * (1 + 1e-4)))
    assert frozen_numbers.summary_differs(before, frozen_numbers.summary(values[:-1]))
    one_missing = np.where(np.arange(1000) == 3, np.nan, values)
    assert frozen_numbers.summary_differs(before, frozen_numbers.summary(one_missing))


def test_files_of_arrays_keep_names_and_bits(tmp_path: Path) -> None:
    arrays = {
        "a study / a field": np.array([0.1, np.nan], dtype=np.float32),
        "words": np.asarray('["\\u00e9"]'),
        "flags": np.array([[True], [False]]),
    }
    frozen_numbers.store(tmp_path / "numbers.npz", arrays)
    again = frozen_numbers.stored(tmp_path / "numbers.npz")
    assert list(again) == list(arrays)
    assert frozen_numbers.differences(arrays, again) == []


@pytest.mark.slow
def test_numbers_are_the_stored_numbers(tmp_path: Path) -> None:
    # Another process: the script sets the threads and the random numbers of its process.
    script = str(Path(frozen_numbers.__file__))
    file = str(tmp_path / "numbers.npz")
    paths = os.pathsep.join(path for path in sys.path if path)
    run = subprocess.run(
        [sys.executable, script, "write", file],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]
    now = frozen_numbers.summaries(frozen_numbers.stored(file))
    before = dict(_stored_summaries())
    assert STORED.stat().st_size <= 300_000 and len(before) > 1000
    assert set(before) - set(now) == set()
    changed = {
        name: (numbers, now[name])
        for name, numbers in before.items()
        if frozen_numbers.summary_differs(numbers, now[name])
    }
    assert changed == {}


def _stored_summaries() -> Iterator[tuple[str, list[object]]]:
    for study, fields in json.loads(STORED.read_text("utf-8")).items():
        assert study in frozen_numbers.STUDIES
        for field, numbers in fields.items():
            yield f"{study} / {field}", numbers
