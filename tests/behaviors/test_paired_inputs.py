"""Behaviors on pairs of an input and its control, and the scores that follow from halves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from attnwidget import AttentionModel, load_model
from attnwidget.behaviors import measure_behaviors
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, t_interval, t_test
from attnwidget.behaviors.broad import Broad
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.paired_inputs import InputPair, PairedInputs, PairedScore
from attnwidget.behaviors.random_heads import RandomHeads
from attnwidget.behaviors.special_tokens import BEHAVIORS as SPECIAL

PAIRS = [InputPair([3 + i, 20, 5, 3 + i, 20], [9 + i, 20, 5, 3 + i, 20], first=0) for i in range(6)]


class LooksBack(PairedInputs):
    """Attention of the last token to the first and to the second token."""

    name = "looks back"
    description = "attends to the beginning"
    source = "this test"
    control_name = "another first token"
    unit = "sequence"
    behaviors = (
        PairedScore(),
        PairedScore("to the second", "attends to the second token", "a test"),
    )

    def pairs(self, evidence: Evidence) -> Sequence[InputPair]:
        return PAIRS

    def numbers(self, weights: NDArray[np.float32], pair: InputPair) -> NDArray[np.float32]:
        return np.stack([weights[..., -1, pair.first], weights[..., -1, pair.first + 1]])


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model("attnwidget/induction")


def test_every_second_pair_scores_heads_and_the_others_check(
    causal: AttentionModel, tmp_path: Path
) -> None:
    asked = {"treebank": (), "n_random_models": 0, "progress": False, "resume": tmp_path}
    table = measure_behaviors(causal, (), [LooksBack()], **asked)
    assert table.behaviors == ("looks back", "to the second")
    assert [score.description for score in table.scores] == [
        "attends to the beginning",
        "attends to the second token",
    ]
    maps = [[causal.attend(ids).weights() for ids in pair[:2]] for pair in PAIRS]
    for key, score in enumerate(table.scores):
        numbers = np.array(
            [[of[:, :, -1, key] for of in sides] for sides in maps], np.float64
        )  # [pairs, 2, L, H]
        for half, found in enumerate(
            ((score.score, score.control), (score.held_out, score.held_out_control))
        ):
            means = numbers[half::2].mean(0)
            np.testing.assert_allclose(found[0], means[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(found[1], means[1], rtol=0, atol=1e-12)
        assert (score.n, score.held_out_n, score.unit) == (3, 3, "sequence")
        test = t_test(np.moveaxis(numbers[::2], 0, -1))
        np.testing.assert_allclose(score.p, test.p)
        np.testing.assert_allclose(score.low, test.low)
        assert score.control_name == "another first token" and np.isnan(score.auc).all()
    assert (tmp_path / "looks-back.npz").exists()
    again = measure_behaviors(causal, (), [LooksBack()], **asked)
    for first, second in zip(table.scores, again.scores, strict=True):
        np.testing.assert_array_equal(first.score, second.score)


HALF = HalfScore(np.array([[0.5, np.nan]]), np.array([[0.1, np.nan]]), 9)
TEST = t_interval(np.array([[0.4, np.nan]]), np.array([[0.17, np.nan]]), 9)


def test_a_score_has_the_words_of_its_behavior_or_its_own() -> None:
    resting = SPECIAL[0]
    score = BehaviorScore.from_halves(resting, HALF, HALF, TEST, control_name="others", unit="text")
    assert (score.name, score.description) == (resting.name, resting.description)
    assert score.source == resting.source and score.resting and not score.writes
    assert np.isnan(score.random) and np.isnan(score.auc).all() and score.auc.shape == (1, 2)
    assert score.p[0, 0] == TEST.p[0, 0] < 0.05 and np.isnan(score.p[0, 1])
    own = BehaviorScore.from_halves(
        resting,
        HALF,
        HALF,
        TEST,
        control_name="others",
        unit="text",
        name="a name",
        description="acts",
        source="a source",
    )
    assert (own.name, own.description, own.source) == ("a name", "acts", "a source")


def test_random_heads_and_behaviors_without_names_change_p() -> None:
    random = RandomHeads(np.array([0.7, 0.1, 0.2]), np.full(3, 0.1))
    score = BehaviorScore.from_halves(
        SPECIAL[0], HALF, HALF, TEST, control_name="others", unit="text", random=random
    )
    assert score.random == pytest.approx(0.6)
    assert score.p[0, 0] == 1 and np.isnan(score.p[0, 1])
    unnamed = BehaviorScore.from_halves(
        Broad(), HALF, HALF, TEST, control_name="others", unit="text"
    )
    assert np.isnan(unnamed.p).all()
