"""Numbers of a batch that stay on their device until all are added to sums together."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

# Largest number of bytes to collect, so that the numbers occupy little GPU memory.
_MOST_BYTES = 64 * 1024 * 1024


class WaitingNumbers:
    """Numbers on a GPU, and the sums on the CPU to which they will be added.

    A copy from a GPU waits for all work there. All numbers of a batch are therefore copied together
    after its last layer. Numbers on the CPU are added at once.

    Example:
        >>> import numpy as np, torch
        >>> from attnwidget.corpus.waiting_numbers import WaitingNumbers
        >>> sums = np.zeros((2, 3))
        >>> waiting = WaitingNumbers()
        >>> waiting.add(torch.ones(3), sums, 1)
        >>> waiting.read()
        >>> sums
        array([[0., 0., 0.],
               [1., 1., 1.]])
    """

    def __init__(self) -> None:
        self._numbers: list[tuple[Tensor, NDArray[Any], Any]] = []
        self._bytes = 0

    def add(self, numbers: Tensor, sums: NDArray[Any], where: Any) -> None:
        """Add numbers to `sums[where]`, at the latest when `read` is called.

        Args:
            numbers: Numbers of a layer or batch, on any device.
            sums: Array to which the numbers are added.
            where: Index of the numbers in `sums`.
        """
        if numbers.device.type == "cpu":
            sums[where] += numbers.numpy()
            return
        self._numbers.append((numbers.detach(), sums, where))
        self._bytes += numbers.numel() * numbers.element_size()
        if self._bytes > _MOST_BYTES:
            self.read()

    def read(self) -> None:
        """Add all waiting numbers to their sums, in the order of the `add` calls."""
        waiting, self._numbers, self._bytes = self._numbers, [], 0
        copies: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        for numbers, _, _ in waiting:
            copies.setdefault((numbers.device, numbers.dtype), []).append(numbers)
        cpu_values = {
            kind: iter(
                torch.cat([tensor.reshape(-1) for tensor in tensors])
                .cpu()
                .split([tensor.numel() for tensor in tensors])
            )
            for kind, tensors in copies.items()
        }
        for numbers, sums, where in waiting:
            values = next(cpu_values[numbers.device, numbers.dtype]).reshape(numbers.shape)
            sums[where] += values.numpy()
