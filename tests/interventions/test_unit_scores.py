"""Scores with units of heads off, against a loop. The loop and the mask token stand once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import attnwidget
from attnwidget import Head, ablate, load_model
from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.replay import replaying
from attnwidget.inputs.mask_token import mask_id_of, mask_places
from attnwidget.interventions.examples import batch_of, encode_examples, originals_of
from attnwidget.interventions.unit_scores import unit_scores
from attnwidget.interventions.units import Unit, units_of
from refusals import naming

EXAMPLES = [("The woman washed [MASK] hands.", "her"), ("The man opened [MASK] mouth.", "his")]
HEADS = [Head(2, 1), Head(2, 3), Head(5, 8)]


@pytest.mark.parametrize("score", ["loss", "log probability", "accuracy"])
def test_scores_of_units_are_those_of_a_loop(score: str) -> None:
    model = load_model(device="cpu")
    batch = batch_of(model, encode_examples(model, EXAMPLES))
    units = [{head: Change("zero", "zero")} for head in HEADS]
    with replaying(model.hf_model, model.edits, intact_edits(model.hf_model)) as replay:
        scores = torch.cat(list(unit_scores(replay, batch, units, score)))
    assert scores.shape == (4, 2) and scores.dtype == torch.float64
    wanted = []
    for heads in ([], *([head] for head in HEADS)):
        if heads:
            with model.disabled(heads, method="zero"):
                answered = [model.predict(text) for text, _ in EXAMPLES]
        else:
            answered = [model.predict(text) for text, _ in EXAMPLES]
        chances = [
            predictions.probability(answer)
            for predictions, (_, answer) in zip(answered, EXAMPLES, strict=True)
        ]
        right = [
            float(chance == predictions.probabilities.max())
            for chance, predictions in zip(chances, answered, strict=True)
        ]
        logs = np.log(chances)
        wanted.append({"loss": -logs, "log probability": logs, "accuracy": right}[score])
    np.testing.assert_allclose(scores.numpy(), wanted, atol=1e-5)


def test_a_question_about_a_reading_and_an_example_are_alike() -> None:
    model = load_model(device="cpu")
    reading = model.attend(EXAMPLES[0][0]).reading
    assert reading is not None
    question = model.question(reading.inputs, 4)
    assert question.places == (4,) and question.sign == 1 and question.targets == ()
    (example,) = encode_examples(model, EXAMPLES[:1])
    assert example.places == (4,) and example.original == EXAMPLES[0]
    assert question.encoded["input_ids"][0].tolist() == example.encoded.ids


def test_examples_of_pairs_are_several_inputs() -> None:
    pair = attnwidget.MinimalPair("The girl washed herself.", "The girl washed himself.")
    model = load_model(device="cpu")
    examples = encode_examples(model, [pair, pair])
    assert sorted({(example.index, example.sign) for example in examples}) == [
        (0, -1),
        (0, 1),
        (1, -1),
        (1, 1),
    ]
    assert originals_of(examples) == [pair, pair]
    for example in examples:
        assert mask_places(model.tokenizer, example.encoded.ids) == list(example.places)


def test_units_are_heads_layers_and_heads_at_a_token() -> None:
    model = load_model(device="cpu")
    units, shape = units_of(model, "all")
    assert shape == (6, 12) and len(units) == 6 * 13
    assert [unit.whole for unit in units[:13]] == [False] * 12 + [True]
    by_token, _ = units_of(model, [(5, 8), (2, 3)], positions=2)
    assert by_token[:3] == [
        Unit((Head(2, 3),)),
        Unit((Head(2, 3),), 0),
        Unit((Head(2, 3),), 1),
    ]
    assert units_of(model, np.array([[5, 8], [2, 3]]), positions=2)[0] == by_token
    assert [unit.whole for unit in units_of(model, "layers", positions=2)[0]] == [True] * 6
    with pytest.raises(ValueError, match=naming("L2 H3", "twice", "once")):
        units_of(model, [(2, 3), (2, 3)])


def test_a_layer_with_a_single_head_is_a_layer() -> None:
    config = transformers.GPT2Config(n_layer=2, n_head=1, n_embd=16, vocab_size=8192)
    tokenizer = load_model(device="cpu").tokenizer
    model = load_model(transformers.GPT2LMHeadModel(config), tokenizer)
    examples = [("The cat sat on the", "mat")]
    layers = ablate(model, examples, scoring="loss", heads="layers", progress=False)
    heads = ablate(model, examples, scoring="loss", heads=[(0, 0), (1, 0)], progress=False)
    assert np.isnan(layers.head_scores).all() and layers.heads() == {}
    np.testing.assert_array_equal(layers.layer_scores, heads.head_scores[:, 0])


def test_a_tokenizer_without_a_mask_token_is_named() -> None:
    with pytest.raises(ValueError, match=naming("load_model", "tokenizer")):
        mask_id_of(None, "a word", ", or not")
    assert mask_places(None, [1, 2]) == []


def test_the_loop_over_units_and_the_search_for_a_mask_token_stand_once() -> None:
    package = Path(attnwidget.__file__).parent
    places: dict[str, list[str]] = {"replay.without(": [], "mask_token_id": []}
    for source in package.rglob("*.py"):
        for name, found in places.items():
            if "demo" not in source.parts and name in source.read_text("utf-8"):
                found.append(source.name)
    assert places == {"replay.without(": ["unit_scores.py"], "mask_token_id": ["mask_token.py"]}
