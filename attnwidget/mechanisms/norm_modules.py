"""Norm modules of a model, identified by their effect on a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from attnwidget.kernels.norm_gains import NormGain
from attnwidget.mechanisms.frozen_norm import FrozenNorm
from attnwidget.mechanisms.module_calls import ModuleCall, first_tensor, same_tensor

# Factors of the probe vectors. The epsilon of a norm is negligible for large vectors only.
_LARGE = 64.0
_SMALL = 0.01


def norms_of(model: nn.Module) -> list[nn.Module]:
    """Return the modules without submodules whose class name contains "norm"."""
    return [
        module
        for module in model.modules()
        if "norm" in type(module).__name__.lower() and next(module.children(), None) is None
    ]


def norm_with_output(
    calls: Mapping[nn.Module, ModuleCall], norms: Iterable[nn.Module], vectors: Tensor | None
) -> nn.Module | None:
    """Return the norm whose output is these vectors; None if there is none."""
    return next(
        (n for n in norms if n in calls and same_tensor(first_tensor(calls[n].output), vectors)),
        None,
    )


def norm_with_input(
    calls: Mapping[nn.Module, ModuleCall], norms: Iterable[nn.Module], vectors: Tensor | None
) -> nn.Module | None:
    """Return the norm whose input is these vectors; None if there is none."""
    return next((n for n in norms if n in calls and same_tensor(calls[n].input, vectors)), None)


@torch.no_grad()
def gain_of(norm: nn.Module, size: int) -> NormGain:
    """Return the gain of a norm, checked on some vectors.

    Args:
        norm: LayerNorm or RMSNorm module, under any name; Gemma's gain is one plus its weight.
        size: Number of dimensions, d.

    Raises:
        ValueError: If the norm is neither a layer norm nor an RMS norm.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.norm_modules import gain_of
        >>> norm = gain_of(torch.nn.LayerNorm(8), 8)
        >>> norm.centers, norm.gain.round(decimals=3).tolist()
        (True, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        >>> f"{norm.epsilon:.1e}"
        '1.0e-05'
    """
    weight = next(norm.parameters(), torch.zeros((), dtype=torch.float32, device="cpu"))
    probe = torch.linspace(0.5, 1.5, size, dtype=torch.float32, device="cpu")
    probe[1::2] *= -1
    large = torch.stack([probe, 2 * probe, probe + 1]) * _LARGE
    probes = torch.cat([large, probe[None] * _SMALL])[None].to(weight.device, weight.dtype)
    frozen = FrozenNorm.from_call(norm, probes, norm(probes))
    if frozen is None:
        raise ValueError(
            f"{type(norm).__name__} is no norm of a kind that is known: a layer norm or an RMS "
            "norm, with the gain in its weight"
        )
    gain = torch.ones_like(probes[0, 0]) if frozen.gain is None else frozen.gain.detach()
    bias = torch.zeros_like(gain) if frozen.bias is None else frozen.bias.detach()
    return NormGain(gain.float(), bias.float(), frozen.centered, frozen.epsilon)
