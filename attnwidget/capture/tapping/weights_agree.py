"""Comparison of computed attention weights with the weights of the model."""

from __future__ import annotations

import torch
from torch import Tensor

# Differences that rounding explains, as a share of the largest weight of the row. In half precision
# one rounding of a score near 10 changes its weight by 3 %. An absolute limit would accept any
# error in a flat row of a long input.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


def weights_agree(computed: Tensor, expected: Tensor) -> bool:
    """Return whether two maps [..., Q, K] differ by no more than rounding explains.

    Args:
        computed: Weights computed from queries and keys.
        expected: Weights of the model. Their dtype decides how much rounding explains.

    NaN agrees only with NaN.

    Example:
        >>> import torch
        >>> flat = torch.full((1, 300), 1 / 300)
        >>> weights_agree(flat, flat), weights_agree(flat, flat + 0.001)
        (True, False)
    """
    allowed = _TOLERANCE.get(expected.dtype, 1e-5)
    if computed.shape != expected.shape:
        return False
    alike = computed.isnan() == expected.isnan()
    computed, expected = computed.float().nan_to_num(), expected.float().nan_to_num()
    difference = (computed - expected).abs().amax(-1, keepdim=True)
    # One answer for both questions, because every answer waits for a GPU.
    return bool((alike & (difference <= allowed * expected.abs().amax(-1, keepdim=True))).all())


def spread_rows(n_rows: int, count: int) -> list[int]:
    """Return up to `count` row numbers below `n_rows`, evenly spread, with the first and the last.

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
