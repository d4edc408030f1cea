"""A norm with the statistics of one input: a linear function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.mechanisms.exact_linear import exact_dtype
from attnwidget.model_facts.weight_placement import weight_of

# Differences between a norm and its frozen form, as a share of the largest output.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-6}
_EPSILONS = ("variance_epsilon", "eps", "epsilon", "norm_eps", "layer_norm_eps")
_GAINS = ("weight", "scale", "gamma", "g")


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """One call of a norm: y = gain * (x - mean) / deviation + bias, with a fixed deviation.

    Layer norms subtract the mean, RMS norms do not. With the deviation of the recorded input, the
    norm is linear in x but for the bias.

    Attributes:
        shape: Shape of the recorded input.
        deviation: Standard deviation or root mean square of the recorded input, [..., 1].
        gain: Factor of each dimension, or None for 1.
        bias: Constant of each dimension, or None.
        centered: Whether the mean is subtracted.
        epsilon: What the norm adds to the mean square.
    """

    shape: tuple[int, ...]
    deviation: Tensor
    gain: Tensor | None
    bias: Tensor | None
    centered: bool
    epsilon: float

    @classmethod
    def from_call(cls, module: nn.Module, given: Tensor, output: object) -> FrozenNorm | None:
        """Return the frozen form of a call; None if the output is neither of the two norms.

        Args:
            module: The norm.
            given: Its input.
            output: Its output.
        """
        if not isinstance(output, Tensor) or output.shape != given.shape:
            return None
        epsilon = next((float(v) for n in _EPSILONS if (v := _attribute(module, n))), 0.0)
        weight = next((w for n in _GAINS if isinstance(w := weight_of(module, n), Tensor)), None)
        bias = weight_of(module, "bias")
        gains = [None] if weight is None else [weight, 1 + weight]
        precision = exact_dtype(given.device)
        rounding = _TOLERANCE.get(output.dtype, 1e-2)
        given, output = given.to(precision), output.to(precision)

        def form(states: Tensor, centered: bool, gain: Tensor | None) -> FrozenNorm:
            moved = states - states.mean(-1, keepdim=True) if centered else states
            deviation = (moved.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
            return cls(tuple(states.shape), deviation, gain, bias, centered, epsilon)

        # A row tells the form that the norm may have. All rows then tell whether it has it.
        row = given.reshape(-1, given.shape[-1])[:1]
        wanted = output.reshape(-1, output.shape[-1])[:1]
        forms = [(centered, gain) for centered in (True, False) for gain in gains]
        errors = [(form(row, *kind)(row) - wanted).abs().max() for kind in forms]
        # One copy of all numbers, because every copy waits for a GPU.
        largest, *differences = torch.stack([output.abs().max(), *errors]).tolist()
        allowed = rounding * max(largest, 1e-6)
        for kind, difference in zip(forms, differences, strict=True):
            if difference > allowed:
                continue
            frozen = form(given, *kind)
            if float((frozen(given) - output).abs().max()) <= allowed:
                return frozen
        return None

    def __call__(self, states: Tensor) -> Tensor:
        """Apply the frozen norm to states of the recorded shape, or to a batch of such states."""
        one = self.shape[1:] if self.shape[0] == 1 else self.shape
        centered = states.reshape(-1, *one)
        if self.centered:
            centered = centered - centered.mean(-1, keepdim=True)
        output = centered / self.deviation.to(states.dtype)
        if self.gain is not None:
            output = output * self.gain
        if self.bias is not None:
            output = output + self.bias
        return output.reshape(states.shape)

    def at(self, tokens: Tensor, n_tokens: int) -> FrozenNorm:
        """Return the frozen norm of some of the tokens."""
        axis = record_axis(self.shape, n_tokens)
        shape = list(self.shape)
        shape[axis] = len(tokens)
        deviation = self.deviation.index_select(axis, tokens)
        return replace(self, shape=tuple(shape), deviation=deviation)


def record_axis(shape: tuple[int, ...], n_tokens: int) -> int:
    """Return the axis of the tokens in the record of one input.

    Raises:
        ValueError: No axis has one entry per token.
    """
    axes = [axis for axis, size in enumerate(shape[:-1]) if size == n_tokens]
    axes = [axis for axis in axes if axis or len(shape) == 2]
    if not axes:
        raise ValueError(f"no axis of {list(shape)} has {n_tokens} tokens")
    return axes[0]


def _attribute(module: Any, name: str) -> float | None:
    value = getattr(module, name, None)
    return value if isinstance(value, float) else None
