"""The steps from a map between tokens to a map between words."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import AttentionModel, load_model
from attnwidget.words import word_map_steps


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


def test_columns_are_added_and_rows_averaged(model: AttentionModel) -> None:
    attention = model.attend("The astronomer found a small stone.")
    steps = word_map_steps(attention, "L2 H8")
    weights = attention.weights(2, 8)
    word = steps.words.index("astronomer")
    pieces = [i for i, owner in enumerate(steps.owners) if owner == word]
    assert [steps.tokens[i] for i in pieces] == ["as", "##tro", "##no", "##mer"]
    for row in range(len(steps.tokens)):
        expected = sum(float(weights[row, i]) for i in pieces)
        assert steps.added[row, word] == pytest.approx(expected, abs=1e-6)
    found = steps.words.index("found")
    expected = sum(float(weights[i, steps.tokens.index("found")]) for i in pieces) / 4
    assert steps.word_map[word, found] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(steps.word_map, attention.words.weights("L2 H8"), atol=1e-6)
    np.testing.assert_allclose(steps.word_map.sum(1), 1, atol=1e-5)
    frame = steps.to_frame()
    assert len(frame) == len(steps.words) ** 2
    assert "L2 H8" in steps.chart().to_dict()["title"]["text"][0]


@pytest.mark.parametrize("head", [(2, 8), "L2 H8"])
def test_a_head_is_named_in_both_forms(model: AttentionModel, head: object) -> None:
    steps = word_map_steps(model.attend("It slept."), head)  # type: ignore[arg-type]
    assert str(steps.head) == "L2 H8"
