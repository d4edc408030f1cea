"""What heads write: sums over sources, heads and biases against the model's own modules."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from attnwidget import Attention, load_model
from attnwidget.capture.maps.attention import Attention as AttentionType
from attnwidget.mechanisms import head_writes
from attnwidget.mechanisms.value_bias import value_bias
from fixtures import zoo
from fixtures.mechanism_models import tiered
from refusals import naming
from sweep.plain_references import layers_of, projection_of, weight_of

# Every way of computing attention in the zoo, by stack.
STACKS = [(name, "self") for name, recipe in zoo.ZOO.items() if recipe.reads != "texts"]
STACKS += [(name, stack) for name in ("t5", "bart") for stack in ("encoder", "decoder", "cross")]


def randomized(name: str) -> Any:
    """A zoo model whose biases, norms and sinks are not zero or one."""
    model = zoo.build(name)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def attention_of(model: Any, name: str) -> AttentionType:
    inputs = zoo.inputs(name, batch=1, padded=0)
    return load_model(model, None).attend(inputs)


def projection_outputs(model: Any, inputs: dict[str, Any], stack: str) -> list[torch.Tensor]:
    """What the output projections of a stack put out, in the order of computation, [n, d]."""
    recorded: list[torch.Tensor] = []
    modules = dict.fromkeys(module for module, _ in layers_of(model, inputs)[stack])

    def keep(_: nn.Module, __: Any, output: torch.Tensor) -> None:
        recorded.append(output[0])

    with ExitStack() as undo, torch.no_grad():
        for module in modules:
            projection = projection_of(model, module)
            assert projection is not None
            undo.callback(projection.register_forward_hook(keep).remove)
        model(**inputs)
    return recorded


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stack"), tiered(STACKS))
def test_heads_and_bias_sum_to_the_attention_output(name: str, stack: str) -> None:
    model = randomized(name)
    attention = attention_of(model, name)
    outputs = projection_outputs(model, zoo.inputs(name, batch=1, padded=0), stack)
    axes = attention.stacks[stack]
    for layer, position in [(0, 0), (axes.n_layers - 1, len(axes.query) - 1)]:
        writes = [
            head_writes(attention, layer, head, position=position, stack=stack)
            for head in range(axes.n_heads)
        ]
        wanted = outputs[layer][position].double().numpy()
        summed = np.sum([head.written for head in writes], 0) + writes[0].bias
        assert np.abs(summed - wanted).max() <= 1e-5 * np.abs(wanted).max()
        np.testing.assert_allclose(writes[0].layer_output, wanted, rtol=1e-6)
        assert sum(head.layer_share for head in writes) == pytest.approx(1)
        for head in writes:
            assert head.note == ""
            assert head.shares.sum() == pytest.approx(1)
            weights = attention.rows(layer, head.head.head, position, stack=stack)
            np.testing.assert_allclose(head.weights, weights, atol=1e-6)


def test_the_bias_of_values_belongs_to_the_layer() -> None:
    model = randomized("gpt2")
    attention = attention_of(model, "gpt2")
    block = model.transformer.h[1].attn
    bias = block.c_attn.bias.detach()[64:].double().numpy()
    weight = weight_of(block.c_proj).double().numpy()
    writes = head_writes(attention, 1, 2, position=5)
    wanted = weight @ bias + block.c_proj.bias.detach().double().numpy()
    np.testing.assert_allclose(writes.bias, wanted, rtol=1e-5)
    # A source token writes its weight times its value without the bias.
    stream: list[torch.Tensor] = []
    hook = block.c_attn.register_forward_hook(lambda _, __, output: stream.append(output[0]))
    with torch.no_grad():
        model(**zoo.inputs("gpt2", batch=1, padded=0))
    hook.remove()
    values = stream[0][:, 64 + 16 : 64 + 24].double().numpy() - bias[16:24]
    wanted = writes.weights[3] * weight[:, 16:24] @ values[3]
    np.testing.assert_allclose(writes.vectors[3], wanted, rtol=1e-4, atol=1e-7)


def test_a_bias_reaches_a_query_with_sinks_in_the_share_of_its_weights() -> None:
    model = randomized("gpt-oss")
    attention = attention_of(model, "gpt-oss")
    block = model.model.layers[1].self_attn
    writes = head_writes(attention, 1, 0, position=6)
    sums = [attention.rows(1, head, 6).sum() for head in range(4)]
    assert min(sums) < 0.9
    bias = block.v_proj.bias.detach().view(2, 8).repeat_interleave(2, 0).double().numpy()
    scaled = (np.array(sums)[:, None] * bias).reshape(-1)
    wanted = weight_of(block.o_proj).double().numpy() @ scaled
    wanted += block.o_proj.bias.detach().double().numpy()
    np.testing.assert_allclose(writes.bias, wanted, rtol=1e-4, atol=1e-6)


def test_values_behind_a_norm_have_no_known_bias() -> None:
    linear = nn.Linear(4, 4)
    with torch.no_grad():
        output = linear(torch.randn(1, 5, 4))
    value = (output / output.norm(dim=-1, keepdim=True)).view(1, 5, 2, 2).transpose(1, 2)
    assert value_bias({linear: output}, value) is None


@pytest.mark.slow
def test_result_has_a_table_and_a_chart() -> None:
    attention = load_model(device="cpu").attend("The cat sat on the mat.")
    writes = head_writes(attention, 2, 8, position=2)
    frame = writes.to_frame()
    assert frame["token"].tolist() == attention.tokens and frame.attrs["head"] == "L2 H8"
    assert len(writes.chart().to_dict()["layer"]) == 3
    assert "L2 H8 at 2: 'cat'" in repr(writes)
    last = head_writes(attention, 2, 8)
    assert last.position == len(attention.tokens) - 1


@pytest.mark.slow
def test_refusals_have_reasons() -> None:
    weights = Attention.from_weights(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    with pytest.raises(ValueError, match=naming("what a head writes", "load_model")):
        head_writes(weights, 0, 0)
    model = load_model(device="cpu")
    attention = model.attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("position 6", "5")):
        head_writes(attention, 0, 0, position=6)
    with (
        model.disabled((0, 0)),
        pytest.raises(ValueError, match=naming("what a head writes", "switched off", "load_model")),
    ):
        head_writes(model.attend("The cat sat."), 0, 0)
    with pytest.raises(ValueError, match=naming("attention_mask", "hides")):
        head_writes(load_model(zoo.build("bert"), None).attend(_with_hidden_token()), 0, 0)
    with torch.no_grad():
        model.hf_model.bert.encoder.layer[0].output.dense.weight.mul_(2)
    with pytest.raises(RuntimeError, match=naming("BertForMaskedLM", "weights", "attend(text)")):
        head_writes(attention, 0, 0)


def test_quantized_projections_are_refused() -> None:
    model = zoo.build("llama")
    quantized = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8)
    attention = load_model(quantized, None).attend(zoo.inputs("llama", batch=1, padded=0))
    with pytest.raises(ValueError, match=naming("LlamaAttention", "quantized")):
        head_writes(attention, 0, 0)


def _with_hidden_token() -> dict[str, torch.Tensor]:
    given = {name: value[:1] for name, value in zoo.inputs("bert", padded=0).items()}
    given["attention_mask"][0, 5] = 0
    return given
