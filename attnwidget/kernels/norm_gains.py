"""The gain of a norm, as part of the matrices that read from the norm or stand before it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class NormGain:
    """A norm of vectors: x -> gain * (x - mean) / size + bias, without the mean in an RMSNorm.

    The size is the root of the mean square plus epsilon.

    Attributes:
        gain: float32 [d].
        bias: float32 [d].
        centers: Whether the norm takes the mean off.
        epsilon: What the norm adds to the mean square.

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
        """Return the matrix that does to x / size what `reader` [..., d, D] does to the norm of x.

        The bias is left out: it is the same for every x.
        """
        scaled = self.gain[:, None] * reader
        return scaled - scaled.mean(-2, keepdim=True) if self.centers else scaled

    def after(self, writer: Tensor) -> Tensor:
        """Return what the norm makes of the output of `writer` [..., D, d], but for the size."""
        centered = writer - writer.mean(-1, keepdim=True) if self.centers else writer
        return centered * self.gain

    def normalized(self, vectors: Tensor) -> Tensor:
        """Return vectors [..., d] as the norm has them before its gain and its bias."""
        centered = vectors - vectors.mean(-1, keepdim=True) if self.centers else vectors
        squares = centered.square().mean(-1, keepdim=True) + self.epsilon
        return centered / squares.sqrt().clamp_min(1e-30)
