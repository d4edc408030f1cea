"""The stacks of a pass whose maps can be shown, and the reasons for missing stacks."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from torch import nn

from attnwidget.capture.hub_model.model_tensors import input_names
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.stack_names import default_stack, is_cross, is_tower

_NO_MAPS = (
    "{} computed no attention map over all tokens: {} calls neither an attention function of "
    "transformers nor torch's softmax over the scores of all tokens (windows in a layout of its "
    "own, or integers)"
)


def attends_apart(n_parts: int, n_inputs: int, why: str = "") -> str:
    """Return the reason why layers that compute several maps for an input cannot be shown.

    Args:
        n_parts: Number of windows or tiles.
        n_inputs: Number of inputs.
        why: Reason why the tokens of the windows or tiles are not known; "" for none.
    """
    known = f", and {why}" if why else ""
    return (
        f"attend within {n_parts} windows or tiles for {n_inputs} inputs{known}; maps over whole "
        "inputs exist only where every layer attends to all of them, or where the tokens of every "
        "window are known"
    )


def leave_out_unreadable(
    items: Sequence[dict[str, list[Layer]]],
    unreadable: Mapping[str, str],
    model: nn.Module,
    sites: Sequence[Site],
) -> str:
    """Remove the towers whose maps cannot be shown from `items`, and return the note about them.

    Args:
        items: The layers of each input by stack.
        unreadable: Reasons that the pass has found, by stack.
        model: The model, for errors and notes.
        sites: Its attention modules.

    Raises:
        ValueError: No layer of an input has maps, or the layers of the language model or of the
            only stack have no maps over all tokens, or maps of different sizes.
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
        alone = f"; load_model(model.{parts[stack]}) reads this part" if stack in parts else ""
        short = reason.partition(";")[0].partition(":")[0]
        notes.append(f"the stack {stack!r} is not shown: its layers {short}{alone}")
    return ", ".join(notes)


def half_input_error(
    error: Exception, model: nn.Module, inputs: Container[str], sites: Sequence[Site]
) -> ValueError | None:
    """Return the error about a pass that failed since a text or a picture is missing, else None.

    Args:
        error: Error of the model's forward.
        model: The model.
        inputs: Names of the inputs of the pass.
        sites: The attention modules of the model.
    """
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is not None and innermost.tb_frame.f_globals["__name__"].startswith("attnwidget"):
        return None  # the package refuses this model, also with both
    parts = parts_of_stacks(model, sites)
    pairs = {"pixel_values": "images", "input_features": "audio", "input_values": "audio"}
    names = input_names(model)
    missing = [name for name in ("input_ids", *pairs) if name in names and name not in inputs]
    if not parts or not missing or "inputs_embeds" in inputs:
        return None
    media = next((pairs[name] for name in pairs if name in names), "images")
    return ValueError(
        f"{type(model).__name__} does not read this input without {missing[0]} ({error}): pass "
        f"both, attend(text, {media}=...){_listed(parts)}"
    )


def parts_of_stacks(model: nn.Module, sites: Sequence[Site]) -> dict[str, str]:
    """Return the path of the model inside `model` that has the layers of one stack alone.

    Stacks that share their part with other stacks are left out.
    """
    paths: dict[str, list[str]] = {}
    for site in sites:
        paths.setdefault(site.stack, []).append(site.path)
    own = {stack: of_stack for stack, of_stack in paths.items() if not is_cross(stack)}
    parts: dict[str, str] = {}
    if len(own) < 2:
        return parts
    for path, module in model.named_modules():
        if not path or not hasattr(module, "set_attn_implementation"):
            continue
        inside = [
            stack
            for stack, of_stack in own.items()
            if any(site.startswith(f"{path}.") for site in of_stack)
        ]
        whole = len(inside) == 1 and all(site.startswith(f"{path}.") for site in own[inside[0]])
        if whole:  # the outermost part comes first, and has what the layers read
            parts.setdefault(inside[0], path)
    return parts


def _why_unreadable(stack: str, layers: Sequence[Layer]) -> str:
    for kept in layers:
        if not is_cross(stack) and kept.n_query != kept.n_key:
            return (
                "computed no attention map over all tokens: one has "
                f"{kept.n_query} queries and {kept.n_key} keys, so its keys are not the tokens "
                "(compressed, pooled or windowed keys)"
            )
    sizes = {(kept.n_heads, kept.n_query, kept.n_key) for kept in layers}
    if len(sizes) > 1:
        listed = ", ".join(map(str, sorted(sizes)))
        return (
            f"differ in (heads, queries, keys): {listed}; a grid of heads needs layers of equal "
            "size"
        )
    return ""


def _listed(parts: Mapping[str, str]) -> str:
    """Return advice about the parts of a model that can be loaded alone."""
    if not parts:
        return ""
    first = default_stack(parts) or next(iter(parts))
    others = [f"model.{path}" for stack, path in parts.items() if stack != first]
    more = f", and likewise {', '.join(others)}" if others else ""
    return f". Load a part of the model to read it alone: load_model(model.{parts[first]}){more}"
