"""The tap: the same maps as transformers' own, and a model left as it was."""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from typing import Any

import pytest
import torch
import transformers

from attnwidget.capture.tapping.tap import LayerAttention, tap
from fixtures import zoo
from refusals import naming

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
            # Padding that sees no token in its window has no weights in torch's fused function.
            empty = layer.weights.sum(-1) == 0  # [B, H, Q]
            if bool(empty.any()):
                assert implementation == "sdpa"
                assert not bool(given["attention_mask"][empty.any(1)].any())
            wanted = wanted.masked_fill(empty[..., None], 0)
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
    model = zoo.build(name)
    given = zoo.inputs(name)
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
    model = zoo.build("mpnet")
    given = zoo.inputs("mpnet")
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
    model = zoo.build(name)
    given = zoo.inputs(name)
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
    model = zoo.build(name, implementation)
    given = zoo.inputs(name)
    with torch.no_grad():
        untapped = model(**given)[0]
    opened = threading.Event()
    done = threading.Event()
    outputs: list[torch.Tensor] = []

    def run_untapped() -> None:
        opened.wait(60)
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
    model = zoo.build("bert")
    given = zoo.inputs("bert")
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


class Counting:
    """A compiler that counts what it compiles and how often that runs."""

    def __init__(self) -> None:
        self.compiled = self.runs = 0

    def __call__(self, graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Any:
        self.compiled += 1

        def run(*args: Any) -> Any:
            self.runs += 1
            return graph(*args)

        return run


def compiled(model: Any, form: str, backend: Counting) -> Any:
    """The model compiled in one of the ways that torch and transformers document."""
    layers = model.bert.encoder.layer
    if form == "wrapped":
        return torch.compile(model, backend=backend)
    if form == "in place":
        model.compile(backend=backend)
    elif form == "its forward":
        model.forward = torch.compile(model.forward, backend=backend)
    elif form == "a layer wrapped":
        layers[1] = torch.compile(layers[1], backend=backend)
    else:
        layers[1].compile(backend=backend)
    return model


COMPILED = ["wrapped", "in place", "its forward", "a layer wrapped", "a layer in place"]


def compiled_state(model: Any) -> list[Any]:
    """What calls to each module run."""
    return [
        (id(module), vars(module).get("_compiled_call_impl"), vars(module).get("forward"))
        for module in model.modules()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("form", COMPILED)
def test_compiled_models_are_read_uncompiled_and_stay_compiled(form: str) -> None:
    given = zoo.inputs("bert")
    backend = Counting()
    model = compiled(zoo.build("bert"), form, backend)
    with torch.no_grad():
        before = model(**given)[0]
    counts = (backend.compiled, backend.runs)
    as_it_was = (state(model), compiled_state(model))
    assert min(counts) > 0
    seen, _ = tapped(model, given)
    assert (backend.compiled, backend.runs) == counts
    assert (state(model), compiled_state(model)) == as_it_was
    for layer, wanted in zip(seen["self"], zoo.eager_maps("bert", given)["self"], strict=True):
        torch.testing.assert_close(layer.weights, wanted, atol=SMALL, rtol=0)
    with torch.no_grad():
        assert torch.equal(model(**given)[0], before)
    assert (backend.compiled, backend.runs) == (counts[0], 2 * counts[1])


@pytest.mark.parametrize("form", COMPILED)
def test_an_exception_leaves_a_compiled_model_compiled(form: str) -> None:
    given = zoo.inputs("bert")
    backend = Counting()
    model = compiled(zoo.build("bert"), form, backend)
    as_it_was = state(model), compiled_state(model)

    def fail(_: LayerAttention) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), torch.no_grad(), tap(model, fail):
        model(**given)
    assert (state(model), compiled_state(model)) == as_it_was
    assert backend.compiled == 0


def test_taps_of_two_threads_leave_a_model_compiled_and_in_its_mode() -> None:
    """The first tap to open closes first: the second one still reads the model undisturbed."""
    given = zoo.inputs("bert")
    backend = Counting()
    model = compiled(zoo.build("bert"), "in place", backend).train()
    as_it_was = state(model), compiled_state(model)
    closed = threading.Event()
    opened = threading.Event()
    maps: list[torch.Tensor] = []

    def second() -> None:
        with torch.no_grad(), tap(model, lambda layer: maps.append(layer.weights)):
            opened.set()
            assert closed.wait(30)
            model(**given)

    thread = threading.Thread(target=second)
    with tap(model, print):
        thread.start()
        assert opened.wait(30)
    closed.set()
    thread.join()
    assert backend.compiled == 0
    for got, wanted in zip(maps, zoo.eager_maps("bert", given)["self"], strict=True):
        torch.testing.assert_close(got, wanted, atol=SMALL, rtol=0)
    assert (state(model), compiled_state(model)) == as_it_was
    assert all(module.training for module in model.modules())


@pytest.mark.slow
def test_reading_a_model_leaves_other_models_compiled() -> None:
    given = zoo.inputs("bert")
    backend = Counting()
    one, other = (compiled(zoo.build("bert"), "in place", backend) for _ in range(2))
    with torch.no_grad(), tap(one, print):
        other(**given)
    assert backend.runs > 0


@pytest.mark.parametrize("name", ["bert", "bloom"])
def test_modules_in_train_mode_are_read_without_dropout(name: str) -> None:
    model = zoo.build(name)
    given = zoo.inputs(name)
    modules = list(model.modules())
    for module in modules[::2]:
        module.training = True
    flags = [module.training for module in modules]
    seen, _ = tapped(model, given)
    for layer, wanted in zip(seen["self"], zoo.eager_maps(name, given)["self"], strict=True):
        torch.testing.assert_close(layer.weights, wanted, atol=SMALL, rtol=0)
    assert [module.training for module in modules] == flags

    def fail(_: LayerAttention) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError), torch.no_grad(), tap(model, fail):
        model(**given)
    assert [module.training for module in modules] == flags


