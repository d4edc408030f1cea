"""The matrix of a linear function, found by what the function makes of unit vectors."""

from __future__ import annotations

import torch
from torch import Tensor

_CHECKED = 4


def unit_probes(size: int) -> Tensor:
    """Return the vectors that `linear_map` needs the results of, [size + 5, size].

    Zero, the unit vectors, and four random vectors that check whether the function is linear.

    Example:
        >>> from attnwidget.kernels.linear_maps import unit_probes
        >>> unit_probes(3)[:4].tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    generator = torch.Generator(device="cpu").manual_seed(0)
    random = torch.randn(_CHECKED, size, generator=generator, dtype=torch.float32, device="cpu")
    return torch.cat(
        [
            torch.zeros(1, size, dtype=torch.float32, device="cpu"),
            torch.eye(size, dtype=torch.float32, device="cpu"),
            random,
        ]
    )


def linear_map(results: Tensor, tolerance: float) -> tuple[Tensor, Tensor] | None:
    """Return the matrix and the bias of an affine function, [..., size, D] and [..., D].

    None if the function is not affine.

    Args:
        results: What the function made of `unit_probes`, [..., size + 5, D].
        tolerance: Differences that rounding explains, as a share of the largest result.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.linear_maps import linear_map, unit_probes
        >>> linear_map(2 * unit_probes(2) + 1, 1e-5)
        (tensor([[2., 0.],
                [0., 2.]]), tensor([1., 1.]))
        >>> linear_map(unit_probes(2) ** 2, 1e-5) is None
        True
    """
    size = results.shape[-2] - 1 - _CHECKED
    bias = results[..., :1, :]
    matrix = results[..., 1 : size + 1, :] - bias
    random = unit_probes(size)[-_CHECKED:].to(results)
    seen = results[..., -_CHECKED:, :]
    difference = (random @ matrix + bias - seen).abs().max()
    if float(difference) > tolerance * float(seen.abs().max()):
        return None
    return matrix, bias.squeeze(-2)
