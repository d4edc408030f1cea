"""Answers with one link cut, against blocks of `scaled_links`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import AttentionModel, load_model
from attnwidget.interventions.link_cuts import AskedLink, LinkCuts, link_cuts
from capture.test_predict import words
from fixtures import zoo

SENTENCE = "The captain told his men that he would not leave the ship."
MASKED = "The captain told his men that [MASK] would not leave the ship."
HE, THAT = 7, 6


def by_block(model: AttentionModel, text: str, asked: AskedLink, **choice: Any) -> np.ndarray:
    """The probabilities of the answers in a block."""
    link = choice.pop("link", (asked.query, asked.key))
    with model.scaled_links([link], 0, **choice):
        found = model.predict(text, positions=[asked.position])
    return np.exp(found.log_probabilities[0, list(asked.answers)])


def check(model: AttentionModel, text: str, cuts: LinkCuts) -> None:
    """Compare every number with a block."""
    asked = cuts.asked
    np.testing.assert_allclose(cuts.everywhere, by_block(model, text, asked), atol=2e-6)
    assert cuts.heads is not None
    for layer in range(len(cuts.layers)):
        expected = by_block(model, text, asked, layers=[layer])
        np.testing.assert_allclose(cuts.layers[layer], expected, atol=2e-6)
        for head in range(0, cuts.heads.shape[1], 5):
            expected = by_block(model, text, asked, heads=(layer, head))
            np.testing.assert_allclose(cuts.heads[layer, head], expected, atol=2e-6)


@pytest.fixture(scope="module")
def bert() -> AttentionModel:
    return load_model(device="cpu")


def test_cuts_of_a_masked_word_are_those_of_blocks(bert: AttentionModel) -> None:
    answers = tuple(bert.tokenizer.convert_tokens_to_ids(["he", "they"]))
    asked = AskedLink(bert.attend(SENTENCE), HE, (HE,), (THAT,), "self", answers)
    first, cuts = link_cuts(asked)
    assert first.heads is None and cuts.is_masked
    check(bert, SENTENCE, cuts)
    # The weights are those of the pass in which the word is masked.
    masked = bert.attend(MASKED)
    expected = np.stack([masked.weights(layer)[:, HE, THAT] for layer in range(6)])
    np.testing.assert_allclose(cuts.weights, expected, atol=1e-6)
    # The control has each other word of the text.
    words = [i for i in range(1, 14) if i not in (HE, THAT)]
    others = [by_block(bert, SENTENCE, asked, link=((HE,), i))[0] for i in words]
    np.testing.assert_allclose(cuts.others, others, atol=2e-6)


@pytest.mark.parametrize("head", ["SequenceClassification", "QuestionAnswering"])
def test_cuts_of_answers_about_the_whole_text_are_those_of_blocks(head: str) -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=zoo.VOCABULARY,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_labels=3 if head == "SequenceClassification" else 2,
        initializer_range=0.6,
    )
    model = load_model(
        getattr(transformers, f"BertFor{head}")(config).eval(), words(), device="cpu"
    )
    text = "w7 w8 w9 w11 w12"
    answers = (0, 1)
    *_, cuts = link_cuts(AskedLink(model.attend(text), -1, (3,), (1,), "self", answers))
    for choice, found in (
        ({}, cuts.everywhere),
        ({"layers": [1]}, cuts.layers[1]),
        ({"heads": (0, 1)}, cuts.heads[0, 1] if cuts.heads is not None else None),
    ):
        with model.scaled_links([(3, 1)], 0, **choice):
            expected = np.exp(model.predict(text).log_probabilities[0, list(answers)])
        np.testing.assert_allclose(found, expected, atol=2e-6)
    assert np.abs(cuts.everywhere - cuts.before).max() > 1e-5
    # Attention can rest on the first token, which is no control.
    assert not cuts.is_masked and len(cuts.others) == 2


def test_numbers_of_the_study(bert: AttentionModel) -> None:
    """In one head, in its layer and in all heads, the link to "that" has different needs."""
    he = bert.tokenizer.vocab["he"]
    asked = AskedLink(bert.attend(SENTENCE), HE, (HE,), (THAT,), "self", (he,))
    *_, cuts = link_cuts(asked)
    assert cuts.heads is not None
    found = [cuts.before[0], cuts.heads[2, 11, 0], cuts.layers[2, 0], cuts.everywhere[0]]
    assert found == pytest.approx([0.726, 0.293, 0.423, 0.398], abs=5e-4)


def test_all_tokens_of_both_words_are_cut(bert: AttentionModel) -> None:
    text = "The mathematician left her."
    asked = AskedLink(bert.attend(text), 2, (2, 3, 4, 5), (7,), "self", (100,))
    *_, cuts = link_cuts(asked, by_head=False)
    with bert.scaled_links([("mathematician", "her")], 0, text=text):
        found = bert.predict(text, positions=[2, 3, 4, 5])
    assert cuts.everywhere[0] == pytest.approx(np.exp(found.log_probabilities[0, 100]), rel=1e-3)
    assert cuts.heads is None


@pytest.mark.parametrize("position", [9, 23])
def test_cuts_of_a_causal_model_are_those_of_blocks(position: int) -> None:
    model = load_model("attnwidget/induction", device="cpu")
    text = "The cat sat on the mat. The cat sat on the"
    asked = AskedLink(model.attend(text), position, (position - 1,), (4,), "self", (5, 9))
    *_, cuts = link_cuts(asked)
    assert not cuts.is_masked
    check(model, text, cuts)
    weights = asked.attention.weights(1)[:, position - 1, 4]
    np.testing.assert_allclose(cuts.weights[1], weights, atol=1e-6)


def test_a_stopped_job_yields_nothing_more(bert: AttentionModel) -> None:
    asked = AskedLink(bert.attend(SENTENCE), HE, (HE,), (THAT,), "self", (5,))
    assert list(link_cuts(asked, stopped=lambda: True)) == []
    found: list[LinkCuts] = []
    for cuts in link_cuts(asked, stopped=lambda: bool(found)):
        found.append(cuts)
    assert [cuts.heads for cuts in found] == [None]
