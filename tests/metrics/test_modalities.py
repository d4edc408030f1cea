"""Shares of attention by modality: against a loop, and what counts as which modality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnwidget import Attention, load_model, measure, measure_attention
from attnwidget.demo import drawn_shapes
from attnwidget.metrics import modality_shares
from attnwidget.metrics.modalities import MODALITIES, modality_numbers
from attnwidget.results import Box, Sound, Span
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens
from fixtures.zoo import TRANSFORMERS_4
from refusals import naming

PICTURE = np.zeros((8, 8, 3), np.uint8)
SOUND = Sound(np.zeros(16000, np.float32), 16000)
NAMES = ["picture", "sound", "special", "padding", "prompt", "prompt", "prompt"]


def mixed_tokens() -> Tokens:
    tokens = Tokens.plain(["<p>", "<s0>", "[CLS]", "-", "what", "is", "it"])
    places = (Box(0, 0, 0, 8, 8), Span(0, 0, 1), None, Span(0, 0, 1), None, None, None)
    special = ("", "", "cls", "padding", "", "", "")
    return replace(tokens, places=places, special=special)


def mixed(seed: int = 0) -> Attention:
    weights = np.random.default_rng(seed).random((2, 3, 7, 7))
    weights /= weights.sum(-1, keepdims=True)
    return Attention.from_weights(
        weights, mixed_tokens(), places=mixed_tokens().places, images=[PICTURE], audio=[SOUND]
    )


def test_tokens_have_the_modality_of_their_place_or_kind() -> None:
    tokens = mixed_tokens()
    assert [MODALITIES[number] for number in modality_numbers(tokens)] == NAMES
    generated = [MODALITIES[number] for number in modality_numbers(tokens, n_prompt=5)]
    assert generated == [*NAMES[:5], "answer", "answer"]
    chat = tokens.in_chat(["template"] * 4 + ["user", "assistant", "assistant"], [None] * 7)
    assert [MODALITIES[number] for number in modality_numbers(chat)] == generated
    words = Tokens.plain(["Cats", "purr"])
    assert words.special[0] == "first"
    assert [MODALITIES[number] for number in modality_numbers(words)] == ["prompt", "prompt"]


def test_shares_are_those_of_a_loop() -> None:
    attention = mixed()
    weights = attention.weights().astype(float)
    result = measure_attention(attention, ["modalities"])["modalities"]
    for key, name in enumerate(MODALITIES[:-1]):
        members = [n for n, of in enumerate(NAMES) if of == name]
        np.testing.assert_allclose(
            result.shares[key], weights[..., members].sum(-1).mean(-1), atol=1e-6
        )
        assert result.even[key] == pytest.approx(len(members) / 7)
        assert result.with_tokens[key] == bool(members)
        for query in set(NAMES):
            rows = [n for n, of in enumerate(NAMES) if of == query]
            expected = weights[:, :, rows][..., members].sum(-1).mean(-1)
            np.testing.assert_allclose(result.share(query, name), expected, atol=1e-6)
    np.testing.assert_allclose(result.shares.sum(0), 1, atol=1e-6)
    assert list(result.heads()) == [f"to {name}" for name in MODALITIES if name in NAMES]
    assert np.isnan(result.by_query[MODALITIES.index("answer")]).all()
    assert "share of attention" in str(result.chart().to_dict())
    with pytest.raises(ValueError, match=naming("'answer'", "queries")):
        result.share("answer", "picture")
    with pytest.raises(ValueError, match=naming("'text'", "there")):
        result.share("picture", "text")


def test_shares_of_every_query_sum_to_1() -> None:
    attention = mixed()
    found = modality_shares(attention)
    assert found.shares.shape == (7, 2, 3, 7) and [found.names[n] for n in found.of_tokens] == NAMES
    np.testing.assert_allclose(found.shares.sum(0), 1, atol=1e-6)
    result = measure_attention(attention, ["modalities"])["modalities"]
    np.testing.assert_allclose(found.shares.mean(-1), result.shares, atol=1e-6)
    table = found.to_frame()
    assert len(table) == 5 * 2 * 3 * 7 and set(table["modality"]) == set(NAMES)
    row = table.iloc[100]
    place = MODALITIES.index(row["modality"]), row["layer"], row["head"], row["query"]
    assert found.shares[place] == row["share"] and found.tokens[row["query"]] == row["token"]
    assert "layer 1" in str(found.chart(1).to_dict()["title"])
    with pytest.raises(ValueError, match=naming("layer 2", "1")):
        found.chart(2)


def test_the_weight_on_no_token_is_a_share_of_its_own() -> None:
    weights = np.full((1, 2, 7, 7), 1 / 14)
    tokens = replace(mixed_tokens(), places=())
    attention = Attention.from_weights(weights, tokens, allow_unnormalized=True)
    found = modality_shares(attention)
    assert found.shares[-1] == pytest.approx(0.5) and found.shares.sum(0) == pytest.approx(1)
    result = measure_attention(attention, ["modalities"])["modalities"]
    assert result.heads()["to no token"] == pytest.approx(0.5)


def test_answers_of_a_model() -> None:
    model = load_model("attnwidget/induction", device="cpu")
    attention = model.generate("The man said to", max_new_tokens=3)
    result = measure_attention(attention, ["modalities"])["modalities"]
    weights = attention.weights().astype(float)
    answer = slice(attention.n_prompt, None)
    expected = weights[:, :, answer, answer].sum(-1).mean(-1)
    np.testing.assert_allclose(result.share("answer", "answer"), expected, atol=1e-6)
    n = len(attention.tokens)
    visible = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    even = visible[:, answer].sum(1).mean()
    assert result.even[MODALITIES.index("answer")] == pytest.approx(even)


def test_a_corpus_has_the_shares_of_its_texts() -> None:
    model = load_model(device="cpu")
    segments = [Segment(("the", "cat", "sat")), Segment(("it", "slept"))]
    found = measure(model, segments, ["modalities"], progress=False)["modalities"]
    alone = [
        measure_attention(model.attend(text), ["modalities"])["modalities"]
        for text in ("the cat sat", "it slept")
    ]
    np.testing.assert_allclose(found.shares, np.mean([a.shares for a in alone], 0), atol=1e-6)


@pytest.mark.skipif(TRANSFORMERS_4, reason="the eager BERT of transformers 4 shows weights alone")
def test_long_inputs_have_the_same_shares() -> None:
    model = load_model(device="cpu")
    text = "the cat sat on the mat"
    whole, long = model.attend(text), model.attend(text, long=True)
    for attention in (whole, long):
        np.testing.assert_allclose(
            measure_attention(attention, ["modalities"])["modalities"].shares,
            modality_shares(attention).shares.mean(-1),
            atol=1e-5,
        )
    np.testing.assert_allclose(
        modality_shares(long).shares, modality_shares(whole).shares, atol=1e-5
    )


def test_pictures_of_the_embedded_model() -> None:
    model = load_model("attnwidget/shapes", device="cpu")
    found = measure(model, drawn_shapes(2).images, ["modalities"], progress=False)["modalities"]
    assert list(found.heads()) == ["to picture", "to special"]
    assert found.even[0] == pytest.approx(64 / 65)