@pytest.mark.parametrize("options", ["inverse", "upcast", "both"])
def test_gpt2_with_other_scores_has_its_eager_maps(options: str) -> None:
    config = transformers.GPT2Config(
        vocab_size=99,
        n_embd=32,
        n_layer=4,
        n_head=4,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=2,
        scale_attn_by_inverse_layer_idx=options != "upcast",
        reorder_and_upcast_attn=options != "inverse",
    )
    given = zoo.inputs("gpt2", length=40)
    for implementation in ("eager", "sdpa"):
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel._from_config(
            config, attn_implementation=implementation
        ).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() >= 2:
                    parameter.normal_(0, 0.5)  # large scores, where rounding shows
            if implementation == "eager":
                expected = model(**given, output_attentions=True).attentions
        for layer, wanted in zip(tapped(model, given)[0]["self"], expected, strict=True):
            torch.testing.assert_close(layer.weights, wanted, atol=SMALL, rtol=0)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_falcon_with_alibi_is_read_as_it_computes(implementation: str) -> None:
    """Transformers' eager Falcon adds ALiBi twice, its sdpa once, as the model was trained."""
    config = transformers.FalconConfig(
        vocab_size=zoo.VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        alibi=True,
    )
    torch.manual_seed(0)
    model = transformers.FalconModel._from_config(config, attn_implementation=implementation)
    model.eval()
    given = zoo.inputs("gpt2", batch=1, padded=0)
    qkv: list[torch.Tensor] = []
    first = model.h[0].self_attention
    hook = first.query_key_value.register_forward_hook(lambda *a: qkv.append(a[-1]))
    seen, output = tapped(model, given)
    hook.remove()
    n = 14
    slopes = 2.0 ** -torch.tensor([2.0, 4.0, 6.0, 8.0])
    query, key, _ = qkv[0][0].split([32, 8, 8], dim=-1)
    scores = query.view(n, 4, 8).transpose(0, 1) @ key.T
    times = 2 if implementation == "eager" else 1
    scores = (scores + times * slopes[:, None, None] * torch.arange(n)) / 8**0.5
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    expected = scores.masked_fill(later, -torch.inf).softmax(-1)
    torch.testing.assert_close(seen["self"][0].weights[0], expected, atol=SMALL, rtol=0)
    with torch.no_grad():
        torch.testing.assert_close(model(**given)[0], output[0], atol=1e-5, rtol=1e-5)


def test_a_model_without_attention_is_named() -> None:
    config = transformers.MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=20)
    model = transformers.MambaModel(config)
    with (
        pytest.raises(TypeError, match=naming("MambaModel", "softmax attention")),
        tap(model, print),
    ):
        pass
