"""The logit lens against the model's own head on recorded states, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC

from attnwidget import Attention, load_model
from attnwidget.demo import drawn_shapes
from attnwidget.mechanisms import (
    copying_scores,
    direct_effects,
    head_composition,
    head_vocabulary,
    logit_lens,
    score_sources,
)
from capture.test_predict import words
from fixtures import zoo
from fixtures.mechanism_models import tiered
from refusals import naming

TEXT = "w7 w8 w9 w11 w30"


def states_of(hf_model: Any, **inputs: Any) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        return hf_model(**inputs, output_hidden_states=True).hidden_states


@pytest.mark.parametrize(
    "name", tiered(["llama", "gpt2", "gpt-neox", "gemma2", "qwen3", "opt", "bloom"])
)
def test_rows_are_the_head_on_the_states_after_each_layer(name: str) -> None:
    model = load_model(zoo.build(name), words())
    lens = logit_lens(model.attend(TEXT), positions=[2, 5])
    inputs = dict(model.tokenizer(TEXT, return_tensors="pt"))
    states = states_of(model.hf_model, **inputs)
    norm = {
        "gpt2": "transformer.ln_f",
        "bloom": "transformer.ln_f",
        "gpt-neox": "gpt_neox.final_layer_norm",
        "opt": "model.decoder.final_layer_norm",
    }.get(name, "model.norm")
    head = model.hf_model.get_output_embeddings()
    for row, state in enumerate(states[:-1]):  # the last one is normalized already
        with torch.no_grad():
            logits = head(model.hf_model.get_submodule(norm)(state[0, [1, 4]]))
        if name == "gemma2":
            cap = model.hf_model.config.final_logit_softcapping
            logits = cap * torch.tanh(logits / cap)
        wanted = torch.log_softmax(logits, -1).numpy()
        np.testing.assert_allclose(lens.log_probabilities[row], wanted, atol=1e-4)
    predictions = model.predict(TEXT, positions=[2, 5])
    np.testing.assert_allclose(lens.log_probabilities[-1], predictions.log_probabilities, atol=1e-4)
    np.testing.assert_allclose(lens.divergence[-1], 0, atol=1e-6)
    assert (lens.divergence > -1e-6).all()


def test_masked_answers_go_through_the_whole_head() -> None:
    model = load_model(device="cpu")
    attention = model.attend("The woman washed [MASK] hands.")
    lens = logit_lens(attention)
    inputs = model.tokenizer("The woman washed [MASK] hands.", return_tensors="pt")
    states = states_of(model.hf_model, **inputs)
    for row, state in enumerate(states):
        with torch.no_grad():
            wanted = torch.log_softmax(model.hf_model.cls(state)[0, 4], -1).numpy()
        np.testing.assert_allclose(lens.log_probabilities[row, 0], wanted, atol=1e-4)
    frame = lens.to_frame()
    assert len(frame) == 7 * 5 and frame["layer"].unique().tolist() == list(range(-1, 6))
    assert lens.probability("her")[-1] == pytest.approx(0.824, abs=1e-3)
    assert lens.rows[:2] == ("embeddings", "L0") and repr(lens).endswith("→ her)")
    assert lens.chart().to_dict() and lens.questions == ("4: [MASK]",)
    # Each named token is masked by itself.
    named = logit_lens(attention, positions=[2, 5])
    wanted = model.predict("The woman washed [MASK] hands.", positions=[2, 5]).log_probabilities
    np.testing.assert_allclose(named.log_probabilities[-1], wanted, atol=1e-4)


def test_the_model_is_as_before() -> None:
    model = load_model(zoo.build("llama"), words())
    before = model.predict(TEXT).log_probabilities
    logit_lens(model.attend(TEXT))
    np.testing.assert_array_equal(model.predict(TEXT).log_probabilities, before)


def test_refusals_have_reasons() -> None:
    genre = load_model("attnwidget/genre", device="cpu")
    with pytest.raises(TypeError, match=naming("BertForSequenceClassification", "unembedding")):
        logit_lens(genre.attend("A film."))
    with pytest.raises(TypeError, match=naming("RobertaModel", "load_model", "predicts")):
        logit_lens(load_model(zoo.build("roberta"), words()).attend("w1 w2"))
    t5 = load_model(zoo.build("t5"), None).attend(zoo.inputs("t5", batch=1, padded=0))
    with pytest.raises(TypeError, match=naming("T5ForConditionalGeneration", "encoder-decoder")):
        logit_lens(t5)
    weights = Attention.from_weights(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=naming("a logit lens", "load_model")):
        logit_lens(weights)
    model = load_model(zoo.build("llama"), words())
    with pytest.raises(ValueError, match=naming("token 9", "2")):
        logit_lens(model.attend("w1 w2"), positions=[9])
    with pytest.raises(ValueError, match=naming("top", "got 0")):
        logit_lens(model.attend("w1 w2"), top=0)


def test_models_of_pictures_and_sounds_are_refused_with_the_next_step() -> None:
    shapes = load_model("attnwidget/shapes")
    attention = shapes.attend(images=drawn_shapes(1).images[0])
    speech = Wav2Vec2ForCTC(
        Wav2Vec2Config(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            conv_dim=(16, 16),
            conv_stride=(5, 4),
            conv_kernel=(10, 8),
            num_feat_extract_layers=2,
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=2,
            vocab_size=12,
        )
    )
    heard = load_model(speech.eval(), Wav2Vec2FeatureExtractor(), name="speech").attend(
        audio=(np.zeros(4000, np.float32), 16000)
    )
    for media in (attention, heard):
        with pytest.raises(TypeError, match=naming("reads no words", "explain_link")):
            logit_lens(media)
        with pytest.raises(TypeError, match=naming("reads no words", "explain_link")):
            direct_effects(media, "a", "b")
        model = media.reading.model
        for circuits in (
            lambda model=model: copying_scores(model),
            lambda model=model: head_composition(model, 1),
            lambda model=model: head_vocabulary(model, "L0 H0", words=["a"]),
        ):
            with pytest.raises(ValueError, match=naming("reads no words", "language model")):
                circuits()
        # Norms over channels belong to convolutions, and the scores of links are explained.
        assert score_sources(media, "L1 H1", 2, 1) is not None
