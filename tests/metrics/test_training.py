"""Scores on repeated random tokens over a training: emergence, equal weights, kill and resume."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attnwidget import load_model, make_segments
from attnwidget.capture.model import AttentionModel
from attnwidget.demo import induction_checkpoints
from attnwidget.metrics import induction_scores, measure_checkpoints
from attnwidget.metrics.measured_checkpoints import emergence
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.results import MeasuredCheckpoints
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

INDUCTION = "induction (random tokens)"
Load = Callable[[], AttentionModel]
OPTIONS = {"n_sequences": 6, "length": 30, "progress": False}


@pytest.fixture(scope="module")
def steps() -> list[tuple[int, Load]]:
    return induction_checkpoints()


@pytest.fixture(scope="module")
def training(steps: list[tuple[int, Load]]) -> MeasuredCheckpoints:
    return measure_checkpoints(steps, **OPTIONS)  # type: ignore[arg-type]


def arrays_of(found: MeasuredCheckpoints) -> dict[str, np.ndarray]:
    assert found.losses is not None
    named = {f"metric {title}": values for title, values in found.metrics.items()}
    named |= {f"score {title}": values for title, values in found.scores.items()}
    named |= {f"control {title}": values for title, values in found.controls.items()}
    return named | {"losses": found.losses}


def assert_equal_bits(first: MeasuredCheckpoints, second: MeasuredCheckpoints) -> None:
    assert first.checkpoints == second.checkpoints and first.equal == second.equal
    arrays, others = arrays_of(first), arrays_of(second)
    assert arrays.keys() == others.keys()
    for name, values in arrays.items():
        assert values.tobytes() == others[name].tobytes(), name


def test_emergence_is_the_first_step_above_half_of_the_end_that_stays() -> None:
    rises_and_falls_back = [0.0, 0.6, 0.2, 0.7, 0.8]
    from_the_start = [0.9, 0.8, 0.9, 0.8, 0.9]
    below_the_control = [0.5, 0.4, 0.0, -0.1, -0.2]
    layers_without_attention = [np.nan] * 5
    curves = np.array(
        [rises_and_falls_back, from_the_start, below_the_control, layers_without_attention]
    )
    assert emergence(curves.T).tolist() == [3, 0, 5, 5]


def test_induction_rises_as_the_loss_of_the_second_copy_falls(
    training: MeasuredCheckpoints,
) -> None:
    assert training.steps is not None and training.steps[0] == 0 and len(training.steps) == 12
    assert training.losses is not None and training.losses.shape == (12, 2, 6)
    best = training.scores[INDUCTION].mean(-1).max((1, 2))
    first, second = training.losses.mean(-1).T
    assert best[0] < 0.1 and best[-1] > 0.5
    assert np.corrcoef(best, second)[0, 1] < -0.9
    assert second[-1] < first[-1] - 2, "only tokens with an earlier copy become easy"
    assert training.equal == ()


def test_scores_are_the_induction_scores_of_each_checkpoint(
    steps: list[tuple[int, Load]], training: MeasuredCheckpoints
) -> None:
    score = training.heads(4000)[INDUCTION]
    assert score.shape == (2, 4)
    of_other_tokens = induction_scores(steps[-1][1](), n_sequences=2, length=30, progress=False)
    np.testing.assert_allclose(score, of_other_tokens.induction, atol=0.1)
    assert score.argmax() == of_other_tokens.induction.argmax()
    previous = training.heads()["previous token (random tokens)"]
    assert previous.argmax() == of_other_tokens.previous.argmax()
    control = training.controls["previous token (random tokens)"][-1, 0, 0, 0]
    assert control == pytest.approx(of_other_tokens.even["previous-token score"])
    assert training.controls[INDUCTION][-1].max() < 0.1


def test_each_head_has_the_step_of_its_emergence(training: MeasuredCheckpoints) -> None:
    heads = training.emergence(INDUCTION)
    assert heads.columns.tolist() == [
        "metric", "layer", "head", "final", "checkpoint", "low", "high", "p", "adjusted",
    ]  # fmt: skip
    assert len(heads) == 8
    first = heads.iloc[0]
    excess = training.scores[INDUCTION] - training.controls[INDUCTION]
    curve = excess.mean(-1)[:, first["layer"], first["head"]]
    place = training.checkpoints.index(first["checkpoint"])
    assert first["final"] == curve[-1] > 0.5
    assert (curve[place:] > curve[-1] / 2).all() and curve[place - 1] <= curve[-1] / 2
    assert 0 < place < 11
    assert int(first["low"]) <= int(first["checkpoint"]) <= int(first["high"])
    assert first["p"] < first["adjusted"] < 0.05
    assert (heads["adjusted"].le(0.05) == heads["checkpoint"].notna()).all()
    below = heads[heads["final"] <= 0]
    assert len(below) and below["checkpoint"].isna().all()
    everything = training.emergence()
    previous = everything[everything["metric"] == "previous token (random tokens)"]
    assert previous["final"].is_monotonic_decreasing
    assert int(previous.iloc[0]["checkpoint"]) < int(first["checkpoint"]), (
        "it feeds the induction head"
    )
    with pytest.raises(ValueError, match=naming("score", "'entropy'")):
        training.emergence("entropy")


def noise(n_sequences: int, seed: int) -> MeasuredCheckpoints:
    """Return scores of 24 heads that vary around their control at three checkpoints."""
    random = np.random.default_rng(seed)
    scores = {
        title: random.normal(0.1, 0.05, (3, 2, 12, n_sequences)) for title in (INDUCTION, "other")
    }
    return MeasuredCheckpoints(
        checkpoints=("0", "1", "2"),
        metrics={},
        scores=scores,
        controls={title: np.full_like(values, 0.1) for title, values in scores.items()},
        losses=None,
        equal=(),
        n_segments=0,
        length=30,
        complete=True,
        model_name="noise",
    )


def test_heads_that_learned_nothing_emerge_in_one_table_of_twenty() -> None:
    tables = [noise(8, seed).emergence() for seed in range(40)]
    assert sum(table["checkpoint"].notna().any() for table in tables) <= 4
    assert sum((table["p"] <= 0.05).sum() for table in tables) > 40, "without a correction"
    for score in (INDUCTION, "other"):
        alone = noise(8, 0).emergence(score)
        of_all = tables[0][tables[0]["metric"] == score].reset_index(drop=True)
        assert alone["adjusted"].tolist() == of_all["adjusted"].tolist()


def test_with_few_sequences_no_head_emerges_and_no_value_has_an_interval() -> None:
    found = noise(5, 0)
    learned = found.scores[INDUCTION]
    learned[-1, 0, 0] = 0.9
    assert found.emergence()["checkpoint"].isna().all()
    assert found.to_frame()[["low", "high"]].isna().all(axis=None)
    assert "null" in found.chart().to_json()


@pytest.mark.slow
def test_tables_and_charts(training: MeasuredCheckpoints) -> None:
    frame = training.to_frame()
    assert len(frame) == 12 * 4 * 8
    assert ((frame["low"] <= frame["value"]) & (frame["value"] <= frame["high"])).all()
    row = frame.query(f"checkpoint == '1000' and metric == '{INDUCTION}' and layer == 1")
    np.testing.assert_array_equal(row["value"], training.heads(1000)[INDUCTION][1])
    np.testing.assert_array_equal(row["control"], training.controls[INDUCTION][7, 1].mean(-1))
    losses = training.loss_frame()
    assert losses["copy"].tolist()[:2] == ["first copy", "second copy"] and len(losses) == 24
    chart = training.chart().to_dict()
    assert len(chart["vconcat"]) == 2 and "induction" in str(chart["title"])
    assert "diamond" in str(chart) and "symlog" in str(chart)
    short = "MeasuredCheckpoints(12 checkpoints, 0 to 4000: induction (random tokens), "
    assert repr(training).startswith(short) and len(repr(training)) < 200


@pytest.mark.slow
def test_equal_checkpoints_are_named(steps: list[tuple[int, Load]]) -> None:
    doubled = [("early", steps[0][1]), ("late", steps[-1][1]), ("wrong", steps[-1][1])]
    with pytest.warns(UserWarning, match=naming("'late'", "'wrong'", "equal")):
        found = measure_checkpoints(doubled, n_sequences=1, length=8, progress=False)
    assert found.equal == (("late", "wrong"),) and "1 equal" in repr(found)
    assert found.steps is None and "checkpoint" in found.chart().to_json()
    assert found.to_frame().attrs["equal"] == (("late", "wrong"),)


def test_one_changed_weight_makes_another_hash() -> None:
    model = build("bert")
    sampled = weights_digest(model)
    whole = weights_digest(model, whole=True)
    weight = model.bert.embeddings.word_embeddings.weight
    assert weight.numel() > 2 * 64
    weight.data.view(-1)[1] += 1
    assert weights_digest(model) == sampled and weights_digest(model, whole=True) != whole


def test_a_stopped_study_goes_on_with_equal_bits_and_loads_no_finished_step_again(
    steps: list[tuple[int, Load]], training: MeasuredCheckpoints, tmp_path: Path
) -> None:
    file = tmp_path / "training.npz"
    loaded: list[int] = []

    def stopping(step: int, load: Load, last: int) -> Load:
        def counted() -> AttentionModel:
            if step == last:
                raise RuntimeError("the machine was lost")
            loaded.append(step)
            return load()

        return counted

    few = [steps[place] for place in (0, 7, 11)]
    with pytest.raises(RuntimeError, match="the machine was lost"):
        measure_checkpoints(
            [(step, stopping(step, load, 4000)) for step, load in few],
            resume=file,
            **OPTIONS,  # type: ignore[arg-type]
        )
    assert loaded == [0, 1000]
    again = [(step, stopping(step, load, -1)) for step, load in few]
    resumed = measure_checkpoints(again, resume=file, **OPTIONS)  # type: ignore[arg-type]
    assert loaded == [0, 1000, 4000] and resumed.complete
    for name, values in arrays_of(resumed).items():
        assert values.tobytes() == arrays_of(training)[name][[0, 7, 11]].tobytes(), name
    with pytest.raises(ValueError, match=naming("training.npz", "random tokens", "another")):
        measure_checkpoints(again, n_sequences=3, resume=file, progress=False)


KILLED = """
import os, sys
from attnwidget import load_model, make_segments
from attnwidget.demo import induction_checkpoints
from attnwidget.metrics import measure_checkpoints
from attnwidget.corpus import resume_file
resume_file._SECONDS_BETWEEN_SAVES = 0.0
def dying(step, load):
    return lambda: os._exit(9) if step == 1500 else load()
