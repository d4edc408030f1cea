"""What a model itself says and does, without the package: its maps, its layers and plain hooks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.inputs.model_tensors import count_inputs
from sweep.small_models import options_of
from sweep.tower_models import returned_by_towers, tower_stacks
from sweep.window_maps import maps_of_windows

Maps = dict[str, list[Tensor]]
_FIELDS = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
#: Names of output projections in transformers: in the attention module, then in a block beside it.
_PROJECTIONS = (
    "o_proj",
    "out_proj",
    "c_proj",
    "dense",
    "Wo",
    "out_lin",
    "o",
    "wo",
    "proj",
    "linear_out",
    "dense_output",
    "post_proj",
    "to_out",
    "output_linear",
    "attn_out",
    "project_o",
)
_BLOCKS = ("output", "self_output")


def returned_maps(model: Any, inputs: Mapping[str, Tensor]) -> tuple[Maps, list[str]]:
    """The maps [B, H, Q, K] that the model returns with `output_attentions=True`.

    Also the stacks whose maps are in another layout, such as windows of local attention.
    """
    with torch.no_grad():
        output = model(**inputs, **options_of(model), output_attentions=True)
    maps: Maps = returned_by_towers(model, output)
    maps |= maps_of_windows(model, inputs)
    elsewhere: list[str] = []
    if maps:
        return maps, elsewhere
    by_hand = tower_stacks(model)
    for field, stack in _FIELDS.items():
        if by_hand is not None and stack not in by_hand:
            continue  # the maps of one of several stacks, under a name for the only one
        layers = getattr(output, field, None)
        layers = [layer for layer in layers or () if layer is not None]
        whole = [layer for layer in layers if isinstance(layer, Tensor) and layer.ndim == 4]
        square = stack == "cross" or all(layer.shape[-2] <= layer.shape[-1] for layer in whole)
        if len(whole) < len(layers) or not square:
            elsewhere.append(stack)
        elif whole:
            maps[stack] = whole
    return maps, elsewhere


@contextmanager
def computed_weights(
    model: Any, on_weights: Callable[[nn.Module, Tensor], Tensor | None]
) -> Iterator[None]:
    """Hand the weights that attention modules compute in the block to `on_weights`.

    These are the second results of eager functions, and the results of softmaxes inside attention
    modules. A tensor that `on_weights` returns replaces the weights: the output of the eager
    function is then computed with zeros in the heads whose weights are zero.
    """
    inside: list[nn.Module] = []
    patched: list[tuple[Any, str, Callable[..., Any]]] = []

    def eager(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            output, weights, *rest = original(module, *args, **kwargs)
            changed = on_weights(module, weights)
            if changed is None:
                return (output, weights, *rest)
            off = changed.abs().amax((0, 2, 3)) == 0
            return (output.masked_fill(off[:, None], 0), changed, *rest)

        return call

    def softmax(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            weights = original(*args, **kwargs)
            changed = on_weights(inside[-1], weights) if inside and weights.ndim > 2 else None
            return weights if changed is None else changed

        return call

    files = {sys.modules[type(module).__module__] for module in model.modules()}
    for file in files:
        for name, value in vars(file).items():
            if name.endswith("eager_attention_forward"):
                patched.append((file, name, eager(value)))
    with ExitStack() as undo:
        for site in find_sites(model):
            if site.route == "functions":
                entered = site.module.register_forward_pre_hook(lambda m, *_: inside.append(m))
                undo.callback(entered.remove)
                left = site.module.register_forward_hook(lambda *_: inside.pop() and None)
                undo.callback(left.remove)
        for owner, name, replacement in patched:
            undo.enter_context(mock.patch.object(owner, name, replacement))
        for owner in (torch, torch.nn.functional, Tensor):
            replacement = softmax(owner.softmax)
            undo.enter_context(mock.patch.object(owner, "softmax", replacement))
        yield


def recorded_maps(
    model: Any, inputs: Mapping[str, Tensor], sizes: Mapping[str, tuple[int, int]]
) -> Maps:
    """The weights that attention modules compute, for models that return something else.

    Args:
        model: an eager model.
        inputs: what it reads.
        sizes: queries and keys of each stack; other results of softmaxes are left out.
    """
    batch = count_inputs(inputs)
    stacks = _stacks(model)
    recorded: Maps = {}
    latest: list[nn.Module] = []

    def record(module: nn.Module, weights: Tensor) -> None:
        if weights.ndim == 3 and weights.shape[0] % batch == 0:
            weights = weights.unflatten(0, (batch, -1))
        stack = stacks.get(module, "")
        if batch == 1 and weights.ndim == 4 and len(weights) > 1:
            # Tiles of one input are entries of the batch of a tower: each attends to itself.
            heads = weights.transpose(0, 1)
            weights = torch.stack([torch.block_diag(*tiles) for tiles in heads])[None]
        fits = weights.ndim == 4 and tuple(weights.shape[2:]) == sizes.get(stack)
        # The first weights of a run are the weights of the heads.
        if fits and latest and latest[-1] is module:
            latest.pop()
            recorded.setdefault(stack, []).append(weights)

    with ExitStack() as undo, torch.no_grad():
        for module in stacks:
            hook = module.register_forward_pre_hook(lambda m, *_: latest.append(m))
            undo.callback(hook.remove)
        with computed_weights(model, record):
            model(**inputs, **options_of(model))
    return recorded


def _stacks(model: Any) -> dict[nn.Module, str]:
    """The stack of each attention module: by hand for models with towers, else the package's."""
    by_hand = tower_stacks(model)
    stacks = {}
    for site in find_sites(model):
        stacks[site.module] = site.stack
        if by_hand is not None:
            named = (name for name, path in by_hand.items() if re.search(path, site.path))
            stacks[site.module] = next(named, "")
    return stacks


