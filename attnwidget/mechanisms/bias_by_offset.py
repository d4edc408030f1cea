"""Score biases that depend only on the distance: ALiBi and relative positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from attnwidget.capture.tapping.weights_agree import spread_rows

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.tapping.head import Head

# Tolerance for rounding errors, as a share of the largest bias.
_ROUNDING = 1e-5
# Number of queries, spread over the input, whose biases are compared.
_ROWS = 8


@dataclass(frozen=True, eq=False)
class OffsetBias:
    """Bias of one head by the distance from the query back to the key.

    Attributes:
        by_distance: Bias at each distance in the input, minus the bias at distance 0.
        slope: Change per token if the bias is linear on each side (ALiBi), before and after the
            query; None if it is not linear.
    """

    by_distance: dict[int, float]
    slope: tuple[float, float] | None

    def at(self, distance: int) -> float:
        """Return the bias at a distance.

        Raises:
            ValueError: If the input has no pair at this distance, and the bias is not linear.
        """
        if distance in self.by_distance:
            return self.by_distance[distance]
        if self.slope is None:
            low, high = min(self.by_distance), max(self.by_distance)
            raise ValueError(
                f"the bias at distance {distance} is not known: this input shows the relative "
                f"positions {low} to {high}; attend to a longer text"
            )
        before, after = self.slope
        return before * distance if distance >= 0 else after * -distance


def offset_bias(attention: Attention, head: Head) -> OffsetBias | None:
    """Return the bias of a head by distance; None if it depends on more than the distance.

    Only differences within the row of a query matter, so the bias at distance 0 is subtracted
    first.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> offset_bias(attention, attention.head((0, 0))).at(1000)
        0.0
    """
    stack = attention.stacks[head.stack]
    n_query, n_key = len(stack.query), len(stack.key)
    rows = spread_rows(n_query, _ROWS)
    parts = attention.score_parts(head, rows)
    if parts.bias is None:
        return OffsetBias({0: 0.0}, (0.0, 0.0))
    if n_query != n_key:
        return None
    bias = parts.bias
    tolerance = _ROUNDING * max(float(bias.abs().max()), 1e-6)
    low = torch.full((2 * n_key - 1,), torch.inf, dtype=torch.float64, device="cpu")
    high = -low
    for index, row in enumerate(rows):
        is_visible = torch.ones(n_key, dtype=torch.bool, device="cpu")
        if parts.visible is not None:
            is_visible = parts.visible[index]
        if not is_visible[row]:
            return None
        distances = (row - torch.arange(n_key, dtype=torch.long, device="cpu") + n_key - 1)[
            is_visible
        ]
        relative = (bias[index] - bias[index, row])[is_visible]
        low[distances] = torch.minimum(low[distances], relative)
        high[distances] = torch.maximum(high[distances], relative)
    has_distance = low.isfinite()
    if float((high - low)[has_distance].max()) > 2 * tolerance:
        return None
    indices = has_distance.nonzero()[:, 0].tolist()
    by_distance = {index - n_key + 1: float(low[index] + high[index]) / 2 for index in indices}
    return OffsetBias(by_distance, _slope(by_distance, tolerance))


def bias_name(attention: Attention, head: Head) -> str:
    """Return the kind of a head's bias: "ALiBi", "relative positions" or "bias"."""
    bias = offset_bias(attention, head)
    if bias is None:
        return "bias"
    return "relative positions" if bias.slope is None else "ALiBi"


def _slope(by_distance: dict[int, float], allowed: float) -> tuple[float, float] | None:
    """Return the slopes before and after the query; None unless the bias is linear there."""
    slopes = []
    for side in (1, -1):
        values = {side * d: value for d, value in by_distance.items() if side * d > 0}
        if len(values) < 3:
            # These are too few distances to decide. A causal mask hides one side completely.
            if values or (side == 1 and len(by_distance) > 1):
                return None
            slopes.append(0.0)
            continue
        farthest = max(values)
        slope = values[farthest] / farthest
        if any(abs(value - slope * d) > 4 * allowed for d, value in values.items()):
            return None
        slopes.append(slope)
    return slopes[0], slopes[1]
