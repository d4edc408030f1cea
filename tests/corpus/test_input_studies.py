"""Studies of inputs with an answer: workers and resume files give the bits of one whole run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import MinimalPair, load_model
from attnwidget.corpus import resume_file
from attnwidget.corpus.resume_from import resume_from
from attnwidget.demo import demo_minimal_pairs
from attnwidget.interventions import head_importance, measure_minimal_pairs, patch_heads
from attnwidget.metrics import induction_scores
from capture.test_predict import words
from fixtures.on_workers import on_workers
from fixtures.zoo import build
from refusals import naming

PAIRS = demo_minimal_pairs()[:6]
LABELLED = [
    ("The woman washed [MASK] hands.", "her"),
    ("The man washed [MASK] hands.", "his"),
    ("The dog ate [MASK] food.", "its"),
]
SMALL = {"batch_size": 1, "progress": False}


def of_pairs() -> np.ndarray[Any, Any]:
    scores = measure_minimal_pairs(load_model(device="cpu"), PAIRS, **SMALL)
    return np.stack([scores.good, scores.bad])


def of_importance() -> np.ndarray[Any, Any]:
    return head_importance(load_model(device="cpu"), LABELLED, **SMALL).raw


def of_importance_on_pairs() -> np.ndarray[Any, Any]:
    return head_importance(load_model(device="cpu"), PAIRS[:3], **SMALL).raw


def of_induction() -> np.ndarray[Any, Any]:
    model = load_model(build("llama"))
    found = induction_scores(model, n_sequences=5, length=9, progress=False)
    return np.stack([found.induction, found.duplicate, found.previous])


def of_patches() -> np.ndarray[Any, Any]:
    model = load_model(build("llama"), words())
    clean = [("w7 w8 w9 w11", "w3"), ("w12 w8 w30", "w6"), ("w2 w8 w9 w11", "w5")]
    corrupted = [("w7 w20 w9 w11", "w4"), ("w12 w21 w30", "w9"), ("w1 w8 w9 w11", "w6")]
    # Heads that are off in this process are off for workers too.
    with model.disabled([(1, 1)]):
        found = patch_heads(model, clean, corrupted, progress=False)
    return np.concatenate([found.head_scores.ravel(), found.layer_scores.ravel(), found.clean])


STUDIES: dict[str, Callable[[], np.ndarray[Any, Any]]] = {
    "minimal pairs": of_pairs,
    "head importance": of_importance,
    "head importance on pairs": of_importance_on_pairs,
    "induction scores": of_induction,
    "patches": of_patches,
}


@pytest.mark.parametrize("name", STUDIES)
class TestEveryStudy:
    @pytest.mark.slow
    def test_workers_give_the_same_bits(self, name: str) -> None:
        with ThreadPoolExecutor(2) as pool:
            np.testing.assert_array_equal(STUDIES[name](), on_workers(pool, STUDIES[name]))

    @pytest.mark.slow
    def test_an_interrupted_run_goes_on_to_the_same_bits(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "run.npz"
        monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
        save = resume_file.ResumeFile.save

        def interrupt(self: Any, progress: Any) -> None:
            save(self, progress)
            if progress.n_batches == 2:
                raise KeyboardInterrupt

        monkeypatch.setattr(resume_file.ResumeFile, "save", interrupt)
        with pytest.raises(KeyboardInterrupt), resume_from(path):
            STUDIES[name]()
        monkeypatch.setattr(resume_file.ResumeFile, "save", save)
        assert path.exists()
        with resume_from(path):
            again = STUDIES[name]()
        np.testing.assert_array_equal(STUDIES[name](), again)

    @pytest.mark.slow
    def test_a_resume_file_of_another_study_is_refused(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "run.npz"
        other = "head importance" if name == "minimal pairs" else "minimal pairs"
        with resume_from(path):
            STUDIES[other]()
            with pytest.raises(ValueError, match=naming("run.npz", "study", "another")):
                STUDIES[name]()


@pytest.mark.slow
def test_heads_that_are_off_are_off_for_workers_too() -> None:
    model = load_model(device="cpu")
    with ThreadPoolExecutor(2) as pool, model.disabled([(5, 8)]):
        here = measure_minimal_pairs(model, PAIRS, **SMALL)
        there = on_workers(pool, measure_minimal_pairs, model, PAIRS, **SMALL)
    np.testing.assert_array_equal(here.good, there.good)
    assert not np.array_equal(here.good, measure_minimal_pairs(model, PAIRS, **SMALL).good)


def test_importance_on_pairs_is_the_derivative_of_their_score() -> None:
    """The gradient by a gate on a head's output is the slope of the score as the gate moves."""
    model = load_model(device="cpu")
    pair = MinimalPair("The girl washed herself.", "The girl washed himself.")
    importance = head_importance(model, [pair], **SMALL)
    projection = model.hf_model.bert.encoder.layer[5].attention.output.dense
    size = projection.in_features // 12
    step = 1e-2

    def difference(gate: float) -> float:
        columns = slice(8 * size, 9 * size)
        with torch.no_grad():
            kept = projection.weight[:, columns].clone()
            projection.weight[:, columns] *= gate
            scores = measure_minimal_pairs(model, [pair], **SMALL)
            projection.weight[:, columns] = kept
        return float(scores.bad[0] - scores.good[0])

    slope = (difference(1 + step) - difference(1 - step)) / (2 * step)
    assert importance.raw[5, 8] == pytest.approx(abs(slope), rel=1e-2)
    assert importance.loss == pytest.approx(difference(1.0), abs=1e-5)
