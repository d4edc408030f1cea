"""The planted circuit works, and composition and copying name its two heads and no other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget import AttentionModel, Head
from attnwidget.mechanisms.copying import copying_scores
from attnwidget.mechanisms.head_composition import head_composition
from attnwidget.mechanisms.head_vocabulary import attended_vocabulary, head_vocabulary
from fixtures import planted_circuit
from refusals import naming

TOKENS = range(1, planted_circuit.TOKENS)


@pytest.fixture(scope="module")
def planted() -> AttentionModel:
    return planted_circuit.planted_model()


def test_the_circuit_attends_and_predicts(planted: AttentionModel) -> None:
    length = 15
    ids = planted_circuit.repeated(length)
    attention = planted.attend(ids[0].tolist())
    later = np.arange(1, 2 * length + 1)
    assert attention.weights(*planted_circuit.PREVIOUS)[later, later - 1].min() > 0.99
    second = np.arange(length + 1, 2 * length + 1)
    assert attention.weights(*planted_circuit.INDUCTION)[second, second - length + 1].min() > 0.99
    logits = planted.hf_model(ids).logits[0, length + 1 : -1]
    assert (logits.argmax(-1) == ids[0, length + 2 :]).all()


def test_the_previous_token_head_feeds_the_keys_of_the_induction_head(
    planted: AttentionModel,
) -> None:
    found = head_composition(planted, *planted_circuit.INDUCTION)
    layer, head = planted_circuit.PREVIOUS
    others = np.delete(found.key[layer], head)
    assert found.key[layer, head] > 0.1
    assert np.abs(others).max() < 0.02
    assert found.query[layer].max() < 0.02 and found.value[layer].max() < 0.02
    assert np.isnan(found.key[1]).all(), "heads of one layer do not feed each other"
    assert "keys from L0 H1 +0.1" in repr(found)
    assert found.heads()["feeds keys"] is found.key
    assert found.to_frame()["layer"].unique().tolist() == [0]
    for fed in ("query", "key", "value"):
        assert "L1 H2" in str(found.chart(fed).to_dict()["title"])


def test_heads_that_the_circuit_does_not_feed_have_no_source(planted: AttentionModel) -> None:
    found = head_composition(planted, 1, 0)
    for name in ("query", "key", "value"):
        assert np.nanmax(getattr(found, name)) < 0.03


def test_the_induction_head_copies_and_no_other_head(planted: AttentionModel) -> None:
    found = copying_scores(planted, names=TOKENS, top=1)
    layer, head = planted_circuit.INDUCTION
    assert found.copying[layer, head] == 1 and found.suppression[layer, head] == 0
    assert found.eigenvalues[layer, head] > 0.99 and abs(found.shuffled[layer, head]) < 0.5
    others = np.ones_like(found.copying, dtype=bool)
    others[layer, head] = False
    assert found.copying[others].max() < 0.3
    assert np.abs(found.eigenvalues[others]).max() < 0.5


def test_a_head_that_suppresses_is_the_negative_of_one_that_copies() -> None:
    model = planted_circuit.planted_model()
    layer, head = planted_circuit.INDUCTION
    size = model.hf_model.config.head_dim
    projection = model.hf_model.model.layers[layer].self_attn.o_proj.weight
    projection.data[:, head * size : (head + 1) * size] *= -1
    found = copying_scores(model, names=TOKENS, top=1)
    assert found.suppression[layer, head] == 1 and found.copying[layer, head] == 0
    assert found.eigenvalues[layer, head] < -0.99


def test_the_words_of_the_induction_head_are_the_tokens_themselves(
    planted: AttentionModel,
) -> None:
    found = head_vocabulary(planted, *planted_circuit.INDUCTION, words=[3, 9], top=2)
    assert found.head == Head(1, 2) and found.own_ranks == (0, 0)
    assert np.abs(found.scores.mean(-1)).max() < 1e-4
    frame = found.to_frame()
    assert frame.shape == (8, 7) and frame.attrs["head"] == "L1 H2"
    promoted = frame[(frame["effect"] == "promoted") & (frame["rank"] == 0)]
    assert promoted["id"].tolist() == [3, 9]
    assert repr(found) == "HeadVocabulary(planted circuit, L1 H2: 3 → id 3, 9 → id 9)"
    assert len(found.chart().to_dict()["vconcat"]) == 1


def test_attended_words_follow_from_queries_and_keys() -> None:
    """A head of layer 0 whose keys read the token finds the token that its query reads."""
    model = planted_circuit.planted_model()
    attention = model.hf_model.model.layers[0].self_attn
    size = model.hf_model.config.head_dim
    one = torch.zeros(size, model.hf_model.config.hidden_size)
    one[: planted_circuit.TOKENS, : planted_circuit.TOKENS] = torch.eye(planted_circuit.TOKENS)
    attention.q_proj.weight.data[2 * size : 3 * size] = one
    attention.k_proj.weight.data[size : 2 * size] = one
    found = attended_vocabulary(model, 0, 2, words=[3, 9])
    assert found.own_ranks == (0, 0)
    # A norm makes sqrt(size / 2) of the 1 of a token; the scores of other tokens are 0.
    expected = model.hf_model.config.hidden_size / 2 * size**-0.5
    assert found.scores[0, 3] - found.scores[0, 4] == pytest.approx(expected, rel=1e-3)
    assert found.to_frame()["effect"].unique().tolist() == ["attended", "avoided"]


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda m: head_vocabulary(m, 2, 0, words=[1]), ("layer 2", "'self'")),
        (lambda m: head_vocabulary(m, 0, 4, words=[1]), ("head 4", "'self'")),
        (
            lambda m: head_vocabulary(m, 0, 0, words=[]),
            ("tokens", "model.tokenizer.tokenize", "empty"),
        ),
        (lambda m: head_vocabulary(m, 0, 0, words=[16]), ("token id 16", "15")),
        (lambda m: head_vocabulary(m, 0, 0, words=["a"]), ("'a'", "load_model")),
        (lambda m: head_vocabulary(m, 0, 0, words=[1], top=0), ("top", "got 0")),
        (lambda m: copying_scores(m), ("names", "load_model")),
        (lambda m: copying_scores(m, names=[1], top=16), ("top", "16", "vocabulary")),
        (lambda m: head_composition(m, 0, 0), ("layer 0", "later layer")),
        (lambda m: head_composition(m, 1, 0).chart("output"), ("fed", "'output'")),
    ],
)
def test_wrong_arguments_are_named(planted: AttentionModel, call, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        call(planted)


def test_one_text_is_no_list_of_tokens(planted: AttentionModel) -> None:
    with pytest.raises(
        TypeError, match=naming("list", "'tom'", "tokens", "model.tokenizer.tokenize")
    ):
        head_vocabulary(planted, 0, 0, words="tom")
