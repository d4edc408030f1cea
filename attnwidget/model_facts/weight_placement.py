"""Location of a model's weights: a device, or the offload store of accelerate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


def device_of(model: nn.Module) -> torch.device:
    """Return the device of a model's inputs: where its first weights are, or run if offloaded.

    Args:
        model: Model.

    Example:
        >>> from attnwidget import load_model
        >>> device_of(load_model(device="cpu").hf_model)
        device(type='cpu')
    """
    device = next(model.parameters()).device
    return next(_run_on(model), device) if device.type == "meta" else device


def check_has_weights(model: nn.Module) -> None:
    """Raise ValueError for a model on the device "meta" whose weights are not offloaded.

    Args:
        model: Model.
    """
    if (
        any(p.device.type == "meta" for p in model.parameters())
        and next(_run_on(model), None) is None
    ):
        raise ValueError(
            f"weights of this {type(model).__name__} are on the device 'meta', which holds no "
            "numbers: load them, as from_pretrained(name) does, and pass that model"
        )


def weight_of(module: nn.Module, name: str) -> Tensor | None:
    """Return the weight or bias of a module, even if accelerate offloaded it, or None.

    Args:
        module: Module.
        name: Name of the parameter, such as "weight".
    """
    weight: Tensor | None = getattr(module, name, None)
    if weight is None or weight.device.type != "meta":
        return weight
    for hook in _hooks(module):
        if getattr(hook, "weights_map", None) is not None:
            offloaded: Tensor = hook.weights_map[name]
            return offloaded.to(hook.execution_device)
    return weight


def _run_on(model: nn.Module) -> Iterator[torch.device]:
    """Yield the devices to which accelerate moves offloaded weights when they are needed."""
    for module in model.modules():
        for hook in _hooks(module):
            if getattr(hook, "offload", False) and hook.execution_device is not None:
                yield torch.device(hook.execution_device)


def _hooks(module: nn.Module) -> list[Any]:
    """Return the hooks that accelerate runs before and after a module."""
    hook: Any = getattr(module, "_hf_hook", None)
    return list(getattr(hook, "hooks", [hook] if hook is not None else []))
