"""Modules whose attention is not recorded: by hand, or between channels."""

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
# Options of modules that can switch to scaled_dot_product_attention, such as timm's fused_attn.
_OPTION = re.compile(r"(^|_)(fused|f?sdpa|flash)(_attn|_attention)?$", re.IGNORECASE)

Reason = Literal["softmax", "projections", "channels"]
# What one module does and what several modules do, by reason.
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
        kind: Name of its class.
        reason: "softmax" if the module computed a softmax over tokens, "channels" if it attends
            between channels, by hand or not, "projections" if it has projections of queries and
            keys alone.
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
    attention if it has projections of queries and keys, or a softmax and the name of attention.

    Args:
        module: A module whose forward has ended.
        path: Its path.
        softmaxes: Shapes of the softmaxes that it computed.
        sums_values: Whether the result of a softmax was multiplied by further numbers.
        between_channels: Whether a softmax has the size of the channels of a head.
        has_calls: Whether attention in the module or in its parts was recorded or is unread.
    """
    named = any(
        _ATTENTION.search(name) for name in (type(module).__name__, path.rpartition(".")[2])
    )
    by_name = named and any(len(shape) > 2 for shape in softmaxes)
    if not sums_values and (has_calls or not (by_name or _projects_queries_and_keys(module))):
        return None
    reason: Reason = "softmax" if softmaxes else "projections"
    reason = "channels" if between_channels else reason
    return UnreadAttention(path, type(module).__name__, reason, _option(module))


def said_unread(unread: Sequence[UnreadAttention]) -> str:
    """Describe unread modules in a clause.

    Example:
        >>> from attnwidget.capture.tapping.unread_attention import UnreadAttention, said_unread
        >>> said_unread([UnreadAttention("blocks.0.attn", "Attention", "softmax", "fused_attn")])
        "'blocks.0.attn' (Attention) computes its softmax by hand"
    """
    clauses = []
    for reason, (of_one, of_several) in _SAID.items():
        group = [each for each in unread if each.reason == reason]
        if not group:
            continue
        first = group[0]
        name = f"{repr(first.path) if first.path else 'the module'} ({first.kind})"
        more = len(group) - 1
        clauses.append(f"{name} and {more:,} more {of_several}" if more else f"{name} {of_one}")
    return "; ".join(clauses)


def advice_for(unread: Sequence[UnreadAttention]) -> str:
    """Return what makes unread modules readable, as an instruction; "" if nothing does.

    Example:
        >>> from attnwidget.capture.tapping.unread_attention import UnreadAttention, advice_for
        >>> advice_for([UnreadAttention("blocks.0.attn", "Attention", "softmax", "fused_attn")])
        'set module.blocks[0].attn.fused_attn = True'
    """
    of_tokens = [each for each in unread if each.reason != "channels"]
    if not of_tokens:
        record = "record their weights for Attention.from_weights, with channels as tokens"
        return record if unread else ""
    switched = [each for each in of_tokens if each.option]
    if not switched:
        return (
            "let them call scaled_dot_product_attention, or record their weights for "
            "Attention.from_weights"
        )
    first = switched[0]
    likewise = f", and likewise for {counted(len(switched) - 1, 'other')}"
    return f"set {python_path(first.path)}.{first.option} = True" + likewise * (len(switched) > 1)


def python_path(path: str, root: str = "module") -> str:
    """Return the Python expression of a part of a module.

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
        unread: The modules.
        recorded: Paths of the modules whose attention was recorded.
    """
    modules = {each.path: each for each in unread}
    own = {*recorded, *(path for path, each in modules.items() if each.reason != "projections")}
    return [
        each
        for path, each in modules.items()
        if each.reason != "projections" or not path or path.rpartition(".")[0] not in own
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
    """Return whether a part multiplies states by a weight: no norm, embedding or whole network."""
    if isinstance(child, nn.Embedding):
        return False
    if isinstance(child, nn.Sequential):
        return any(map(_is_projection, child))
    is_linear = hasattr(child, "in_features") or hasattr(child, "in_channels")
    return is_linear or any(map(_is_wide, child.parameters(recurse=False)))


def _is_wide(parameter: nn.Parameter) -> bool:
    return parameter.ndim > 1


def _option(module: nn.Module) -> str:
    """Return the name of an option that is off and would make the module call a torch function."""
    return next(
        (name for name, value in vars(module).items() if value is False and _OPTION.search(name)),
        "",
    )
