"""The tap: the same maps as transformers' own, and a model left as it was."""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from typing import Any

import pytest
import torch
import transformers

import zoo
from attnwidget.capture.tap import LayerAttention, tap

SMALL = 1e-6


def tapped(model: Any, given: dict[str, torch.Tensor]) -> tuple[dict[str, list[Any]], Any]:
    seen: dict[str, list[LayerAttention]] = defaultdict(list)
    with torch.no_grad(), tap(model, lambda layer: seen[layer.stack].append(layer)):
        output = model(**given)
    return seen, output


def state(model: Any) -> list[Any]:
    """All that a tap touches: attention implementations and hooks."""
    return [
        (
            getattr(getattr(module, "config", None), "_attn_implementation", None),
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
        )
        for module in model.modules()
    ]


@pytest.mark.parametrize(("name", "implementation"), zoo.LOADED)
def test_maps_are_those_of_eager_attention(name: str, implementation: str) -> None:
    given = zoo.inputs(name)
    seen, _ = tapped(zoo.build(name, implementation), given)
    expected = zoo.eager_maps(name, given)
    assert seen.keys() == expected.keys()
    for stack, maps in expected.items():
        assert [layer.layer for layer in seen[stack]] == list(range(len(maps)))
        for layer, wanted in zip(seen[stack], maps, strict=True):
            torch.testing.assert_close(layer.weights, wanted, atol=SMALL, rtol=0)


@pytest.mark.parametrize(("name", "implementation"), zoo.LOADED)
def test_the_model_computes_what_it_computes_untapped(name: str, implementation: str) -> None:
    given = zoo.inputs(name, padded=0)
    model = zoo.build(name, implementation)
    before = state(model)
    with torch.no_grad():
        untapped = model(**given)[0]
    _, during = tapped(model, given)
    assert state(model) == before
    with torch.no_grad():
        after = model(**given)[0]
    assert torch.equal(after, untapped)
    if implementation == "eager":
        assert torch.equal(during[0], untapped)
    torch.testing.assert_close(during[0], untapped, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "t5"])
def test_an_exception_leaves_the_model_as_it_was(name: str) -> None:
    model, given = zoo.build(name), zoo.inputs(name)
    before = state(model)
    with torch.no_grad():
        untapped = model(**given)[0]

    def fail(layer: LayerAttention) -> None:
        if layer.layer == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), torch.no_grad(), tap(model, fail):
        model(**given)
    assert state(model) == before
    with torch.no_grad():
        assert torch.equal(model(**given)[0], untapped)
    assert len(tapped(model, given)[0]) == len(zoo.eager_maps(name, given))


def test_a_pass_after_a_failed_one_counts_layers_from_0() -> None:
    model, given = zoo.build("mpnet"), zoo.inputs("mpnet")
    layers: list[int] = []

    def fail_once(layer: LayerAttention) -> None:
        layers.append(layer.layer)
        if len(layers) == 2:
            raise RuntimeError

    with torch.no_grad(), tap(model, fail_once):
        with pytest.raises(RuntimeError):
            model(**given)
        model(**given)
    assert layers == [0, 1, 0, 1, 2]


@pytest.mark.parametrize("name", ["llama", "mpnet"])
def test_taps_nest(name: str) -> None:
    model, given = zoo.build(name), zoo.inputs(name)
    outer: list[LayerAttention] = []
    inner: list[LayerAttention] = []
    with torch.no_grad(), tap(model, outer.append):
        with tap(model, inner.append):
            model(**given)
        model(**given)
    assert [layer.layer for layer in outer] == [0, 1, 2] * 2
    assert [layer.layer for layer in inner] == [0, 1, 2]


@pytest.mark.parametrize(("name", "implementation"), [("gpt2", "sdpa"), ("mpnet", "eager")])
def test_other_threads_are_neither_seen_nor_changed(name: str, implementation: str) -> None:
    model, given = zoo.build(name, implementation), zoo.inputs(name)
    with torch.no_grad():
        untapped = model(**given)[0]
    opened, done = threading.Event(), threading.Event()
    outputs: list[torch.Tensor] = []

    def run_untapped() -> None:
        opened.wait(10)
        with torch.no_grad():
            outputs.extend(model(**given)[0] for _ in range(5))
        done.set()

    thread = threading.Thread(target=run_untapped)
    thread.start()
    layers: list[int] = []
    with torch.no_grad(), tap(model, lambda layer: layers.append(layer.layer)):
        opened.set()
        for _ in range(5):
            model(**given)
        assert done.wait(30)
    thread.join()
    assert layers == [0, 1, 2] * 5
    assert len(outputs) == 5
    assert all(torch.equal(output, untapped) for output in outputs)


def test_two_threads_tap_their_own_passes() -> None:
    model = zoo.build("bert")
    lengths: dict[int, list[int]] = {5: [], 9: []}

    def run(length: int) -> None:
        given = zoo.inputs("bert", length=length, padded=0)
        for _ in range(5):
            with (
                torch.no_grad(),
                tap(model, lambda layer: lengths[length].append(layer.weights.shape[-1])),
            ):
                model(**given)

    threads = [threading.Thread(target=run, args=(length,)) for length in lengths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == {5: [5] * 15, 9: [9] * 15}
    assert model.config._attn_implementation == "eager"


def test_a_copy_made_inside_a_tap_runs_untapped() -> None:
    model, given = zoo.build("bert"), zoo.inputs("bert")
    layers: list[int] = []
    with torch.no_grad(), tap(model, lambda layer: layers.append(layer.layer)):
        twin = copy.deepcopy(model)
        torch.testing.assert_close(twin(**given)[0], model(**given)[0])
    assert layers == [0, 1, 2]


def test_a_bool_mask_of_the_caller_masks() -> None:
    given = zoo.inputs("llama", batch=1, padded=0)
    allowed = torch.ones(1, 1, 14, 14, dtype=torch.bool).tril().triu(-2)
    seen, _ = tapped(zoo.build("llama"), given | {"attention_mask": allowed})
    for layer in seen["self"]:
        assert layer.weights[..., ~allowed[0, 0]].abs().max() == 0


@pytest.mark.parametrize("part", ["the whole", "a layer"])
def test_compiled_models_are_read(part: str) -> None:
    given = zoo.inputs("bert")
    model = zoo.build("bert")
    if part == "a layer":
        layers = model.bert.encoder.layer
        layers[1] = torch.compile(layers[1], backend="eager")
    else:
        model = torch.compile(model, backend="eager")
    with torch.no_grad():
        before = model(**given)[0]
    seen, _ = tapped(model, given)
    for layer, wanted in zip(seen["self"], zoo.eager_maps("bert", given)["self"], strict=True):
        torch.testing.assert_close(layer.weights, wanted, atol=SMALL, rtol=0)
    with torch.no_grad():
        torch.testing.assert_close(model(**given)[0], before)


def test_a_model_without_attention_is_named() -> None:
    config = transformers.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=20)
    model = transformers.MambaModel(config)
    with pytest.raises(TypeError, match="MambaModel has no softmax attention"), tap(model, print):
        pass
