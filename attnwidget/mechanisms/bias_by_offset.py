"""Biases of scores that depend on the distance alone: ALiBi, and relative positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from attnwidget.capture.tapping.weights_agree import spread_rows

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.tapping.head import Head

# Differences that rounding explains, as a share of the largest bias.
_ROUNDING = 1e-5
# Queries, spread over the input, whose biases are compared.
_ROWS = 8


@dataclass(frozen=True, eq=False)
class OffsetBias:
    """A bias of one head by the distance from query back to key.

    Attributes:
        by_distance: Bias at each distance of the input, less the bias of the query's own place.
        slope: Change per token if the bias is linear on each side (ALiBi), before the query and
            after it; None if it is not.
    """

    by_distance: dict[int, float]
    slope: tuple[float, float] | None

    def at(self, distance: int) -> float:
        """Return the bias at a distance.

        Raises:
            ValueError: The input has no pair at this distance, and the bias is not linear.
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

    Only differences within the row of a query count, so the bias at the query's own place is taken
    off first.

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
    allowed = _ROUNDING * max(float(bias.abs().max()), 1e-6)
    low = torch.full((2 * n_key - 1,), torch.inf, dtype=torch.float64, device="cpu")
    high = -low
    for place, row in enumerate(rows):
        seen = torch.ones(n_key, dtype=torch.bool, device="cpu")
        if parts.visible is not None:
            seen = parts.visible[place]
        if not seen[row]:
            return None
        distances = (row - torch.arange(n_key, dtype=torch.long, device="cpu") + n_key - 1)[seen]
        relative = (bias[place] - bias[place, row])[seen]
        low[distances] = torch.minimum(low[distances], relative)
        high[distances] = torch.maximum(high[distances], relative)
    known = low.isfinite()
    if float((high - low)[known].max()) > 2 * allowed:
        return None
    places = known.nonzero()[:, 0].tolist()
    by_distance = {place - n_key + 1: float(low[place] + high[place]) / 2 for place in places}
    return OffsetBias(by_distance, _slope(by_distance, allowed))


def bias_name(attention: Attention, head: Head) -> str:
    """Return the kind of the bias of a head: "ALiBi", "relative positions" or "bias"."""
    bias = offset_bias(attention, head)
    if bias is None:
        return "bias"
    return "relative positions" if bias.slope is None else "ALiBi"


def _slope(by_distance: dict[int, float], allowed: float) -> tuple[float, float] | None:
    """Return the slopes before and after the query if the bias is linear on both sides."""
    slopes = []
    for side in (1, -1):
        values = {side * d: value for d, value in by_distance.items() if side * d > 0}
        if len(values) < 3:
            # Too few distances to tell; a causal mask hides one side altogether.
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
