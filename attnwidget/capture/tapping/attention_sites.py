"""Attention modules of a model, their stacks, and the way to tap each module."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from types import CodeType
from typing import Any, Literal

from torch import nn

from attnwidget.capture.tapping.stack_names import Modality, is_cross, nearest_stacks, stack_roles
from attnwidget.capture.tapping.stages import stage_names

Route = Literal["interface", "functions"]

_PROBABILITY_OPS = {
    "softmax",
    "Softmax",
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
}
_ATTENTION = re.compile(r"att(ention|n)", re.IGNORECASE)
_CROSS = re.compile(
    r"cross_?att|encoder_attn|EncDecAttention|(?<![a-z])q_attn|encoder_decoder_att", re.IGNORECASE
)
_HEAD_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head", "num_attn_heads")


@dataclass(frozen=True, eq=False)
class Site:
    """One attention module of a model.

    Attributes:
        module: Attention module.
        path: Dotted path of the module inside the model.
        route: "interface" if the module gets its attention function from transformers'
            AttentionInterface; "functions" if it calls torch's softmax or
            scaled_dot_product_attention.
        stack: "self" in a model with one stack, and for the language model in a model with towers;
            "encoder" or "decoder" in an encoder-decoder; "cross" if the keys belong to another
            sequence; "vision", "audio" or a part of the path for other towers. If the stages of a
            tower differ in width, each has its own stack, "stage 1" or "vision stage 1".
        reads: Modality of the stack's queries in a model with towers, "text", "picture" or "sound";
            "" if it follows from the model inputs.
        queries: Stack whose tokens are the queries; equal to `stack` except for cross-attention;
            "" if unknown.
    """

    module: nn.Module
    path: str
    route: Route
    stack: str
    reads: Modality = ""
    queries: str = ""


def find_sites(model: nn.Module) -> list[Site]:
    """Return the attention modules of `model`, in registration order.

    Example:
        >>> from attnwidget import load_model
        >>> [site.stack for site in find_sites(load_model().hf_model)][:2]
        ['self', 'self']
    """
    sites: list[tuple[nn.Module, str, Route]] = []
    modules = dict(model.named_modules())
    for path, module in modules.items():
        route = _route(module, path)
        if route is not None:
            sites.append((module, path, route))
    if any(route == "interface" for _, _, route in sites):
        # A pooling head next to the layers (SigLIP) is not a layer of the model.
        sites = [entry for entry in sites if not isinstance(entry[0], nn.MultiheadAttention)]
        # A wrapper around a layer's attention (an adapter with its own prompt) is not a second
        # attention.
        inner = tuple(path for _, path, route in sites if route == "interface")
        sites = [
            (module, path, route)
            for module, path, route in sites
            if route == "interface" or not any(prefix.startswith(f"{path}.") for prefix in inner)
        ]
    roles = stack_roles(
        [path for _, path, _ in sites],
        [_is_cross(module, path, modules[path.rpartition(".")[0]]) for module, path, _ in sites],
    )
    self_indices = [i for i, role in enumerate(roles) if not is_cross(role.stack)]
    names = stage_names(
        [roles[i].stack for i in self_indices],
        [sites[i][1] for i in self_indices],
        [sites[i][0] for i in self_indices],
    )
    for i, name in zip(self_indices, names, strict=True):
        if name != roles[i].stack:
            roles[i] = replace(roles[i], stack=name, queries=name)
    return [
        Site(module, path, route, role.stack, role.reads, role.queries)
        for (module, path, route), role in zip(sites, roles, strict=True)
    ]


def text_parts(model: nn.Module) -> Callable[[str], bool]:
    """Return a function that returns whether the module at a path reads text.

    A module belongs to the stack with the nearest layers.

    Example:
        >>> from attnwidget import load_model
        >>> text_parts(load_model().hf_model)("bert.embeddings.position_embeddings")
        True
    """
    sites = find_sites(model)
    reads_ids = getattr(model, "main_input_name", "input_ids") == "input_ids"
    encoder_reads = {site.reads for site in sites if site.stack == "encoder"}
    texts = {"self", "decoder"}
    if reads_ids or "text" in encoder_reads:
        texts.add("encoder")
    return lambda path: bool(nearest_stacks(path, sites) & texts)


def count_heads(module: nn.Module, config: object = None) -> int | None:
    """Return the number of heads that `module` or else `config` states; None if neither does."""
    for owner in (module, config):
        for name in _HEAD_COUNTS:
            count = getattr(owner, name, None)
            if isinstance(count, int):
                return count
    return None


def _route(module: nn.Module, path: str) -> Route | None:
    # Most modules return early, because looking up a missing attribute of a module is slow.
    names = _names_used(type(module))  # type: ignore[arg-type]
    is_interface = "ALL_ATTENTION_FUNCTIONS" in names
    if not is_interface and not names & _PROBABILITY_OPS:
        return None
    if hasattr(module, "set_attn_implementation"):
        return None  # This is a model, not one of its layers.
    if is_interface:
        return "interface"
    is_attention_class = _ATTENTION.search(type(module).__name__)
    is_attention_path = _ATTENTION.search(path.rsplit(".", 1)[-1])
    projects = any(_is_projection(child) for child in module.children())
    has_weights = next(module.parameters(recurse=False), None) is not None
    if (projects and (is_attention_class or is_attention_path)) or (
        has_weights and is_attention_class
    ):
        return "functions"
    return None


def _is_projection(module: nn.Module) -> bool:
    return (
        isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d))
        or hasattr(module, "in_features")  # A quantized layer, or a layer inside of an adapter.
        or next(module.parameters(recurse=False), None) is not None
    )


def is_named_cross(path: str) -> bool:
    """Return whether the path of an attention module names cross-attention.

    Example:
        >>> from attnwidget.capture.tapping.attention_sites import is_named_cross
        >>> is_named_cross("decoder.layers.0.encoder_attn"), is_named_cross("layers.0.self_attn")
        (True, False)
    """
    return bool(_CROSS.search(path))


def _is_cross(module: nn.Module, path: str, parent: nn.Module) -> bool:
    """Return whether the keys of an attention module belong to another sequence."""
    return bool(
        is_named_cross(path)
        or "Cross" in type(module).__name__
        or "CrossAttention" in type(parent).__name__
        or getattr(module, "is_cross_attention", False)
    )


@cache
def _names_used(cls: Any) -> frozenset[str]:
    """Return all names in the methods of `cls`, and in functions of its file that they call."""
    names: set[str] = set()
    for base in cls.__mro__:
        if base is nn.Module or base.__name__ == "PreTrainedModel":
            break
        for member in vars(base).values():
            function = inspect.unwrap(getattr(member, "__func__", member))
            if not inspect.isfunction(function):
                continue
            _collect_names(function.__code__, names)
            for name in function.__code__.co_names:
                # ModernBERT before 5.0 keeps its attention functions in a module level dict.
                value = function.__globals__.get(name)
                for callee in value.values() if isinstance(value, dict) else [value]:
                    if inspect.isfunction(callee) and callee.__module__ == function.__module__:
                        _collect_names(callee.__code__, names)
    return frozenset(names)


def _collect_names(code: CodeType, names: set[str]) -> None:
    names.update(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            _collect_names(constant, names)
