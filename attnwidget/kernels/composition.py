"""Composition of heads: how far a later head reads the output of an earlier head."""

from __future__ import annotations

import torch
from torch import Tensor


def composition(
    writer_in: Tensor, writer_out: Tensor, reader_in: Tensor, reader_out: Tensor
) -> Tensor:
    """Frobenius norm of a product of two circuits over the product of their norms.

    A circuit is a matrix [d, d] of low rank, the product of two factors. The writer is W_V W_O. The
    reader is W_Q W_K^T for the queries, W_K W_Q^T for the keys, W_V W_O for the values of the later
    head. Only small matrices are multiplied: a factor counts by its triangular part.

    Args:
        writer_in: [..., d, Dv].
        writer_out: [..., Dv, d].
        reader_in: [d, D].
        reader_out: [D, d].

    Returns:
        From 0 to 1, [...]; 0 where a circuit is 0.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.composition import composition
        >>> eye = torch.eye(4)
        >>> composition(eye[:, :1], eye[:1], eye[:, :1], eye[:1])
        tensor(1.)
        >>> composition(eye[:, :1], eye[:1], eye[:, 1:2], eye[1:2])
        tensor(0.)
    """
    before = torch.linalg.qr(writer_in, mode="r").R
    after = torch.linalg.qr(reader_out.mT, mode="r").R.mT
    product = torch.linalg.matrix_norm(before @ (writer_out @ reader_in) @ after)
    writer = torch.linalg.matrix_norm(before @ writer_out)
    reader = torch.linalg.matrix_norm(reader_in @ after)
    sizes = writer * reader
    return torch.where(sizes > 0, product / sizes, 0.0)


def random_composition(size: int) -> float:
    """Composition of two unrelated circuits: 1 / sqrt(d).

    If a random rotation of the `size` dimensions stands between the circuits, the mean of the
    squared score is exactly 1 / d, whatever the circuits are.

    Example:
        >>> from attnwidget.kernels.composition import random_composition
        >>> random_composition(64)
        0.125
    """
    return float(size**-0.5)
