"""The states of tokens before the first layer of a stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.hub_model.plain_forward import plain_forward
from attnwidget.capture.tapping.hooked import hooked


class _Stop(Exception):  # noqa: N818  it ends a pass before the first layer
    def __init__(self, states: Tensor | None) -> None:
        self.states = states
        super().__init__("stopped before the first layer")


def states_before(
    model: Any,
    module: nn.Module,
    silent: Sequence[nn.Module],
    inputs: Mapping[str, Tensor],
    options: Mapping[str, Any],
) -> Tensor | None:
    """Return the states that reach the first attention module of a stack, [n, d].

    The attention modules `silent` add nothing to the states of their tokens.
    """

    def stop(_: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        tensors = [value for value in (*args, *named.values()) if isinstance(value, Tensor)]
        # Towers that read all pictures as one sequence have no dimension of a batch.
        ordered = sorted((t for t in tensors if t.ndim in (2, 3)), key=lambda t: -t.ndim)
        raise _Stop(next(iter(ordered), None))

    def nothing(_: nn.Module, __: Any, ___: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (torch.zeros_like(output[0]), *output[1:])
        return torch.zeros_like(output)

    with (
        hooked([module], before=stop),
        hooked(silent, after=nothing),
        torch.no_grad(),
        plain_forward(model),
    ):
        try:
            model(**inputs, **options)
        except _Stop as reached:
            if reached.states is None:
                return None
            return reached.states.detach().float().cpu().flatten(0, -2)
    return None