def layers_of(model: Any, inputs: Mapping[str, Tensor]) -> dict[str, list[tuple[nn.Module, int]]]:
    """The attention modules of each stack in the order in which they run.

    With each, how often it has run in the pass before, since several layers may share a module.
    """
    stacks = _stacks(model)
    ran: dict[nn.Module, int] = {}
    order: dict[str, list[tuple[nn.Module, int]]] = {}

    def note(module: nn.Module, *_: Any) -> None:
        order.setdefault(stacks[module], []).append((module, ran.get(module, 0)))
        ran[module] = ran.get(module, 0) + 1

    with ExitStack() as undo, torch.no_grad():
        for module in stacks:
            undo.callback(module.register_forward_pre_hook(note).remove)
        model(**inputs, **options_of(model))
    return order


def projection_of(model: Any, module: nn.Module) -> nn.Module | None:
    """The output projection of an attention module, by its name; None if it has none."""
    path = next(path for path, other in model.named_modules() if other is module)
    parent = model.get_submodule(path.rpartition(".")[0])
    candidates = [getattr(module, name, None) for name in _PROJECTIONS]
    candidates += [getattr(getattr(parent, name, None), "dense", None) for name in _BLOCKS]
    for candidate in candidates:
        weight = getattr(candidate, "weight", None)
        if isinstance(candidate, nn.Module) and isinstance(weight, Tensor) and weight.ndim == 2:
            return candidate
    return None


def weight_of(projection: Any) -> Tensor:
    """[d, H * Dv] as `nn.Linear` keeps it; GPT-2's Conv1D keeps it transposed."""
    weight: Tensor = projection.weight.detach()
    return weight.T if type(projection).__name__ == "Conv1D" else weight


@contextmanager
def hooked(
    projection: nn.Module, occurrence: int, change: Callable[[Tensor], Tensor | None]
) -> Iterator[None]:
    """Hand what a projection takes in one of its runs of a pass to `change`, to be replaced."""
    runs = 0

    def replace(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        nonlocal runs
        runs += 1
        if runs - 1 != occurrence:
            return None
        changed = change(given[0])
        return None if changed is None else (changed, *given[1:])

    hook = projection.register_forward_pre_hook(replace)
    try:
        yield
    finally:
        hook.remove()


def output_of(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """What the model says of every position: logits, or states where it has no head."""
    with torch.no_grad():
        output = model(**inputs, **options_of(model))
    for name in ("logits", "prediction_logits", "last_hidden_state"):
        value = getattr(output, name, None)
        if isinstance(value, Tensor):
            return value
    first = output[0]
    if not isinstance(first, Tensor):
        raise TypeError(f"the output of {type(model).__name__} begins with no tensor")
    return first
