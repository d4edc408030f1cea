"""How much is computed at a time: what a processor's cache holds, or far more on a GPU."""

from __future__ import annotations

import torch

# 128 MB of float32. On a GPU every operation costs a launch, and its cache is no limit.
_ON_A_GPU = 32 * 1024 * 1024


def cells_at_once(device: torch.device, in_cache: int) -> int:
    """Return the number of cells of maps or vectors that one operation works on.

    Args:
        device: The device of the tensors.
        in_cache: The number on the CPU, whose cache should hold the cells.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.cells_at_once import cells_at_once
        >>> cells_at_once(torch.device("cpu"), 1024), cells_at_once(torch.device("cuda"), 1024)
        (1024, 33554432)
    """
    return in_cache if device.type == "cpu" else max(in_cache, _ON_A_GPU)