steps = [(step, dying(step, load)) for step, load in induction_checkpoints()]
segments = make_segments(["The man saw her.", "And she said."], load_model("attnwidget/induction"))
measure_checkpoints(
    steps, segments, ["entropy"], n_sequences=6, length=30, progress=False, resume=sys.argv[1]
)
"""


@pytest.mark.slow
def test_a_killed_process_leaves_finished_steps_and_the_rest_follows_with_equal_bits(
    steps: list[tuple[int, Load]], tmp_path: Path
) -> None:
    file = tmp_path / "training.npz"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False, timeout=600)
    assert killed.returncode == 9 and file.exists()
    texts = ["The man saw her.", "And she said."]
    segments = make_segments(texts, load_model("attnwidget/induction"))
    resumed = measure_checkpoints(steps, segments, ["entropy"], resume=file, **OPTIONS)  # type: ignore[arg-type]
    whole = measure_checkpoints(steps, segments, ["entropy"], **OPTIONS)  # type: ignore[arg-type]
    assert_equal_bits(resumed, whole)
    assert list(resumed.heads()) == [*resumed.scores, "entropy", "entropy from [CLS]"]
    assert "entropy over training" in str(resumed.chart("entropy").to_dict()["title"])
    frame = resumed.to_frame()
    assert frame.query("metric == 'entropy'")["low"].isna().all()


def test_what_cannot_be_measured_is_refused(steps: list[tuple[int, Load]]) -> None:
    load = steps[0][1]
    with pytest.raises(TypeError, match=naming("label", "(step, function)")):
        measure_checkpoints([load], progress=False)
    with pytest.raises(TypeError, match=naming("'1'", "int", "load_model")):
        measure_checkpoints([(1, lambda: 3)], progress=False)
    with pytest.raises(ValueError, match=naming("'0'", "n_sequences")):
        measure_checkpoints([(0, load)], n_sequences=0, progress=False)
    with pytest.raises(ValueError, match=naming("n_sequences", "-1")):
        measure_checkpoints([(0, load)], n_sequences=-1, progress=False)
    bert = load_model(build("bert"), word_tokenizer())
    with pytest.raises(ValueError, match=naming("'bert'", "n_sequences")):
        measure_checkpoints([("bert", bert)], progress=False)
    gpt2 = load_model(build("gpt2"), word_tokenizer())
    with pytest.raises(ValueError, match=naming("'b'", "layers", "heads")):
        measure_checkpoints([("a", load), ("b", gpt2)], n_sequences=1, length=8, progress=False)
