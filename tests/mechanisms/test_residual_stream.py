"""The shares of the writers sum to the model's own states, in every architecture of the zoo."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnwidget import Attention
from attnwidget.mechanisms.residual_stream import ResidualStream, stream_of
from fixtures import zoo
from fixtures.mechanism_models import READABLE, attend, tiered
from refusals import naming


@pytest.mark.parametrize("name", tiered(READABLE))
def test_writers_sum_to_queries_and_keys(name: str) -> None:
    attention = attend(name)
    stream = stream_of(attention)
    for stack, axes in attention.stacks.items():
        for layer in axes.layers.numbers:
            products = attention.head_maps.layers[stack][layer].products
            assert products is not None
            shares = stream.at_attention(layer, stack)
            for state, whole in (("query", products.query), ("key", products.key)):
                difference = (shares.parts[state].sum(0) - whole).abs().max()
                assert difference <= 1e-5 * whole.abs().max()


@pytest.mark.parametrize("name", ["bert", "albert", "opt", "llama", "gpt2"])
def test_every_part_of_the_model_is_a_writer(name: str) -> None:
    attention = attend(name)
    shares = stream_of(attention).at_attention(2)
    kinds = {str(writer) for writer in shares.writers}
    assert {"embeddings", "L0 H0", "L1 H3", "L0 MLP", "L1 MLP", "biases"} <= kinds
    assert ("positions" in kinds) == (name != "llama")
    assert not any(writer.layer > 1 for writer in shares.writers)


@pytest.mark.parametrize("name", ["bert", "llama", "qwen3", "gpt-neox", "modernbert"])
def test_some_tokens_have_the_shares_that_they_have_among_all(name: str) -> None:
    stream = stream_of(attend(name))
    assert stream._takes_some_tokens
    every = stream.at_attention(2)
    some = stream.at_attention(2, tokens=[9, 3])
    assert some.writers == every.writers
    for state, parts in every.parts.items():
        torch.testing.assert_close(some.parts[state], parts[..., [9, 3], :], rtol=1e-5, atol=1e-6)


def test_the_model_is_as_before_and_other_threads_see_it_whole() -> None:
    model = zoo.build("llama")
    inputs = zoo.inputs("llama", batch=1, padded=0)
    with torch.no_grad():
        before = model(**inputs).logits
        stream_of(attend("llama", model)).at_attention(2)
        after = model(**inputs).logits
    assert torch.equal(before, after)
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_nonlinear_block_is_refused() -> None:
    class Squared(nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return states + states**2

    model = zoo.build("gpt2")
    model.transformer.drop = Squared()
    stream = stream_of(attend("gpt2", model))
    with pytest.raises(ValueError, match=naming("GPT2LMHeadModel", "exact sources")):
        stream.at_attention(1)


def test_half_precision_is_refused() -> None:
    model = zoo.build("llama", dtype=torch.bfloat16)
    with pytest.raises(ValueError, match=naming("bfloat16", "dtype=torch.float32")):
        ResidualStream(model, zoo.inputs("llama", batch=1, padded=0))


def test_quantized_projections_are_refused() -> None:
    class Packed(nn.Module):
        def __init__(self, inner: nn.Linear) -> None:
            super().__init__()
            self.packed = nn.Parameter(inner.weight.to(torch.int8), requires_grad=False)

    model = zoo.build("llama")
    model.model.layers[1].self_attn.o_proj = Packed(model.model.layers[1].self_attn.o_proj)
    with pytest.raises(
        ValueError, match=naming("LlamaForCausalLM", "model.layers.1.self_attn", "quantized")
    ):
        ResidualStream(model, zoo.inputs("llama", batch=1, padded=0))


def test_an_adapter_beside_the_projection_is_refused() -> None:
    class Adapted(nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return super().forward(states) + 0.1 * states

    model = zoo.build("llama")
    own = model.model.layers[0].self_attn.o_proj
    adapted = Adapted(own.in_features, own.out_features, bias=False)
    adapted.weight = own.weight
    model.model.layers[0].self_attn.o_proj = adapted
    with pytest.raises(ValueError, match=naming("LlamaAttention", "adapter")):
        ResidualStream(model, zoo.inputs("llama", batch=1, padded=0))


def test_an_attention_without_a_model_is_refused() -> None:
    weights = Attention.from_weights(torch.full((1, 1, 2, 2), 0.5), ["a", "b"])
    with pytest.raises(ValueError, match=naming("residual stream", "given weights", "load_model")):
        stream_of(weights)
