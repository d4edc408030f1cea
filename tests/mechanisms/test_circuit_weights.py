"""Circuits are the model's own matrices, whatever its code calls them, or are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    JambaConfig,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
)

from attnwidget import AttentionModel, Head, load_model
from attnwidget.mechanisms.circuit_weights import CircuitWeights, HeadCircuits
from attnwidget.mechanisms.copying import copying_scores
from attnwidget.mechanisms.head_composition import head_composition
from attnwidget.mechanisms.head_vocabulary import attended_vocabulary, head_vocabulary
from attnwidget.mechanisms.module_calls import first_tensor, recorded_calls
from attnwidget.mechanisms.token_vectors import TokenVectors
from fixtures import zoo
from fixtures.mechanism_models import tiered
from fixtures.vocabularies import byte_level
from refusals import naming

PRE_NORM = ["gpt2", "gpt-neox", "llama", "qwen3", "gemma", "gemma2", "gpt-oss", "opt", "bloom"]
ROTARY = ["gpt-neox", "llama", "gemma"]
FIRST, SECOND = 7, 8


@pytest.fixture(scope="module")
def models() -> dict[str, AttentionModel]:
    """Small models whose norms have gains other than 1 and whose biases are not 0."""
    found = {}
    for name in PRE_NORM:
        hf_model = zoo.build(name)
        torch.manual_seed(1)
        with torch.no_grad():
            for weight in hf_model.parameters():
                if weight.ndim == 1:
                    weight += 0.3 * torch.randn_like(weight)
        found[name] = load_model(hf_model, device="cpu")
    return found


def read_by_heads(vectors: TokenVectors, circuits: HeadCircuits, tokens: list[int]) -> Tensor:
    """What the heads of layer 0 read of tokens, without the gain of the norm."""
    stream = vectors.embedded(torch.tensor(tokens))
    return stream if circuits.norm is None else circuits.norm.normalized(stream)


@torch.no_grad()
def attention_output(weights: CircuitWeights, token: int) -> Tensor:
    """What the attention of layer 0 adds to the stream for a text of one token, at position 0."""
    model: Any = weights.hf_model
    module = weights.first_projection
    after = getattr(weights.blocks[0], "post_feedforward_layernorm", None)
    with recorded_calls([module]) as calls:
        model(torch.tensor([[token]]))
    output = first_tensor(calls[module].output)
    assert output is not None
    if after is not None:  # Gemma 2 norms the output of its attention
        output = output * (1 + weights.blocks[0].post_attention_layernorm.weight)
    return output[0, 0]


@pytest.mark.parametrize("name", tiered(sorted({*PRE_NORM} - {"gpt-oss"})))  # its sinks take weight
def test_heads_write_what_their_circuits_say(models: dict[str, AttentionModel], name: str) -> None:
    """A token that is alone attends to itself; the difference of two tokens has no biases."""
    weights = CircuitWeights(models[name])
    circuits = weights.layer(0)
    if name in ("gpt2", "opt"):  # what the first layer reads has the position in it
        position = attention_positions(weights)
    else:
        position = torch.zeros(weights.size)
    vectors = TokenVectors(weights)
    stream = vectors.embedded(torch.tensor([FIRST, SECOND])) + position
    read = stream if circuits.norm is None else circuits.norm.normalized(stream)
    written = torch.einsum("td,hde,hef->tf", read, circuits.value, circuits.output)
    expected = attention_output(weights, FIRST) - attention_output(weights, SECOND)
    difference = (written[0] - written[1] - expected).abs().max()
    assert float(difference) < 1e-4 * float(expected.abs().max())


def attention_positions(weights: CircuitWeights) -> Tensor:
    """The vector of the position of a text of one token: what stands beside the embedding."""
    model: Any = weights.hf_model
    block = weights.blocks[0]
    with recorded_calls([block, model.get_input_embeddings()]) as calls, torch.no_grad():
        model(torch.tensor([[FIRST]]))
    read = calls[block].input
    assert read is not None
    return (read - calls[model.get_input_embeddings()].output)[0, 0]


@pytest.mark.parametrize("name", ROTARY)
def test_scores_are_those_of_the_circuits_where_positions_are_equal(
    models: dict[str, AttentionModel], name: str
) -> None:
    model = models[name]
    weights = CircuitWeights(model)
    circuits = weights.layer(0)
    read = read_by_heads(TokenVectors(weights), circuits, [FIRST, SECOND])
    ids = torch.tensor([[FIRST, SECOND]])
    # Without a mask, transformers takes tokens at equal positions for separate texts.
    inputs = {"position_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids)}
    attention = model.attend({"input_ids": ids, **inputs})
    for head in range(model.n_heads):
        query, bias, key = circuits.scores_of(head)
        scores = circuits.scaling * (read @ query + bias) @ (read @ key).T
        row = np.log(attention.weights(0, head)[1])
        assert row[0] - row[1] == pytest.approx(float(scores[1, 0] - scores[1, 1]), abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gemma"])
def test_effective_embeddings_are_layer_0_without_attention(
    models: dict[str, AttentionModel], name: str
) -> None:
    model = models[name].hf_model
    ids = torch.arange(3, 80)
    with torch.no_grad():
        if name == "gpt2":
            block, embedded = model.transformer.h[0], model.transformer.wte(ids)
            expected = embedded + block.mlp(block.ln_2(embedded))
        else:
            block, embedded = model.model.layers[0], model.model.embed_tokens(ids)
            if name == "gemma":
                embedded = embedded * (
                    1 if hasattr(model.model.embed_tokens, "embed_scale") else 32**0.5
                )
            expected = embedded + block.mlp(block.post_attention_layernorm(embedded))
    vectors = TokenVectors(CircuitWeights(models[name]))
    assert torch.allclose(vectors.embedded(ids), embedded, atol=1e-5)
    assert torch.allclose(vectors.after_first_mlp(ids), expected, atol=1e-4)


@pytest.mark.parametrize("name", tiered(PRE_NORM))
def test_logits_are_those_of_the_model_but_for_a_constant(
    models: dict[str, AttentionModel], name: str
) -> None:
    model: Any = models[name].hf_model
    weights = CircuitWeights(models[name])
    with recorded_calls(weights.blocks[-1:]) as calls, torch.no_grad():
        logits = model(torch.tensor([[5, 6, 7]])).logits[0]
        last = first_tensor(calls[weights.blocks[-1]].output)
    assert last is not None
    if name == "gemma2":  # its cap is undone
        logits = 30 * torch.atanh(logits / 30)
    # A bias of the last norm adds the same logits to every vector.
    found = TokenVectors(weights).logits(last[0])
    expected = logits - logits.mean(-1, keepdim=True)
    assert torch.allclose(found - found[:1], expected - expected[:1], atol=2e-3)


def test_query_heads_share_the_values_of_their_group(models: dict[str, AttentionModel]) -> None:
    circuits = CircuitWeights(models["llama"]).layer(1)
    attention = models["llama"].hf_model.model.layers[1].self_attn
    gain = models["llama"].hf_model.model.layers[1].input_layernorm.weight
    of_key_heads = (attention.v_proj.weight * gain).T.reshape(32, 2, 8).movedim(1, 0)
    for head in range(4):
        assert torch.allclose(circuits.value[head], of_key_heads[head // 2], atol=1e-5)


def test_a_long_vocabulary_goes_through_in_parts(models: dict[str, AttentionModel]) -> None:
    vectors = TokenVectors(CircuitWeights(models["llama"]))  # 64 tokens at a time
    ids = torch.arange(zoo.VOCABULARY)
    assert torch.allclose(vectors.after_first_mlp(ids)[70:], vectors.after_first_mlp(ids[70:]))


@pytest.mark.slow
def test_the_model_stays_as_it_was(models: dict[str, AttentionModel]) -> None:
    model = models["llama"]
    before = model.attend([5, 6, 7]).weights()
    hooks = [len(module._forward_hooks) for module in model.hf_model.modules()]
    copying_scores(model, names=[5, 6])
    assert (model.attend([5, 6, 7]).weights() == before).all()
    assert hooks == [len(module._forward_hooks) for module in model.hf_model.modules()]


@pytest.mark.slow
def test_encoders_are_refused_with_the_reason(model: AttentionModel) -> None:
    for refused in (
        lambda: head_vocabulary(model, 1, 0, words=["the"]),
        lambda: copying_scores(model),
        lambda: head_composition(model, 1, 0),
    ):
        with pytest.raises(ValueError, match=naming("BertForMaskedLM", "norms")):
            refused()


def test_models_without_words_are_refused() -> None:
    pictures = load_model(zoo.build("vit"), tokenizer=None)
    for refused in (
        lambda: head_vocabulary(pictures, 1, 0, words=[1]),
        lambda: head_composition(pictures, 1, 0),
    ):
        with pytest.raises(ValueError, match=naming("ViTModel", "a language model")):
            refused()


def test_an_encoder_with_norms_before_attention_composes_but_has_no_words() -> None:
    config = ModernBertConfig(**zoo.ZOO["modernbert"].fields)
    torch.manual_seed(0)
    encoder = load_model(ModernBertForMaskedLM(config), device="cpu")
    assert np.isfinite(head_composition(encoder, 1, 0).key[0]).all()
    with pytest.raises(ValueError, match=naming("ModernBertForMaskedLM", "writes")):
        head_vocabulary(encoder, 1, 0, words=[5])


def test_the_chart_tells_entries_with_the_same_readable_text_apart() -> None:
    tokenizer = byte_level()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    model = load_model(LlamaForCausalLM(config), tokenizer, device="cpu")
    found = head_vocabulary(model, 1, 0, words=["cat"], top=len(tokenizer) // 2)
    assert list(found.to_frame()["answer"]).count("cat") == 2
    (rows,) = found.chart().to_dict()["datasets"].values()
    answers = [row["answer"] for row in rows]
    assert {"cat", "Ġcat"} <= set(answers)
    assert len(set(answers)) == len(tokenizer)


def test_encoder_decoders_and_disabled_heads_are_refused(
    models: dict[str, AttentionModel],
) -> None:
    with pytest.raises(ValueError, match=naming("T5ForConditionalGeneration", "stack")):
        head_composition(load_model(zoo.build("t5"), device="cpu"), 1, 0)
    model = models["llama"]
    with (
        model.disabled([(0, 0)]),
        pytest.raises(ValueError, match=naming("`disabled`", "circuits")),
    ):
        head_composition(model, 1, 0)
    with pytest.raises(TypeError, match=naming("load_model", "LlamaForCausalLM")):
        head_composition(model.hf_model, 1, 0)  # type: ignore[arg-type]


@pytest.mark.slow
def test_norms_of_queries_leave_the_output_circuit(models: dict[str, AttentionModel]) -> None:
    """Qwen 3 norms its queries and keys: no matrix gives its scores."""
    model = models["qwen3"]
    found = head_composition(model, 1, 0)
    assert np.isnan(found.key).all() and np.isfinite(found.value[0]).all()
    assert "no query-key circuit" in found.no_scores
    with pytest.raises(ValueError, match=naming("layer 1", "Qwen3ForCausalLM", "query-key")):
        found.chart("key")
    with pytest.raises(ValueError, match=naming("layer 0", "Qwen3ForCausalLM", "query-key")):
        attended_vocabulary(model, 0, 0, words=[5])
    assert head_vocabulary(model, 1, 0, words=[5]).scores.shape == (1, zoo.VOCABULARY)


def test_quantized_models_are_refused() -> None:
    quantized = torch.ao.quantization.quantize_dynamic(zoo.build("llama"), {torch.nn.Linear})
    with pytest.raises(ValueError, match=naming("layer 1", "LlamaAttention", "quantized")):
        head_composition(load_model(quantized, device="cpu"), 1, 0)


@pytest.mark.slow
def test_layers_without_attention_are_nan_and_keep_their_numbers() -> None:
    """Every second layer of this hybrid has attention; the first has none, so no words."""
    config = JambaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_period=9,
        expert_layer_offset=8,
        use_mamba_kernels=False,
    )
    torch.manual_seed(0)
    model = load_model(AutoModelForCausalLM.from_config(config), device="cpu")
    found = head_composition(model, 3, 1)
    assert found.head == Head(3, 1)
    assert np.isfinite(found.value[1]).all() and np.isnan(found.value[[0, 2, 3]]).all()
    with pytest.raises(ValueError, match=naming("layer 2", "1, 3")):
        head_composition(model, 2, 0)
    with pytest.raises(ValueError, match=naming("layer 1", "later layer")):
        head_composition(model, 1, 0)
    with pytest.raises(ValueError, match=naming("layer 0", "JambaForCausalLM")):
        head_vocabulary(model, 1, 0, words=[5])
