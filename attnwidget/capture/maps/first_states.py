"""Token states before the first layer of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.maps.skipped_layers import SkippedLayers
from attnwidget.capture.tapping.hooked import tensors_before
from attnwidget.model_facts.plain_forward import plain_forward


def states_before(
    model: Any,
    module: nn.Module,
    inputs: Mapping[str, Tensor],
    options: Mapping[str, Any],
    skipped: SkippedLayers | None = None,
    *,
    of_keys: bool = False,
) -> Tensor | None:
    """Return the states before an attention module, float32 [n, d]; None if the module has not run.

    Args:
        model: Transformers model.
        module: First attention module of a stack.
        inputs: Inputs of the model.
        options: Further arguments of the pass.
        skipped: Layers before the module that are skipped; None skips none.
        of_keys: Whether to return the states of cross-attention keys.
    """
    with (
        plain_forward(model),
        nullcontext() if skipped is None else skipped.block(),
        torch.no_grad(),
    ):
        tensors = tensors_before(module, lambda: model(**inputs, **options))
    # Towers that read all pictures as one sequence have no batch dimension, and towers with
    # windows may have separate dimensions for rows and columns.
    states = sorted((t for t in tensors if t.ndim in (2, 3)), key=lambda t: -t.ndim)
    states = states or [t for t in tensors if t.ndim == 4]
    # The queries come before the keys.
    token_states = next(iter(states[int(of_keys) :]), None)
    return None if token_states is None else token_states.detach().float().cpu().flatten(0, -2)
