"""Gain of a normalization layer, folded into the matrices before or after the layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class NormGain:
    """A normalization layer, x -> gain * (x - mean) / size + bias; RMSNorm has no mean.

    The size is the square root of the mean square plus epsilon.

    Attributes:
        gain: Gain, float32 [d].
        bias: Bias, float32 [d].
        centers: Whether the layer subtracts the mean.
        epsilon: Constant that the layer adds to the mean square.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.norm_gains import NormGain
        >>> norm = NormGain(torch.tensor([1.0, 3.0]), torch.zeros(2), centers=False)
        >>> norm.read_by(torch.tensor([[1.0], [1.0]])).flatten()
        tensor([1., 3.])
        >>> norm.normalized(torch.tensor([3.0, 4.0]) * 2**0.5)
        tensor([0.8485, 1.1314])
    """

    gain: Tensor
    bias: Tensor
    centers: bool
    epsilon: float = 0.0

    def read_by(self, reader: Tensor) -> Tensor:
        """Return a matrix for x / size that has the same effect as `reader` after the norm.

        The bias is left out, because it is the same for every x.

        Args:
            reader: Matrix that is applied to the output of the norm, [..., d, D].
        """
        scaled = self.gain[:, None] * reader
        return scaled - scaled.mean(-2, keepdim=True) if self.centers else scaled

    def after(self, writer: Tensor) -> Tensor:
        """Return a matrix that combines `writer` and the following norm, without the size.

        Args:
            writer: Matrix whose output is the input of the norm, [..., D, d].
        """
        centered = writer - writer.mean(-1, keepdim=True) if self.centers else writer
        return centered * self.gain

    def normalized(self, vectors: Tensor) -> Tensor:
        """Return vectors after normalization, but before gain and bias.

        Args:
            vectors: Vectors [..., d].
        """
        centered = vectors - vectors.mean(-1, keepdim=True) if self.centers else vectors
        squares = centered.square().mean(-1, keepdim=True) + self.epsilon
        return centered / squares.sqrt().clamp_min(1e-30)
