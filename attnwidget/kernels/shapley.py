"""Shapley values: a change split among parts that are swapped in every order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from torch import Tensor

#: For each part, whether it is swapped.
Swapped = tuple[bool, ...]


def shapley_values(values: Mapping[Swapped, Tensor], n_parts: int) -> list[Tensor]:
    """Return the change that each part makes, averaged over all orders of swapping the parts.

    The changes sum to the value with all parts swapped, minus the value with none (Shapley 1953).

    Args:
        values: Value for each set of swapped parts, all of the same shape.
        n_parts: Number of parts.

    Example:
        >>> import torch
        >>> values = {(False, False): torch.tensor(0.0), (True, False): torch.tensor(1.0)}
        >>> values |= {(False, True): torch.tensor(2.0), (True, True): torch.tensor(6.0)}
        >>> shapley_values(values, 2)
        [tensor(2.5000), tensor(3.5000)]
    """
    orders = list(permutations(range(n_parts)))
    none_swapped = tuple(False for _ in range(n_parts))
    changes = [values[none_swapped] * 0.0 for _ in range(n_parts)]
    for order in orders:
        swapped = none_swapped
        for part in order:
            with_part = tuple(is_swapped or i == part for i, is_swapped in enumerate(swapped))
            changes[part] = changes[part] + (values[with_part] - values[swapped]) / len(orders)
            swapped = with_part
    return changes
