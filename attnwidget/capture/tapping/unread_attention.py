"""Modules whose attention is not recorded, because it is computed by hand or between channels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from attnwidget.text.counted import counted

_ATTENTION = re.compile(r"att(ention|n)", re.IGNORECASE)
_QUERY_KEY_VALUE = re.compile(r"qkv|query_?key|c_attn|in_proj_weight", re.IGNORECASE)
_QUERY = {"q", "query", "queries", "wq", "qproj"}
_KEY = {"k", "key", "keys", "wk", "kproj", "kv", "wkv", "kvproj"}
# Options of modules that switch to scaled_dot_product_attention, such as timm's fused_attn.
_OPTION = re.compile(r"(^|_)(fused|f?sdpa|flash)(_attn|_attention)?$", re.IGNORECASE)

Reason = Literal["softmax", "projections", "channels"]
# Clauses about one module and about several modules, by reason.
_SAID: dict[Reason, tuple[str, str]] = {
    "softmax": ("computes its softmax by hand", "compute a softmax by hand"),
    "projections": (
        "has queries and keys, and calls no function that is watched",
        "have queries and keys, and call no function that is watched",
    ),
    "channels": ("attends between channels, not tokens", "attend between channels, not tokens"),
}


@dataclass(frozen=True)
class UnreadAttention:
    """A module that computed attention which was not recorded.

    Attributes:
        path: Path of the module; "" for the watched module.
        kind: Class name of the module.
        reason: "softmax" if the module computed a softmax over tokens, "channels" if it attends
            between channels, by hand or not, "projections" if it only has projections of queries
            and keys.
        option: Name of an option that switches the module to scaled_dot_product_attention, such as
            "fused_attn"; "" without such an option.
    """

    path: str
    kind: str
    reason: Reason
    option: str


def unread_attention(
    module: nn.Module,
    path: str,
    softmaxes: Sequence[torch.Size],
    *,
    sums_values: bool,
    between_channels: bool,
    has_calls: bool,
) -> UnreadAttention | None:
    """Return the attention that a module computed by hand; None without such attention.

    A product of a softmax and values is attention. Without recorded calls, a module also computes
    attention if it projects queries and keys, or if it has a softmax and a name of attention.

    Args:
        module: Module whose forward has ended.
        path: Path of the module.
        softmaxes: Shapes of the softmaxes that the module computed.
        sums_values: Whether the result of a softmax was multiplied by further numbers.
        between_channels: Whether a softmax has the size of a head's channels.
        has_calls: Whether attention in the module or in its parts was recorded or is unread.
    """
    is_named_attention = any(
        _ATTENTION.search(name) for name in (type(module).__name__, path.rpartition(".")[2])
    )
    is_attention_by_name = is_named_attention and any(len(shape) > 2 for shape in softmaxes)
    if not sums_values and (
        has_calls or not (is_attention_by_name or _projects_queries_and_keys(module))
    ):
        return None
    reason: Reason = "softmax" if softmaxes else "projections"
    reason = "channels" if between_channels else reason
    return UnreadAttention(path, type(module).__name__, reason, _option(module))


def said_unread(unread: Sequence[UnreadAttention]) -> str:
    """Return a clause that describes unread modules.

    Example:
        >>> from attnwidget.capture.tapping.unread_attention import UnreadAttention, said_unread
        >>> said_unread([UnreadAttention("blocks.0.attn", "Attention", "softmax", "fused_attn")])
        "'blocks.0.attn' (Attention) computes its softmax by hand"
    """
    clauses = []
    for reason, (singular, plural) in _SAID.items():
        group = [module for module in unread if module.reason == reason]
        if not group:
            continue
        first = group[0]
        name = f"{repr(first.path) if first.path else 'the module'} ({first.kind})"
        more = len(group) - 1
        clauses.append(f"{name} and {more:,} more {plural}" if more else f"{name} {singular}")
    return "; ".join(clauses)


def advice_for(unread: Sequence[UnreadAttention]) -> str:
    """Return an instruction that makes unread modules readable; "" if there is none.

    Example:
        >>> from attnwidget.capture.tapping.unread_attention import UnreadAttention, advice_for
        >>> advice_for([UnreadAttention("blocks.0.attn", "Attention", "softmax", "fused_attn")])
        'set module.blocks[0].attn.fused_attn = True'
    """
    token_modules = [module for module in unread if module.reason != "channels"]
    if not token_modules:
        record = "record their weights for Attention.from_weights, with channels as tokens"
        return record if unread else ""
    modules_with_option = [module for module in token_modules if module.option]
    if not modules_with_option:
        return (
            "let them call scaled_dot_product_attention, or record their weights for "
            "Attention.from_weights"
        )
    first = modules_with_option[0]
    suffix = f", and likewise for {counted(len(modules_with_option) - 1, 'other')}"
    return f"set {python_path(first.path)}.{first.option} = True" + suffix * (
        len(modules_with_option) > 1
    )


def python_path(path: str, root: str = "module") -> str:
    """Return the Python expression for a part of a module.

    Args:
        path: Dotted path of the part; "" for the module itself.
        root: Name of the module in the expression.

    Example:
        >>> from attnwidget.capture.tapping.unread_attention import python_path
        >>> python_path("blocks.0.attn"), python_path("")
        ('module.blocks[0].attn', 'module')
    """
    parts = (f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part)
    return root + "".join(parts)


def without_parents(
    unread: Iterable[UnreadAttention], recorded: Iterable[str]
) -> list[UnreadAttention]:
    """Return the unread modules, without parts of a module that computed the attention itself.

    A part with the projections computes no attention if its parent does.

    Args:
        unread: Unread modules.
        recorded: Paths of the modules whose attention was recorded.
    """
    modules = {module.path: module for module in unread}
    attention_paths = {
        *recorded,
        *(path for path, module in modules.items() if module.reason != "projections"),
    }
    return [
        module
        for path, module in modules.items()
        if module.reason != "projections"
        or not path
        or path.rpartition(".")[0] not in attention_paths
    ]


def _projects_queries_and_keys(module: nn.Module) -> bool:
    names = [name for name, child in module.named_children() if _is_projection(child)]
    names += [
        name for name, parameter in module.named_parameters(recurse=False) if _is_wide(parameter)
    ]
    if any(_QUERY_KEY_VALUE.search(name) for name in names):
        return True
    words = {word for name in names for word in name.lower().split("_")}
    return not words.isdisjoint(_QUERY) and not words.isdisjoint(_KEY)


def _is_projection(child: nn.Module) -> bool:
    """Return whether a part multiplies states by a weight, unlike a norm, embedding or network."""
    if isinstance(child, nn.Embedding):
        return False
    if isinstance(child, nn.Sequential):
        return any(map(_is_projection, child))
    is_linear = hasattr(child, "in_features") or hasattr(child, "in_channels")
    return is_linear or any(map(_is_wide, child.parameters(recurse=False)))


def _is_wide(parameter: nn.Parameter) -> bool:
    return parameter.ndim > 1


def _option(module: nn.Module) -> str:
    """Return the name of a disabled option that would make the module call a torch function."""
    return next(
        (name for name, value in vars(module).items() if value is False and _OPTION.search(name)),
        "",
    )
