"""Number of cells per operation: as many as fit in a CPU cache, and far more on a GPU."""

from __future__ import annotations

import torch

# This number of float32 cells takes 128 MB. On a GPU, every operation costs a kernel launch, and
# the cache is no limit.
_ON_A_GPU = 32 * 1024 * 1024


def cells_at_once(device: torch.device, in_cache: int) -> int:
    """Return the number of cells of maps or vectors for one operation.

    Args:
        device: Device of the tensors.
        in_cache: Number of cells that fit in the CPU cache.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.cells_at_once import cells_at_once
        >>> cells_at_once(torch.device("cpu"), 1024), cells_at_once(torch.device("cuda"), 1024)
        (1024, 33554432)
    """
    return in_cache if device.type == "cpu" else max(in_cache, _ON_A_GPU)
