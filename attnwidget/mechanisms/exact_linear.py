"""Float64 forward passes for the linear modules of a float32 model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnwidget.model_facts.weight_placement import weight_of


def exact_dtype(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on a device that lacks it.

    Example:
        >>> import torch
        >>> exact_dtype(torch.device("cpu"))
        torch.float64
    """
    return torch.float32 if device.type == "mps" else torch.float64


def refuse_coarse_weights(hf_model: nn.Module) -> None:
    """Raise ValueError for weights with less precision than float32, because sums would be inexact.

    Example:
        >>> import torch
        >>> refuse_coarse_weights(torch.nn.Linear(2, 1).bfloat16())
        Traceback (most recent call last):
        ValueError: Linear has weights in bfloat16, whose rounding is larger than many parts of \
a sum: load the model with dtype=torch.float32
    """
    dtypes = {p.dtype for p in hf_model.parameters() if p.is_floating_point()}
    if coarse := dtypes - {torch.float32, torch.float64}:
        raise ValueError(
            f"{type(hf_model).__name__} has weights in {str(coarse.pop()).removeprefix('torch.')}, "
            "whose rounding is larger than many parts of a sum: load the model with "
            "dtype=torch.float32"
        )


def has_exact_forward(module: nn.Module) -> bool:
    """Return whether a module has weights and no submodules.

    Example:
        >>> import torch
        >>> has_exact_forward(torch.nn.Linear(2, 1)), has_exact_forward(torch.nn.ReLU())
        (True, False)
    """
    has_weights = next(module.parameters(recurse=False), None) is not None
    return has_weights and next(module.children(), None) is None


def exact_forward(module: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward function that also takes float64.

    Linear layers and GPT-2's Conv1D are computed in float64. Other modules compute in the type of
    their weights, and the result is converted.

    Args:
        module: Module with `has_exact_forward`.
        forward: Forward function of the module.

    Example:
        >>> import torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> exact_forward(layer, layer.forward)(torch.ones(1, 2, dtype=torch.float64)).dtype
        torch.float64
    """
    dtype = next(module.parameters(recurse=False)).dtype
    transposed = type(module).__name__ == "Conv1D"
    linear = transposed or type(module).forward is nn.Linear.forward

    def converted(*args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        float64_tensors = [v for v in values if isinstance(v, Tensor) and v.dtype == torch.float64]
        if not float64_tensors or dtype == torch.float64:
            return forward(*args, **kwargs)
        weight = weight_of(module, "weight")
        if linear and len(values) == 1 and weight is not None:
            bias = weight_of(module, "bias")
            weight = weight.double().T if transposed else weight.double()
            return functional.linear(
                float64_tensors[0], weight, None if bias is None else bias.double()
            )
        output = forward(
            *(_as(value, dtype) for value in args),
            **{name: _as(value, dtype) for name, value in kwargs.items()},
        )
        return output.double() if isinstance(output, Tensor) else output

    return converted


def _as(value: Any, dtype: torch.dtype) -> Any:
    is_float64 = isinstance(value, Tensor) and value.dtype == torch.float64
    return value.to(dtype) if is_float64 else value
