"""Heads off in one layer after another: layers below them are not run again, with equal results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from attnwidget import Attention, AttentionModel, load_model
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.layer_outputs import layers_of
from fixtures import zoo
from refusals import naming

TEXTS = sorted(name for name, recipe in zoo.ZOO.items() if recipe.reads == "text")


@contextmanager
def counted_runs(hf_model: Any) -> Iterator[Counter[int]]:
    """Count the runs of each attention module, by its layer."""
    counts: Counter[int] = Counter()
    handles = [
        site.module.register_forward_pre_hook(
            lambda *_, layer=layer: counts.update([layer]), with_kwargs=False
        )
        for layer, site in enumerate(find_sites(hf_model))
    ]
    yield counts
    for handle in handles:
        handle.remove()


def assert_equals_whole_passes(
    model: AttentionModel, attention: Attention, given: Any, heads: list[Any], method: Any
) -> None:
    edited = attention.disabled(heads, method)
    with model.disabled(heads, method=method):
        wanted = model.attend(given)
    assert edited.quantities == wanted.quantities
    for stack in attention.stacks:
        np.testing.assert_allclose(
            edited.weights(stack=stack), wanted.weights(stack=stack), rtol=0, atol=1e-6
        )
        if "norms" in edited.quantities:
            np.testing.assert_allclose(
                edited.norms(stack=stack), wanted.norms(stack=stack), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize("name", TEXTS)
def test_every_order_of_layers_gives_what_whole_passes_give(name: str) -> None:
    model = load_model(zoo.build(name), device="cpu")
    given = {key: value[:1] for key, value in zoo.inputs(name, padded=0).items()}
    attention = model.attend(given)
    stack = next(iter(attention.stacks))
    for method in ("zero", "uniform"):
        for layer, head in ((1, 0), (2, 3), (0, 1), (2, 1), (1, 2)):
            if layer < attention.stacks[stack].n_layers:
                assert_equals_whole_passes(model, attention, given, [(layer, head, stack)], method)


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "gpt-neox"])
def test_layers_below_the_heads_are_run_twice_at_most(name: str) -> None:
    model = load_model(zoo.build(name), device="cpu")
    attention = model.attend(list(range(5, 15)))
    attention.disabled([(2, 0)])  # its lower layers are kept
    attention.disabled([(1, 0)])  # compared with a whole pass
    for lowest in (2, 1):
        with counted_runs(model.hf_model) as runs:
            edited = attention.disabled([(lowest, 3)])
        assert runs == Counter(range(lowest, 3))
        # What the grid of heads draws, and the distance of heads, need no second look.
        kept = [each.head_maps.layers["self"][0] for each in (attention, edited)]
        assert kept[0] is kept[1]


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "gpt-neox"])
def test_nothing_above_the_attention_of_the_last_layer_is_run(name: str) -> None:
    hf_model = zoo.build(name)
    model = load_model(hf_model, device="cpu")
    text = list(range(5, 15))
    attention = model.attend(text)
    attention.disabled([(2, 0)])
    attention.disabled([(1, 0)])  # compared with a whole pass
    above: list[str] = []
    handles = [
        module.register_forward_hook(lambda *_, name=name: above.append(name))
        for name, module in [("last layer", find_layers(hf_model)[-1]), ("model", hf_model)]
    ]
    edited = attention.disabled([(1, 3)], "zero")
    assert above == []
    for handle in handles:
        handle.remove()
    with model.disabled([(1, 3)], method="zero"):
        wanted = model.attend(text)
    np.testing.assert_allclose(edited.weights(), wanted.weights(), rtol=0, atol=1e-6)
    # Other passes have an end.
    assert model.attend(text).changes(attention).max() == 0


def find_layers(hf_model: Any) -> list[nn.Module]:
    layers = layers_of(hf_model)
    assert layers is not None
    return [layer for layer, _ in layers]


def test_numbers_that_are_not_finite_are_refused_with_heads_off_too() -> None:
    hf_model = zoo.build("bert")
    model = load_model(hf_model, device="cpu")
    attention = model.attend(list(range(5, 15)))
    for heads in ([(2, 0)], [(1, 0)], [(2, 1)]):
        attention.disabled(heads)
    value: Any = find_sites(hf_model)[2].module.value
    handle = value.register_forward_hook(lambda *args: args[-1] * torch.nan)
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "NaN", "token 0")):
        attention.disabled([(1, 1)])
    handle.remove()
    assert attention.disabled([(1, 1)]).changes(attention)[2].all()


class Carries(nn.Module):
    """An output projection that adds what a lower layer has put into a common place."""

    def __init__(self, projection: nn.Module, place: dict[str, torch.Tensor], puts: bool) -> None:
        super().__init__()
        self.projection = projection
        self.place = place
        self.puts = puts

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.projection(states)
        if self.puts:
            self.place["states"] = output
            return output
        return output + self.place["states"]


@pytest.mark.parametrize("n_tokens", [10, 2])
def test_a_model_with_another_path_between_its_layers_runs_whole(n_tokens: int) -> None:
    hf_model = zoo.build("bert")
    place: dict[str, torch.Tensor] = {}
    for layer, puts in ((0, True), (2, False)):
        output = hf_model.bert.encoder.layer[layer].output
        output.dense = Carries(output.dense, place, puts)
    model = load_model(hf_model, device="cpu")
    texts = [list(range(start, start + n_tokens)) for start in (5, 25)]
    attentions = [model.attend(text) for text in texts]
    for head in ((2, 0), (1, 1), (2, 2), (1, 3)):
        for text, attention in zip(texts, attentions, strict=True):
            assert_equals_whole_passes(model, attention, text, [head], "zero")
    with counted_runs(hf_model) as runs:
        attentions[0].disabled([(2, 1)], "zero")
    assert runs == Counter(range(3))


def test_states_that_a_later_layer_overwrites_are_not_used_again() -> None:
    hf_model = zoo.build("bert")
    hf_model.bert.encoder.layer[2].register_forward_pre_hook(
        lambda _, args: (args[0].mul_(1.5), *args[1:])
    )
    model = load_model(hf_model, device="cpu")
    text = list(range(5, 15))
    attention = model.attend(text)
    for head in ((1, 0), (1, 1), (2, 1), (2, 2), (2, 3)):
        assert_equals_whole_passes(model, attention, text, [head], "zero")
