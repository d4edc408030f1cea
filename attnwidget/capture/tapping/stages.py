"""Stages of models, such as Swin, whose layers become wider while their tokens become fewer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

_STAGE = re.compile(r"(?:(.*) )?stage \d+")


def stage_names(
    stacks: Sequence[str], paths: Sequence[str], modules: Sequence[nn.Module]
) -> list[str]:
    """Return stack names, with a separate stack for every stage of a model.

    The first number in the path of an attention module counts stages if further numbers count the
    layers, and if layers have the same width exactly if they have the same first number.

    Args:
        stacks: Stack name of each attention module.
        paths: Dotted path of each module.
        modules: Attention modules.

    Example:
        >>> from torch import nn
        >>> from attnwidget.capture.tapping.stages import stage_names
        >>> modules = [nn.Sequential(nn.Linear(width, width)) for width in (8, 8, 16)]
        >>> paths = ["layers.0.blocks.0.attn", "layers.0.blocks.1.attn", "layers.1.blocks.0.attn"]
        >>> stage_names(["self"] * 3, paths, modules)
        ['stage 1', 'stage 1', 'stage 2']
    """
    names = list(stacks)
    for stack in dict.fromkeys(stacks):
        indices = [i for i, name in enumerate(stacks) if name == stack]
        stages = _stages([paths[i] for i in indices], [modules[i] for i in indices])
        if stages is None:
            continue
        for i, stage in zip(indices, stages, strict=True):
            names[i] = f"stage {stage}" if stack == "self" else f"{stack} stage {stage}"
    return names


def is_stage(stack: str) -> bool:
    """Return whether a stack is a stage.

    Example:
        >>> from attnwidget.capture.tapping.stages import is_stage
        >>> is_stage("stage 2"), is_stage("vision stage 1"), is_stage("vision")
        (True, True, False)
    """
    return _STAGE.fullmatch(stack) is not None


def tower_of(stack: str) -> str:
    """Return the name of the tower that a stage belongs to, or `stack` itself for other stacks.

    Example:
        >>> from attnwidget.capture.tapping.stages import tower_of
        >>> tower_of("stage 2"), tower_of("vision stage 1"), tower_of("vision")
        ('self', 'vision', 'vision')
    """
    match = _STAGE.fullmatch(stack)
    return stack if match is None else match.group(1) or "self"


def _stages(paths: Sequence[str], modules: Sequence[nn.Module]) -> list[int] | None:
    """Return the stage of each module, from 1; None if the modules have no stages."""
    numbers = [[part for part in path.split(".") if part.isdigit()] for path in paths]
    if min(map(len, numbers)) < 2:
        return None
    widths: dict[str, set[int]] = {}
    for (first, *_), module in zip(numbers, modules, strict=True):
        widths.setdefault(first, set()).add(_width(module))
    stage_widths = [
        next(iter(stage_width)) for stage_width in widths.values() if len(stage_width) == 1
    ]
    are_different = len(set(stage_widths)) == len(stage_widths) == len(widths) > 1
    if not are_different or 0 in stage_widths:
        return None
    order = {first: stage for stage, first in enumerate(widths, start=1)}
    return [order[first] for first, *_ in numbers]


def _width(module: nn.Module) -> int:
    """Return the total input size of all linear layers in a module; 0 without linear layers."""
    sizes = (getattr(child, "in_features", 0) for child in module.modules())
    return sum(size for size in sizes if isinstance(size, int))
