"""Norms: f(x) is what the model adds up, on every architecture, and its lengths are right."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.kernels.norms import (
    _factors_of_products,
    head_projections,
    norm_maps,
    norms_of_products,
    projection_factors,
    summed_norm_maps,
    value_norms,
    value_products,
)
from fixtures import zoo
from references import reference_norms
from refusals import naming

seeds = st.integers(0, 2**31 - 1)


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


@pytest.mark.slow
@given(seed=seeds, length=st.integers(1, 7), key_heads=st.sampled_from([1, 2, 4]))
def test_norms_equal_the_reference(seed: int, length: int, key_heads: int) -> None:
    value = random(seed, key_heads, length, 3)
    weight = random(seed + 1, 10, 4 * 3)
    scores = np.exp(random(seed + 2, 4, length + 1, length))
    weights = scores / scores.sum(-1, keepdims=True)
    vectors = reference_norms.vectors(value, weight, 4)
    tensors = torch.from_numpy(value), head_projections(torch.from_numpy(weight), 4)
    norms = value_norms(*tensors)
    expected = reference_norms.norms(vectors)
    np.testing.assert_allclose(norms, expected, atol=1e-5)
    factors = projection_factors(tensors[1])
    np.testing.assert_allclose(value_norms(tensors[0], factors), expected, atol=1e-5)
    products = value_products(*tensors)
    np.testing.assert_allclose(norms_of_products(products), expected, atol=1e-5)
    np.testing.assert_allclose(
        norm_maps(torch.from_numpy(weights), norms),
        reference_norms.norm_maps(weights, vectors),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        summed_norm_maps(torch.from_numpy(weights), products),
        reference_norms.summed_norm_maps(weights, vectors),
        atol=1e-5,
    )


@given(seed=seeds)
def test_batches_and_blocks_of_keys_change_nothing(seed: int) -> None:
    value = torch.from_numpy(random(seed, 2, 4, 5, 3))
    projections = torch.rand(4, 3, 6)
    together = value_products(value, projections)
    for item in range(2):
        alone = value_products(value[item], projections)
        torch.testing.assert_close(together[item], alone)
        torch.testing.assert_close(value_products(value[item, :, 2:3], projections), alone[2:3])


def test_outputs_of_opposite_heads_cancel() -> None:
    value = torch.ones(2, 1, 1)
    products = value_products(value, torch.tensor([[[1.0, 2.0]], [[-1.0, -2.0]]]))
    half = torch.full((2, 1, 1), 0.5)
    assert summed_norm_maps(half, products).item() == 0
    assert norm_maps(half, norms_of_products(products)).sum() == pytest.approx(5**0.5)


def test_uneven_shares_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("10 columns", "4 heads")):
        head_projections(torch.zeros(8, 10), 4)
    with pytest.raises(ValueError, match=naming("4 query", "3 value")):
        value_norms(torch.zeros(3, 1, 2), torch.zeros(4, 2, 2))


def outputs_and_layers(model: Any, given: Any) -> list[tuple[LayerAttention, torch.Tensor]]:
    """Every layer with what its output projection put out, as the model itself computed it."""
    pairs: list[Any] = []
    projections = Projections(model)
    handles = [
        own.register_forward_hook(lambda _, __, output: pairs.append(output))
        for own in set(projections._modules.values())
    ]
    with torch.no_grad(), tap(model, pairs.append):
        model(**given)
    for handle in handles:
        handle.remove()
    assert len(pairs) % 2 == 0
    return list(zip(pairs[::2], pairs[1::2], strict=True))


@pytest.mark.parametrize(("name", "implementation"), zoo.LOADED)
def test_weighted_vectors_add_up_to_the_layers_output(name: str, implementation: str) -> None:
    model = zoo.build(name, implementation)
    given = zoo.inputs(name)
    for module in model.modules():  # biases that are 0, as at the start, would hide a mistake
        if isinstance(getattr(module, "bias", None), torch.nn.Parameter):
            torch.nn.init.normal_(module.bias, 0, 0.3)
    projections = Projections(model)
    with torch.no_grad():
        projections.check(model, given)
    pairs = outputs_and_layers(model, given)
    assert len(pairs) == sum(map(len, zoo.eager_maps(name, given).values()))
    for seen, output in pairs:
        assert projections.why_not(seen.module) == ""
        shares = projections.of_heads(seen.module, seen.weights.shape[1])
        vectors = torch.stack(
            [
                torch.from_numpy(reference_norms.vectors(v.numpy(), shares=shares.numpy()))
                for v in seen.value
            ]
        )  # [B, H, K, d]
        summed = torch.einsum("bhqk,bhkd->bqd", seen.weights.double(), vectors)
        bias = getattr(projections._modules[seen.module], "bias", None)
        summed = summed if bias is None else summed + bias.detach()
        torch.testing.assert_close(
            summed.float(), output.reshape(summed.shape), atol=1e-5, rtol=1e-5
        )


CONVBERT = transformers.ConvBertConfig(**zoo._ENCODER, embedding_size=32)
DIFFLLAMA = transformers.DiffLlamaConfig(**zoo._DECODER)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (transformers.ConvBertModel(CONVBERT), "takes more than the values"),
        # In transformers 4 its heads are seen halved.
        (transformers.DiffLlamaModel(DIFFLLAMA), r"between the values and|takes more than"),
    ],
)
def test_models_without_such_vectors_say_why(model: Any, said: str) -> None:
    projections = Projections(model.eval())
    given = zoo.inputs("bert", length=9)
    with torch.no_grad():
        projections.check(model, given)
    (module, *_) = projections._modules
    assert projections.of_heads(module, 4) is None
    assert re.search(said, projections.why_not(module))
    assert not any(own._forward_hooks for own in projections._modules.values())


def test_a_projection_changed_after_the_check_is_used() -> None:
    model = zoo.build("bert")
    projections = Projections(model)
    with torch.no_grad():
        projections.check(model, zoo.inputs("bert"))
        layer = model.bert.encoder.layer[0].attention
        before = projections.of_heads(layer.self, 4).clone()
        layer.output.dense.weight *= 2
    torch.testing.assert_close(projections.of_heads(layer.self, 4), 2 * before)


def test_half_precision_holds_too() -> None:
    model = zoo.build("llama", dtype=torch.bfloat16)
    projections = Projections(model)
    with torch.no_grad():
        projections.check(model, zoo.inputs("llama"))
    assert {projections.why_not(module) for module in projections._modules} == {""}


@pytest.mark.parametrize("size", [(3, 8, 30), (2, 8, 5), (1, 16, 16)])
def test_factors_of_products_lengthen_vectors_as_projections_do(size: tuple[int, ...]) -> None:
    draw = torch.Generator().manual_seed(0)
    projections = torch.randn(size, generator=draw)
    projections[0, 3] = projections[0, 1]  # of fewer dimensions
    projections[0, 4] = 0
    value = torch.randn(size[0], 20, size[1], generator=draw)
    lengths = value_norms(value, projections)
    for factors in (projection_factors(projections), _factors_of_products(projections)):
        assert factors.dtype == torch.float32
        torch.testing.assert_close(value_norms(value, factors), lengths, atol=1e-5, rtol=1e-5)
    assert not _factors_of_products(torch.zeros(size)).any()
