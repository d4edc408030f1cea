"""Models whose layers were taken out after they were loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from attnwidget import AttentionModel, load_model, make_segments, measure
from attnwidget.demo import demo_treebank
from attnwidget.mechanisms import logit_lens
from attnwidget.probes import train_dependency_probe, train_structural_probe
from fixtures import zoo
from refusals import naming

TREES = demo_treebank()[:6]


def shortened(hf_model: Any, n_layers: int = 2) -> Any:
    hf_model.model.layers = hf_model.model.layers[:n_layers]
    return hf_model


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    tokenizer = load_model().tokenizer
    fields = {"num_hidden_layers": 3, "num_attention_heads": 4, "hidden_size": 32}
    config = LlamaConfig(vocab_size=len(tokenizer), intermediate_size=48, **fields)
    return load_model(shortened(LlamaForCausalLM(config)), tokenizer)


def test_layers_are_counted_in_the_modules(model: AttentionModel) -> None:
    assert model.hf_model.config.num_hidden_layers == 3
    assert (model.n_layers, model.n_heads) == (2, 4)
    assert "2×4 heads" in repr(model)


def test_layers_that_are_taken_out_later_count_too() -> None:
    model = load_model(zoo.build("llama"))
    assert model.n_layers == 3
    shortened(model.hf_model)
    assert model.n_layers == 2


def test_maps_and_the_lens_are_those_of_the_layers_that_are_left(model: AttentionModel) -> None:
    ids = [11, 12, 13, 14]
    attention = model.attend(ids)
    hf_model = LlamaForCausalLM(model.hf_model.config).eval()
    hf_model.set_attn_implementation("eager")
    hf_model.load_state_dict(model.hf_model.state_dict(), strict=False)
    with torch.no_grad():
        expected = hf_model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    assert attention.weights().shape[0] == 2
    for layer in range(2):
        assert np.abs(attention.weights(layer) - expected[layer][0].numpy()).max() <= 1e-6
    assert logit_lens(attention).rows == ("embeddings", "L0", "L1")


def test_studies_read_the_layers_that_are_left(model: AttentionModel) -> None:
    segments = make_segments(["The cat sat.", "It slept."], model)
    assert measure(model, segments, "entropy", progress=False)["entropy"].entropy.shape == (2, 4)
    probe = train_structural_probe(model, TREES[:4], TREES[4:], epochs=1, progress=False)
    assert probe.layers == (0, 1)


def test_a_control_of_another_form_is_refused(model: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("2 attention", "config.num_hidden_layers")):
        train_dependency_probe(model, TREES[:4], TREES[4:], seeds=1, untrained=True, progress=False)
