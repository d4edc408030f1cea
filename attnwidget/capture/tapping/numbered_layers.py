"""Layer numbers of the layers with attention."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.stages import is_stage


def layer_numbers(model: nn.Module, sites: Sequence[Site]) -> dict[str, LayerNumbers]:
    """Return the attention layers of each hybrid stack, which also has layers without attention.

    The result leaves out stacks in which every layer has attention, because their layers count from
    0. The numbers are the indices in the `nn.ModuleList` that contains all layers of the stack.

    Args:
        model: Model in which the sites were found, or a part of a model.
        sites: Attention modules of the model.
    """
    numbers: dict[str, LayerNumbers] = {}
    for stack in dict.fromkeys(site.stack for site in sites):
        own_sites = {site.module for site in sites if site.stack == stack}
        first = 1 if is_stage(stack) else 0
        layers = _in_one_list(model, [site.path for site in sites if site.stack == stack], first)
        if layers is not None and layers.layers_without_attention:
            # A module that several layers share has several paths.
            modules = model.named_modules(remove_duplicate=False)
            paths = [path for path, module in modules if module in own_sites]
            layers = _in_one_list(model, paths, first)
        if layers is not None and layers.layers_without_attention:
            numbers[stack] = layers
    return numbers


def _in_one_list(model: nn.Module, paths: Sequence[str], first: int) -> LayerNumbers | None:
    """Return the indices of modules in the outermost `nn.ModuleList` that separates them.

    Return None if no list contains all modules, or if the indices do not increase.

    Args:
        model: Model with the modules.
        paths: Path of each module.
        first: Number of outermost lists that are skipped, because they contain stages.
    """
    n_lists = 0
    parts = paths[0].split(".")
    for depth, part in enumerate(parts):
        prefix = parts[:depth]
        container = model.get_submodule(".".join(prefix))
        if not isinstance(container, nn.ModuleList) or not part.isdigit():
            continue
        n_lists += 1
        if n_lists <= first:
            continue
        split_paths = [path.split(".") for path in paths]
        if any(split_path[:depth] != prefix for split_path in split_paths):
            return None
        indices = tuple(int(split_path[depth]) for split_path in split_paths)
        if all(earlier < later for earlier, later in pairwise(indices)):
            return LayerNumbers(indices, len(container))
    return None
