"""model.replay: the attention over a text that a server generated, with a check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import AttentionModel, HeadView, load_model
from fixtures import zoo
from refusals import naming

PROMPT = "The cat sat on the mat. The cat"
CONTINUATION = " sat on the mat."


@pytest.fixture(scope="module")
def induction() -> AttentionModel:
    return load_model("attnwidget/induction", device="cpu")


def served(model: AttentionModel, ids: list[int], count: int) -> list[float]:
    """The log probabilities that a server would report for the last `count` of `ids`."""
    places = range(len(ids) - count, len(ids))
    scores = model.predict(ids, positions=places).log_probabilities
    return [float(row[ids[place]]) for row, place in zip(scores, places, strict=True)]


def test_a_replay_is_the_generation_of_the_model(induction: AttentionModel) -> None:
    own = induction.generate(PROMPT, max_new_tokens=4)
    ids = list(own.stacks["self"].query.ids)
    replayed = induction.replay(PROMPT, ids[own.n_prompt :])
    assert replayed.n_prompt == own.n_prompt == len(ids) - 4
    assert replayed.tokens == own.tokens
    np.testing.assert_array_equal(replayed.weights(), own.weights())
    np.testing.assert_array_equal(
        induction.replay(ids[: own.n_prompt], ids[own.n_prompt :]).weights(), own.weights()
    )
    prompts = [view._axes["query"]["prompt"] for view in map(HeadView, (replayed, own))]
    assert prompts == [own.n_prompt] * 2


def test_a_generated_text_has_the_tokens_of_the_whole_text(induction: AttentionModel) -> None:
    replayed = induction.replay(PROMPT, CONTINUATION)
    whole = induction.attend(PROMPT + CONTINUATION)
    assert replayed.tokens == whole.tokens
    assert replayed.n_prompt == len(induction.attend(PROMPT).tokens)
    np.testing.assert_array_equal(replayed.weights(), whole.weights())
    assert str(replayed.made_by).endswith(f'.replay("{PROMPT}", "{CONTINUATION}")')
    # A prompt of ids has no text that could be joined with the generated text.
    ids = list(induction.attend(PROMPT).stacks["self"].query.ids)
    assert induction.replay(ids, CONTINUATION).tokens == whole.tokens


def test_log_probabilities_of_the_same_model_are_accepted(induction: AttentionModel) -> None:
    ids = list(induction.attend(PROMPT + CONTINUATION).stacks["self"].query.ids)
    given = served(induction, ids, 6)
    replayed = induction.replay(ids[:-6], ids[-6:], log_probabilities=given, tolerance=1e-4)
    assert replayed.n_prompt == len(ids) - 6
    rounded = np.round(given, 1)
    assert induction.replay(ids[:-6], ids[-6:], log_probabilities=rounded).tokens == replayed.tokens


def test_the_first_token_that_differs_is_named(induction: AttentionModel) -> None:
    ids = list(induction.attend(PROMPT + CONTINUATION).stacks["self"].query.ids)
    given = served(induction, ids, 6)
    given[2] -= 0.5
    given[4] -= 3.0
    name = induction.attend(ids).tokens[-4]
    parts = (
        f"generated token 2 ('{name}', token {len(ids) - 4}",
        f"{given[2] + 0.5:.3f}",
        f"{given[2]:.3f}",
    )
    with pytest.raises(ValueError, match=naming(*parts)):
        induction.replay(ids[:-6], ids[-6:], log_probabilities=given)
    with pytest.raises(ValueError, match=naming("generated token 4")):
        induction.replay(ids[:-6], ids[-6:], log_probabilities=given, tolerance=1)
    # Another prompt changes the first prediction.
    given = served(induction, ids, 6)
    with pytest.raises(ValueError, match=naming("generated token 0")):
        induction.replay(ids[:1], ids[-6:], log_probabilities=given)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"generated": [99999]}, ("token id 99999", "resize_token_embeddings")),
    ({"generated": []}, ("generated", "no tokens")),
    ({"generated": ""}, ("generated", "no tokens")),
    ({"generated": [5] * 200}, ("218 tokens", "truncate=True")),
    ({"text": "The cat sat on th", "generated": "e mat"}, ("tokens of text", "ids")),
    ({"log_probabilities": [-1.0]}, ("generated token", "3 here", "[1]")),
    ({"log_probabilities": [-1.0, 0.4, -1.0]}, ("0.4", "generated token 1")),
    ({"log_probabilities": [-1.0, float("nan"), -1.0]}, ("nan", "at most 0")),
    ({"log_probabilities": [-1.0] * 3, "tolerance": 0}, ("tolerance", "above 0")),
]


@pytest.mark.parametrize(("given", "parts"), WRONG)
def test_what_cannot_be_replayed_is_refused(
    induction: AttentionModel, given: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        induction.replay(**({"text": PROMPT, "generated": [59, 119, 150]} | given))


def test_other_forms_are_refused(induction: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("generated", "dict", "ids")):
        induction.replay(PROMPT, {"tokens": [1]})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "generates")):
        load_model(device="cpu").replay(PROMPT, CONTINUATION)


def test_the_text_of_a_decoder_is_replayed() -> None:
    model = load_model(zoo.build("bart"), None)
    own = model.generate([5, 6, 7, 8, 9], max_new_tokens=5, min_new_tokens=5)
    ids = list(own.stacks["decoder"].query.ids)
    replayed = model.replay([5, 6, 7, 8, 9], ids[1:])
    assert replayed.n_prompt == own.n_prompt == 1
    for stack in own.stacks:
        np.testing.assert_allclose(
            replayed.weights(stack=stack), own.weights(stack=stack), atol=1e-7
        )
    given = served_decoder(model, [5, 6, 7, 8, 9], ids)
    again = model.replay([5, 6, 7, 8, 9], ids[1:], log_probabilities=given, tolerance=1e-4)
    assert again.tokens == own.tokens
    given[1] -= 1
    with pytest.raises(ValueError, match=naming("generated token 1")):
        model.replay([5, 6, 7, 8, 9], ids[1:], log_probabilities=given)


def served_decoder(model: AttentionModel, text: list[int], ids: list[int]) -> list[float]:
    with torch.no_grad():
        logits = model.hf_model(
            input_ids=torch.tensor([text]), decoder_input_ids=torch.tensor([ids])
        ).logits
    steps = logits[0, :-1].log_softmax(-1)
    return [float(row[token]) for row, token in zip(steps, ids[1:], strict=True)]


def test_a_replay_with_heads_off_names_them(induction: AttentionModel) -> None:
    with induction.disabled([(1, 0)]):
        edited = induction.replay(PROMPT, CONTINUATION)
    assert "without L1 H0" in edited.model_name
    assert edited.made_by is None
    assert edited.n_prompt == induction.replay(PROMPT, CONTINUATION).n_prompt
