"""Classifiers with a decoder, which find the end of a text by the padding token of their config."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers

from attnwidget import AttentionModel, ablate, load_model, make_segments, measure
from attnwidget.interventions import head_importance
from capture.test_predict import words
from fixtures import zoo
from refusals import naming

EXAMPLES = [("w7 w8 w9", 0), ("w10 w11 w12", 1), ("w9 w7 w10", 2), ("w8 w9 w10 w11 w12", 1)]
HEADS: dict[str, Any] = {"scoring": "loss", "heads": [(0, 0)], "progress": False}


@pytest.fixture(params=["gpt2", "llama"])
def model(request: pytest.FixtureRequest) -> AttentionModel:
    config = zoo.build(request.param).config
    config.num_labels = 3
    config.pad_token_id = None
    name = {"gpt2": "GPT2", "llama": "Llama"}[request.param]
    return load_model(getattr(transformers, f"{name}ForSequenceClassification")(config), words())


def test_texts_are_read_one_at_a_time_without_a_padding_token(model: AttentionModel) -> None:
    alone = [ablate(model, [example], **HEADS) for example in EXAMPLES]
    found = ablate(model, EXAMPLES, **HEADS)
    np.testing.assert_allclose(found.intact, [one.intact[0] for one in alone], atol=1e-6)
    for (text, label), loss in zip(EXAMPLES, found.intact, strict=True):
        assert loss == pytest.approx(-np.log(model.predict(text).probability(label)), abs=1e-5)
    importance = head_importance(model, EXAMPLES, progress=False).values
    model.hf_model.config.pad_token_id = 3
    together = head_importance(model, EXAMPLES, progress=False).values
    np.testing.assert_allclose(importance, together, atol=1e-6)
    model.hf_model.config.pad_token_id = None
    texts = [text for text, _ in EXAMPLES]
    for text, attention in zip(texts, model.attend_batch(texts), strict=True):
        expected = model.attend(text).weights(1, 1)
        np.testing.assert_allclose(attention.weights(1, 1), expected, atol=1e-6)


def test_batches_are_padded_with_the_token_of_the_config(model: AttentionModel) -> None:
    segments = make_segments([text for text, _ in EXAMPLES], model)

    def loss(**options: Any) -> float:
        found = measure(model, segments, ["gradients"], progress=False, **options)
        return float(found["gradients"].loss)

    expected = loss(batch_size=1)
    with pytest.raises(
        ValueError, match=naming("padding token", "measure(..., batch_size=1)", "pad_token_id")
    ):
        loss()
    # The tokenizer pads with another token, which the model would read as the end of a text.
    model.hf_model.config.pad_token_id = 40
    assert loss() == pytest.approx(expected, abs=1e-6)
