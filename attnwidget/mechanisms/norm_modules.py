"""Norms of a model, by what they do to a vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from attnwidget.kernels.norm_gains import NormGain
from attnwidget.mechanisms.module_calls import ModuleCall, first_tensor, same_tensor

# Sizes of vectors: the epsilon of a norm does not count for large vectors, and counts for small.
_LARGE = 64.0
_SMALL = 0.01


def norms_of(model: nn.Module) -> list[nn.Module]:
    """Return the modules of a model whose class is called a norm."""
    return [module for module in model.modules() if "norm" in type(module).__name__.lower()]


def norm_with_output(
    calls: Mapping[nn.Module, ModuleCall], norms: Iterable[nn.Module], vectors: Tensor | None
) -> nn.Module | None:
    """Return the norm that put out these vectors; None if no norm did."""
    return next(
        (n for n in norms if n in calls and same_tensor(first_tensor(calls[n].output), vectors)),
        None,
    )


def norm_with_input(
    calls: Mapping[nn.Module, ModuleCall], norms: Iterable[nn.Module], vectors: Tensor | None
) -> nn.Module | None:
    """Return the norm that read these vectors; None if no norm did."""
    return next((n for n in norms if n in calls and same_tensor(calls[n].input, vectors)), None)


@torch.no_grad()
def gain_of(norm: nn.Module, size: int) -> NormGain:
    """Return the gain of a norm, found by what the norm makes of some vectors.

    Args:
        norm: A LayerNorm or an RMSNorm, under any name: Gemma's gain is one plus its weight.
        size: Number of dimensions, d.

    Raises:
        ValueError: The output depends on the length of a vector, or is no gain times the vector.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.norm_modules import gain_of
        >>> norm = gain_of(torch.nn.LayerNorm(8), 8)
        >>> norm.centres, norm.gain.round(decimals=3).tolist()
        (True, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        >>> f"{norm.epsilon:.1e}"
        '1.0e-05'
    """
    weight = next(norm.parameters(), torch.zeros(()))
    probe = torch.linspace(0.5, 1.5, size)
    probe[1::2] *= -1
    probe -= probe.mean()
    probe /= probe.square().mean().sqrt()
    large = torch.stack([probe, -probe, 2 * probe, probe + 1]) * _LARGE
    probes = torch.cat([large, torch.stack([probe, -probe]) * _SMALL])
    seen = norm(probes[None].to(weight.device, weight.dtype))[0].float()
    plus, minus, longer, shifted, small_plus, small_minus = seen.cpu()
    tolerance = 1e-3 if weight.dtype in (torch.float32, torch.float64) else 5e-2
    reach = tolerance * max(float(plus.abs().max()), 1e-6)
    if float((plus - longer).abs().max()) > reach:
        raise ValueError(
            f"{type(norm).__name__} is no norm of a kind that is known: a vector twice as long "
            "gives another result"
        )
    # A bias is the same in both, and so leaves the difference.
    difference = plus - minus
    shrunk = float((small_plus - small_minus).norm() / difference.norm().clamp_min(1e-12))
    return NormGain(
        gain=(difference / (2 * probe)).to(weight.device),
        bias=((plus + minus) / 2).to(weight.device),
        centres=float((plus - shifted).abs().max()) <= reach,
        epsilon=_SMALL**2 * max(shrunk**-2 - 1, 0.0) if shrunk > 0 else 0.0,
    )
