"""Comparison of computed attention weights with the model's own weights."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

# Differences that rounding explains, relative to the row's largest weight. In half precision, one
# rounding of a score near 10 changes its weight by 3 %. An absolute limit would accept any error in
# a flat row from a long input.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def weights_agree(computed: Tensor, expected: Tensor) -> Tensor:
    """Return whether two maps [..., Q, K] differ by no more than rounding explains.

    The answer is a bool tensor [] on the device of the maps, so that passes do not wait for a GPU.
    NaN agrees only with NaN.

    Args:
        computed: Weights computed from queries and keys.
        expected: Weights of the model. Their dtype decides how much rounding explains.

    Example:
        >>> import torch
        >>> flat = torch.full((1, 300), 1 / 300)
        >>> weights_agree(flat, flat), weights_agree(flat, flat + 0.001)
        (tensor(True), tensor(False))
    """
    tolerance = _TOLERANCE.get(expected.dtype, 1e-5)
    if computed.shape != expected.shape:
        return torch.zeros((), dtype=torch.bool, device=expected.device)
    computed, expected = computed.float(), expected.float()
    if computed.device.type == "cpu":
        agree = _are_near(computed, expected, tolerance)
        if bool(agree):
            return agree
    same_nans = computed.isnan() == expected.isnan()
    return same_nans.all() & _are_near(computed.nan_to_num(), expected.nan_to_num(), tolerance)


def _are_near(computed: Tensor, expected: Tensor, allowed: float) -> Tensor:
    """Return whether each row differs by a share of its largest weight; False if it has NaN."""
    difference = (computed - expected).abs_().amax(-1)
    return (difference <= allowed * expected.abs().amax(-1)).all()


@lru_cache(maxsize=32)
def spread_row_numbers(n_rows: int, count: int, device: torch.device) -> Tensor:
    """Return `spread_rows` as a tensor, int64 on a device, without a copy for every layer.

    Args:
        n_rows: Number of rows.
        count: Maximum number of row numbers.
        device: Device of the tensor.

    Example:
        >>> import torch
        >>> spread_row_numbers(300, 4, torch.device("cpu"))
        tensor([  0, 100, 199, 299])
    """
    # A later pass with gradients may use the tensor as an index.
    with torch.inference_mode(False):
        return torch.tensor(spread_rows(n_rows, count), dtype=torch.long, device=device)


def spread_rows(n_rows: int, count: int) -> list[int]:
    """Return up to `count` evenly spread row numbers below `n_rows`, with the first and the last.

    Args:
        n_rows: Number of rows.
        count: Maximum number of row numbers.

    Example:
        >>> spread_rows(300, 4)
        [0, 100, 199, 299]
    """
    return sorted(
        {
            round(row)
            for row in torch.linspace(
                0, n_rows - 1, count, dtype=torch.float32, device="cpu"
            ).tolist()
        }
    )
