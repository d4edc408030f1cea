"""Stacks whose maps can be shown, and the reasons for missing stacks."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.stack_names import default_stack, is_cross, is_tower
from attnwidget.inputs.model_tensors import TEXTS, input_names
from attnwidget.text.counted import counted

_NO_MAPS = (
    "{} computed no attention map over all tokens: {} calls neither an attention function of "
    "transformers nor torch's softmax over the scores of all tokens (windows in a layout of its "
    "own, or integers)"
)


def attends_apart(n_parts: int, n_inputs: int, inputs: Mapping[str, Tensor], why: str = "") -> str:
    """Return the reason why layers that compute several maps per input cannot be shown.

    Args:
        n_parts: Number of maps per head, for all inputs.
        n_inputs: Number of inputs.
        inputs: Inputs by name.
        why: Reason why the tokens of windows or tiles are unknown; "" for none.

    Example:
        >>> import torch
        >>> from attnwidget.capture.maps.readable_stacks import attends_apart
        >>> attends_apart(3, 1, {"past_values": torch.zeros(1, 32, 3)})[:48]
        'attend within each of the 3 channels of past_val'
    """
    axis = _separate_axis(n_parts, n_inputs, inputs)
    if axis is not None:
        kind, name = axis
        return (
            f"attend within each of the {n_parts // n_inputs} {kind}s of {name}, so a whole input "
            f"has no map. watch_attention reads one {kind} at an attention module that calls "
            f"scaled_dot_product_attention: item is the number of the {kind}"
        )
    reason = f", and {why}" if why else ""
    return (
        f"attend within {n_parts} windows or tiles for {counted(n_inputs, 'input')}{reason}; maps "
        "over whole inputs exist only where every layer attends to all of them, or where the "
        "tokens of every window are known"
    )


def _separate_axis(
    n_parts: int, n_inputs: int, inputs: Mapping[str, Tensor]
) -> tuple[str, str] | None:
    """Return the kind of the input parts, and the input name; None for windows.

    A time series is [batch, time, channels], and a video [batch, frames, channels, height, width].
    In models that also read text, pictures and tiles have the shape of a video.
    """
    if not inputs.keys().isdisjoint(TEXTS):
        return None
    for name, tensor in inputs.items():
        forms = {3: ("channel", 2), 5: ("frame", 1)}
        if tensor.is_floating_point() and tensor.ndim in forms:
            kind, axis = forms[tensor.ndim]
            if tensor.shape[axis] > 1 and n_parts == n_inputs * tensor.shape[axis]:
                return kind, name
    return None


def leave_out_unreadable(
    items: Sequence[dict[str, list[Layer]]],
    unreadable: Mapping[str, str],
    model: nn.Module,
    sites: Sequence[Site],
) -> str:
    """Remove towers whose maps cannot be shown from `items`, and return the note about them.

    Args:
        items: Layers of each input by stack, modified in place.
        unreadable: Reasons that the pass has reported, by stack.
        model: Transformers model, for errors and notes.
        sites: Attention modules of the model.

    Raises:
        ValueError: No layer of an input has maps; or the layers of the language model or the only
            stack have no maps over all tokens, or maps of different sizes.
    """
    name = type(model).__name__
    reasons = dict(unreadable)
    for stacks in items:
        for stack, layers in stacks.items():
            reason = _why_unreadable(stack, layers)
            if reason:
                reasons.setdefault(stack, reason)
    if not reasons and not all(items):
        modules = sorted({type(site.module).__name__ for site in sites})
        raise ValueError(_NO_MAPS.format(name, ", ".join(modules)))
    parts = parts_of_stacks(model, sites)
    readable = {stack for stacks in items for stack in stacks} - reasons.keys()
    for stack, reason in reasons.items():
        if not is_tower(stack) or not readable:
            raise ValueError(f"the {stack!r} layers of {name} {reason}{_listed(parts)}")
        for stacks in items:
            stacks.pop(stack, None)
    notes = []
    for stack, reason in reasons.items():
        advice = f"; load_model(model.{parts[stack]}) reads this part" if stack in parts else ""
        short = reason.partition(";")[0].partition(":")[0]
        notes.append(f"the stack {stack!r} is not shown: its layers {short}{advice}")
    return ", ".join(notes)


def refuse_several_texts(model: Any) -> None:
    """Refuse a model with configurations of several text models, such as MusicGen.

    Raises:
        TypeError: The configuration names several text models. The error names the parts to load.
    """
    try:
        model.config.get_text_config()
    except ValueError as error:
        parts = parts_of_stacks(model, find_sites(model))
        raise TypeError(
            f"{type(model).__name__} contains several text models with different vocabularies, "
            f"and load_model takes one{_listed(parts)}"
        ) from error


def half_input_error(
    error: Exception, model: nn.Module, inputs: Container[str], sites: Sequence[Site]
) -> ValueError | None:
    """Return the error for a pass that failed because a text or picture is missing, or None.

    Args:
        error: Error of the model's forward.
        model: Transformers model.
        inputs: Input names of the pass.
        sites: Attention modules of the model.
    """
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is not None and innermost.tb_frame.f_globals["__name__"].startswith("attnwidget"):
        return None  # The package refuses this model even if both are passed.
    parts = parts_of_stacks(model, sites)
    pairs = {"pixel_values": "images", "input_features": "audio", "input_values": "audio"}
    names = input_names(model)
    absent = [name for name in ("input_ids", *pairs) if name in names and name not in inputs]
    if not parts or not absent or "inputs_embeds" in inputs:
        return None
    media = next((pairs[name] for name in pairs if name in names), "images")
    return ValueError(
        f"{type(model).__name__} does not read this input without {absent[0]} ({error}): pass "
        f"both, attend(text, {media}=...){_listed(parts)}"
    )


def parts_of_stacks(model: nn.Module, sites: Sequence[Site]) -> dict[str, str]:
    """Return, for each stack, the path of the submodel that contains no other stack.

    Stacks that share their submodel with other stacks are left out.
    """
    paths: dict[str, list[str]] = {}
    for site in sites:
        paths.setdefault(site.stack, []).append(site.path)
    stack_paths = {stack: of_stack for stack, of_stack in paths.items() if not is_cross(stack)}
    parts: dict[str, str] = {}
    if len(stack_paths) < 2:
        return parts
    for path, module in model.named_modules():
        if not path or not hasattr(module, "set_attn_implementation"):
            continue
        stacks_inside = [
            stack
            for stack, of_stack in stack_paths.items()
            if any(site.startswith(f"{path}.") for site in of_stack)
        ]
        is_whole_stack = len(stacks_inside) == 1 and all(
            site.startswith(f"{path}.") for site in stack_paths[stacks_inside[0]]
        )
        # The outermost part comes first, and contains everything that the layers read.
        if is_whole_stack:
            parts.setdefault(stacks_inside[0], path)
    return parts


def _why_unreadable(stack: str, layers: Sequence[Layer]) -> str:
    for layer in layers:
        if not is_cross(stack) and layer.n_query != layer.n_key:
            return (
                "computed no attention map over all tokens: one has "
                f"{layer.n_query} queries and {layer.n_key} keys, so its keys are not the tokens "
                "(compressed, pooled or windowed keys)"
            )
    sizes = {(layer.n_heads, layer.n_query, layer.n_key) for layer in layers}
    if len(sizes) > 1:
        size_list = ", ".join(map(str, sorted(sizes)))
        return (
            f"differ in (heads, queries, keys): {size_list}; a grid of heads needs layers of equal "
            "size"
        )
    return ""


def _listed(parts: Mapping[str, str]) -> str:
    """Return advice to load the parts of a model separately."""
    if not parts:
        return ""
    first = default_stack(parts) or next(iter(parts))
    other_parts = [f"model.{path}" for stack, path in parts.items() if stack != first]
    more = f", and likewise {', '.join(other_parts)}" if other_parts else ""
    return f". Load a part of the model to read it alone: load_model(model.{parts[first]}){more}"
