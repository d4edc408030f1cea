"""Towers that read several tiles or pictures of one input: one map over all of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnwidget import AttentionModel, load_model
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.text.places import Box
from fixtures import zoo
from fixtures.picture_models import SIZES, PictureModel, build, drawn
from fixtures.vision_language import llava_model
from refusals import naming

pytestmark = pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="configurations of Transformers 4 are not made of configurations"
)
SMALL = 1e-6
SEVERAL = ("LLaVA-NeXT", "Idefics3", "SmolVLM", "InternVL tiles", "LLaVA", "Gemma 3")

built = cache(build)


class Recorded:
    """What the attention modules of a tower read and put out."""

    def __init__(self, family: PictureModel, inputs: dict[str, Tensor]) -> None:
        self.calls: dict[str, tuple[Tensor, Tensor]] = {}
        hooks = []
        for site in find_sites(family.model):

            def after(_: Any, args: Any, named: Any, output: Any, path: str = site.path) -> None:
                read = args[0] if args else named["hidden_states"]
                self.calls[path] = (read, output[0])

            if site.stack == "vision":
                hooks.append(site.module.register_forward_hook(after, with_kwargs=True))
        with torch.no_grad():
            family.model(**inputs)
        for hook in hooks:
            hook.remove()


@torch.no_grad()
@pytest.mark.parametrize("name", SEVERAL)
def test_the_map_of_a_tower_over_all_tiles_gives_its_output(name: str) -> None:
    family = built(name)
    several = name in ("LLaVA", "Gemma 3")
    pictures = [drawn(*size, seed) for seed, size in enumerate(SIZES[: 1 + several])]
    inputs = family.inputs(pictures)
    attention = load_model(family.model).attend(dict(inputs))
    assert "not shown" not in attention.note
    recorded = Recorded(family, inputs)
    modules = [site for site in find_sites(family.model) if site.stack == "vision"]
    for layer, site in enumerate(modules):
        module: Any = site.module
        read, output = recorded.calls[site.path]
        n_tiles, length, _ = read.shape
        assert n_tiles > 1
        query, key, value = (
            project(read).reshape(n_tiles, length, 4, -1).transpose(1, 2)
            for project in (module.q_proj, module.k_proj, module.v_proj)
        )
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        weights = torch.from_numpy(attention.weights(layer, stack="vision"))
        seen = attention.visible(layer, 0, stack="vision")
        assert seen is not None
        for tile in range(n_tiles):
            own = slice(tile * length, (tile + 1) * length)
            assert float((weights[:, own, own] - scores[tile].softmax(-1)).abs().max()) < SMALL
            assert seen[own, own].all() and seen[own].sum() == length**2
        values = value.transpose(0, 1).reshape(4, n_tiles * length, -1)
        summed = (weights @ values).transpose(0, 1).reshape(n_tiles, length, -1)
        project = getattr(module, "out_proj", None) or module.projection_layer
        error = (project(summed) - output).abs().max() / output.abs().max()
        assert float(error) < SMALL


@pytest.fixture(scope="module")
def llava() -> AttentionModel:
    return llava_model()


def test_the_tokens_of_two_pictures_have_boxes_in_their_picture(llava: AttentionModel) -> None:
    pictures = [drawn(150, 90), drawn(90, 150, 1)]
    attention = llava.attend("what differs?", images=pictures)
    axis = attention.stacks["vision"].key
    boxes = [place for place in axis.places if isinstance(place, Box)]
    assert [box.picture for box in boxes] == [0] * 16 + [1] * 16
    assert axis.text[:2] == ("[CLS]", "p0 r0c0") and axis.text[17:19] == ("[CLS]", "p1 r0c0")
    weights = attention.weights(0, stack="vision")
    assert weights.shape == (4, 34, 34)
    assert not weights[:, :17, 17:].any() and not weights[:, 17:, :17].any()


def test_a_head_of_a_tower_of_several_pictures_is_switched_off(llava: AttentionModel) -> None:
    pictures = [drawn(150, 90), drawn(90, 150, 1)]
    attention = llava.attend("what differs?", images=pictures)
    edited = attention.disabled([(0, 1, "vision")], method="uniform")
    weights = edited.weights(0, 1, stack="vision")
    assert np.allclose(weights[:17, :17], 1 / 17) and np.allclose(weights[17:, 17:], 1 / 17)
    assert not weights[:17, 17:].any()
    untouched = attention.weights(0, 0, stack="vision")
    assert np.array_equal(edited.weights(0, 0, stack="vision"), untouched)
    changed = edited.weights(0, 0) - attention.weights(0, 0)
    assert np.abs(changed).max() > 0, "the language model reads the tower"


@pytest.mark.parametrize("name", ["Idefics3", "LLaVA"])
def test_a_long_input_has_the_same_maps(name: str) -> None:
    family = built(name)
    inputs = family.inputs([drawn(*size, seed) for seed, size in enumerate(SIZES[:2])])
    reader = load_model(family.model)
    whole, long = (reader.attend(dict(inputs), long=long) for long in (False, True))
    assert long.is_long and not whole.is_long
    assert list(long.stacks) == list(whole.stacks)
    difference = long.weights(1, stack="vision") - whole.weights(1, stack="vision")
    assert np.abs(difference).max() < 1e-5
    norms = long.norms(1, 0, stack="vision"), whole.norms(1, 0, stack="vision")
    assert np.allclose(*norms, atol=1e-4)
    rows = long.rows(1, 0, [3, 20], stack="vision")
    assert np.abs(rows - whole.rows(1, 0, [3, 20], stack="vision")).max() < 1e-5


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "n_pictures"), [("Qwen2-VL", 2), ("Qwen3-VL", 2), ("Qwen2.5-VL", 1), ("Qwen2.5-VL", 2)]
)
def test_pictures_and_windows_in_calls_of_their_own_are_one_map(name: str, n_pictures: int) -> None:
    family = built(name)
    pictures = [drawn(*size, seed) for seed, size in enumerate(SIZES[:n_pictures])]
    inputs = family.inputs(pictures)
    attention = load_model(family.model).attend(dict(inputs))
    assert "not shown" not in attention.note
    sites = [site for site in find_sites(family.model) if site.stack == "vision"]
    calls: dict[str, Any] = {}
    hooks = [
        site.module.register_forward_hook(
            lambda _, args, named, output, path=site.path: calls.update(
                {path: (args[0] if args else named["hidden_states"], named, output)}
            ),
            with_kwargs=True,
        )
        for site in sites
    ]
    family.model(**inputs)
    for hook in hooks:
        hook.remove()
    n_blocks = []
    for layer, site in enumerate(sites):
        module: Any = site.module
        read, named, output = calls[site.path]
        count = len(read)
        query, key, value = module.qkv(read).reshape(count, 3, 4, -1).permute(1, 2, 0, 3)
        query, key = (_turned(states, *named["position_embeddings"]) for states in (query, key))
        ends = named["cu_seqlens"].tolist()
        block = np.searchsorted(ends[1:], np.arange(count), side="right")
        apart = torch.from_numpy(block[:, None] != block)
        scores = (query @ key.transpose(-1, -2)) * query.shape[-1] ** -0.5
        maps = scores.masked_fill(apart, -torch.inf).softmax(-1)
        weights = torch.from_numpy(attention.weights(layer, stack="vision"))
        assert float((weights - maps).abs().max()) < SMALL
        seen = attention.visible(layer, 0, stack="vision")
        assert bool(apart.any()) == (seen is not None)
        assert seen is None or np.array_equal(seen, ~apart.numpy())
        summed = module.proj((weights @ value).transpose(0, 1).reshape(count, -1))
        assert float((summed - output).abs().max() / output.abs().max()) < SMALL
        n_blocks.append(len(ends) - 1)
    assert max(n_blocks) > 1


def _turned(states: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotary positions of the queries or keys of every head, [H, n, D]."""
    first, second = states.chunk(2, -1)
    return states * cosines + torch.cat([-second, first], -1) * sines


