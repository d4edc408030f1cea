"""Norms with the fixed statistics of one input, which makes them linear functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.mechanisms.exact_linear import exact_dtype
from attnwidget.model_facts.weight_placement import weight_of

# Tolerance between a norm and its frozen form, as a share of the largest output.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-6}
_EPSILONS = ("variance_epsilon", "eps", "epsilon", "norm_eps", "layer_norm_eps")
_GAINS = ("weight", "scale", "gamma", "g")


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """Call of a norm: y = gain * (x - mean) / deviation + bias, with a fixed deviation.

    Layer norms subtract the mean, RMS norms do not. With the deviation of the recorded input, the
    norm is linear in x, except for the bias.

    Attributes:
        shape: Shape of the recorded input.
        deviation: Standard deviation or root mean square of the recorded input, [..., 1].
        gain: Factor of each dimension, or None for 1.
        bias: Constant of each dimension, or None.
        centered: Whether the mean is subtracted.
        epsilon: Constant that the norm adds to the mean square.
    """

    shape: tuple[int, ...]
    deviation: Tensor
    gain: Tensor | None
    bias: Tensor | None
    centered: bool
    epsilon: float

    @classmethod
    def from_call(cls, module: nn.Module, given: Tensor, output: object) -> FrozenNorm | None:
        """Return the frozen form of a call; None if the output fits neither kind of norm.

        Args:
            module: Norm module.
            given: Input of the norm.
            output: Output of the norm.
        """
        if not isinstance(output, Tensor) or output.shape != given.shape:
            return None
        epsilon = next((float(v) for n in _EPSILONS if (v := _attribute(module, n))), 0.0)
        weight = next((w for n in _GAINS if isinstance(w := weight_of(module, n), Tensor)), None)
        if weight is not None and weight.shape[-1:] != given.shape[-1:]:
            # A norm over channels, as in the convolutions of speech models, is none of the stream.
            return None
        bias = weight_of(module, "bias")
        gains = [None] if weight is None else [weight, 1 + weight]
        precision = exact_dtype(given.device)
        rounding = _TOLERANCE.get(output.dtype, 1e-2)
        given, output = given.to(precision), output.to(precision)

        def form(states: Tensor, centered: bool, gain: Tensor | None) -> FrozenNorm:
            shifted = states - states.mean(-1, keepdim=True) if centered else states
            deviation = (shifted.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
            return cls(tuple(states.shape), deviation, gain, bias, centered, epsilon)

        # One row suggests the form of the norm. All rows then decide whether the norm has this
        # form.
        row = given.reshape(-1, given.shape[-1])[:1]
        row_output = output.reshape(-1, output.shape[-1])[:1]
        forms = [(centered, gain) for centered in (True, False) for gain in gains]
        errors = [(form(row, *kind)(row) - row_output).abs().max() for kind in forms]
        # Copy all numbers at once, because every copy waits for the GPU.
        largest, *differences = torch.stack([output.abs().max(), *errors]).tolist()
        tolerance = rounding * max(largest, 1e-6)
        for kind, difference in zip(forms, differences, strict=True):
            if difference > tolerance:
                continue
            frozen = form(given, *kind)
            if float((frozen(given) - output).abs().max()) <= tolerance:
                return frozen
        return None

    def __call__(self, states: Tensor) -> Tensor:
        """Apply the frozen norm to states of the recorded shape, or to a batch of such states."""
        state_shape = self.shape[1:] if self.shape[0] == 1 else self.shape
        normed = states.reshape(-1, *state_shape)
        if self.centered:
            normed = normed - normed.mean(-1, keepdim=True)
        output = normed / self.deviation.to(states.dtype)
        if self.gain is not None:
            output = output * self.gain
        if self.bias is not None:
            output = output + self.bias
        return output.reshape(states.shape)

    def at(self, tokens: Tensor, n_tokens: int) -> FrozenNorm:
        """Return the frozen norm for some of the tokens."""
        axis = record_axis(self.shape, n_tokens)
        shape = list(self.shape)
        shape[axis] = len(tokens)
        deviation = self.deviation.index_select(axis, tokens)
        return replace(self, shape=tuple(shape), deviation=deviation)


def record_axis(shape: tuple[int, ...], n_tokens: int) -> int:
    """Return the token axis in the record of one input.

    Raises:
        ValueError: If no axis has one entry per token.
    """
    axes = [axis for axis, size in enumerate(shape[:-1]) if size == n_tokens]
    axes = [axis for axis in axes if axis or len(shape) == 2]
    if not axes:
        raise ValueError(f"no axis of {list(shape)} has {n_tokens} tokens")
    return axes[0]


def _attribute(module: Any, name: str) -> float | None:
    value = getattr(module, name, None)
    return value if isinstance(value, float) else None
