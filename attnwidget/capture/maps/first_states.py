"""The states of tokens before the first layer of a stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.hub_model.plain_forward import plain_forward
from attnwidget.capture.maps.skipped_layers import SkippedLayers
from attnwidget.capture.tapping.hooked import hooked


class _Stop(Exception):  # noqa: N818  it ends a pass before a module
    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        super().__init__("stopped before a module")


def tensors_before(module: nn.Module, run: Callable[[], object]) -> list[Tensor] | None:
    """Return the tensors that a module gets in a pass, which ends there; None if it has not run.

    Args:
        module: The module.
        run: Function that runs the pass.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> from attnwidget.capture.maps.first_states import tensors_before
        >>> layers = nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
        >>> tensors_before(layers[1], lambda: layers(torch.tensor([[-2.0]])))
        [tensor([[0.]])]
    """

    def stop(_: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        raise _Stop([value for value in (*args, *named.values()) if isinstance(value, Tensor)])

    with hooked([module], before=stop):
        try:
            run()
        except _Stop as reached:
            return reached.tensors
    return None


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
        model: The model.
        module: The first attention module of a stack.
        inputs: The inputs of the model.
        options: Further arguments of the pass.
        skipped: Layers before the module that are skipped; None skips none.
        of_keys: Whether to return the states of the keys of cross-attention.
    """
    with (
        plain_forward(model),
        nullcontext() if skipped is None else skipped.block(),
        torch.no_grad(),
    ):
        tensors = tensors_before(module, lambda: model(**inputs, **options)) or []
    # Towers that read all pictures as one sequence have no dimension of a batch, and towers with
    # windows may keep rows and columns apart.
    states = sorted((t for t in tensors if t.ndim in (2, 3)), key=lambda t: -t.ndim)
    states = states or [t for t in tensors if t.ndim == 4]
    # The queries stand before the keys.
    found = next(iter(states[int(of_keys) :]), None)
    return None if found is None else found.detach().float().cpu().flatten(0, -2)