def test_single_tokens_are_refused_in_calls_of_their_own() -> None:
    family = built("Qwen2-VL")
    inputs = family.inputs([drawn(*size) for size in SIZES[:2]])
    reader = load_model(family.model)
    with (
        reader.scaled_links([(0, 3)], 0, (0, 1, "vision")) as model,
        pytest.raises(ValueError, match=naming("links name tokens", "'uniform'")),
    ):
        model.attend(dict(inputs))
    with reader.disabled((0, 1, "vision"), method="uniform") as model:
        weights = model.attend(dict(inputs)).weights(0, 1, stack="vision")
    seen = reader.attend(dict(inputs)).visible(0, 0, stack="vision")
    assert np.allclose(weights, seen / seen.sum(-1, keepdims=True))
    with pytest.raises(
        ValueError, match=naming("'vision'", "loss", "Qwen2VLForConditionalGeneration", "gradients")
    ):
        reader.attend(dict(inputs), loss=lambda output: output.logits.square().sum())


@pytest.mark.parametrize("name", ["Qwen2.5-VL", "LLaVA-NeXT", "Idefics3", "LLaVA"])
def test_the_layer_and_its_attention_read_the_same_tokens(name: str) -> None:
    family = built(name)
    pictures = [drawn(*size, seed) for seed, size in enumerate(SIZES[:2])]
    axes = family.axes(pictures)
    length = len(family.states("vision", axes.inputs))
    of_layer = axes.patches("vision", length, in_blocks=True)
    assert of_layer is not None and len(of_layer.places) == length
    assert of_layer == axes.patches("vision", length)


@torch.no_grad()
def test_a_mean_is_over_the_tokens_of_all_tiles() -> None:
    family = built("Idefics3")
    model = load_model(family.model)
    inputs = family.inputs([drawn(*SIZES[0])])
    attention = model.attend(dict(inputs))
    n_tokens = len(attention.stacks["vision"].key)
    site = next(site for site in find_sites(family.model) if site.stack == "vision")
    read: list[Tensor] = []
    with (
        model.disabled((0, 1, "vision"), reference=dict(inputs)) as edited,
        site.module.out_proj.register_forward_pre_hook(lambda _, args: read.append(args[0])),
    ):
        assert f"mean over {n_tokens} tokens" in edited.attend(dict(inputs)).model_name
    after = read[-1].unflatten(-1, (4, -1))[:, :, 1].flatten(0, 1)
    before: list[Tensor] = []
    with site.module.out_proj.register_forward_pre_hook(lambda _, args: before.append(args[0])):
        family.model(**inputs)
    mean = before[0].unflatten(-1, (4, -1))[:, :, 1].flatten(0, 1).mean(0)
    assert len(after) == n_tokens > 16
    assert float((after - mean).abs().max()) < SMALL
