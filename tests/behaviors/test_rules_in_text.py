"""Rules in the place of heads in one text: weights, outputs, predictions, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, AttentionModel, load_model
from attnwidget.behaviors import with_rules
from attnwidget.behaviors.effects.rules_in_text import add_named_rules
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.capture.tapping.head import Head
from attnwidget.demo import demo_atlas
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."


class ToCaptain(LinkRule):
    """A rule of the user: every word looks at the third token."""

    name = "to the captain"

    def links(self, batch: Any) -> torch.Tensor:
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool)
        links[:, 3:, 2] = True
        return links


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def test_weights_are_equal_over_the_links_and_other_outputs_are_means(
    model: AttentionModel, attention: Attention
) -> None:
    ruled = with_rules(attention, {"L1 H3": ToCaptain()})
    n = len(attention.tokens)
    expected = np.zeros((n, n), np.float32)
    expected[3:, 2] = 1
    np.testing.assert_array_equal(ruled.weights("L1 H3"), expected)
    # Layers up to the changed one are the same, and later layers see the change.
    np.testing.assert_array_equal(ruled.weights(1, 2), attention.weights(1, 2))
    assert np.abs(ruled.weights(2, 8) - attention.weights(2, 8)).max() > 1e-4

    # Without any link, each output is the mean, as with the method "mean" over the same text.
    class Nothing(ToCaptain):
        name = "nothing"

        def links(self, batch: Any) -> torch.Tensor:
            return torch.zeros_like(super().links(batch))

    empty = with_rules(attention, {"L1 H3": Nothing()})
    with model.disabled("L1 H3", method="mean", reference=TEXT):
        mean = model.attend(TEXT)
    np.testing.assert_allclose(empty.weights(2, 8), mean.weights(2, 8), atol=1e-6)
    assert "its rule in its place: to the captain" in ruled.model_name
    assert ruled.intact is attention and not model.edits


def test_predictions_know_the_rule_where_a_word_is_masked(attention: Attention) -> None:
    reading = attention.reading
    assert reading is not None
    with_rules(attention, {"L0 H2": "previous token"})
    heads = [Head(0, 2)]
    before = reading.predict(positions=[7], top=3)
    ruled = reading.predict(heads, "rule", positions=[7], top=3)
    off = reading.predict(heads, "zero", positions=[7], top=3)
    change = [
        float(np.abs(after.log_probabilities - before.log_probabilities).max())
        for after in (ruled, off)
    ]
    # The head attends to the previous token, so its rule changes little.
    assert 0 < change[0] < change[1] / 2


def test_a_causal_model_takes_rules_too() -> None:
    causal = load_model("attnwidget/induction")
    attention = causal.attend("a b c a b")
    ruled = with_rules(attention, {"L0 H0": "previous token"})
    n = len(attention.tokens)
    np.testing.assert_array_equal(ruled.weights("L0 H0"), np.eye(n, k=-1, dtype=np.float32))


def test_names_of_an_atlas_give_rules_where_a_text_has_them(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    add_named_rules(attention, demo_atlas().names_by_head)
    assert attention.reading is not None
    rules = attention.reading.rules.by_head or {}
    assert rules[Head(0, 2)].name == "previous token"
    # A relation needs a parse.
    assert Head(2, 8) not in rules
    with pytest.raises(ValueError, match=naming("L2 H8", "L0 H2", "with_rules")):
        attention.disabled("L2 H8", "rule")


def test_what_has_no_rule_is_refused(model: AttentionModel, attention: Attention) -> None:
    for rules, words in (
        ({}, ("'L0 H2': 'previous token'",)),
        ({"L2 H8": "determiner to its noun"}, ("'determiner to its noun'", "measure_rules")),
        ({"L9 H8": "previous token"}, ("layer 9",)),
    ):
        with pytest.raises(ValueError, match=naming(*words)):
            with_rules(attention, rules)
    with (
        pytest.raises(ValueError, match=naming("method='rule'", "with_rules")),
        model.disabled("L0 H2", method="rule"),
    ):
        pass
    given = Attention.from_weights(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(ValueError, match=naming("rule", "given weights")):
        with_rules(given, {"L0 H0": "previous token"})
