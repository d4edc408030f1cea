"""Names of heads: behaviours whose score exceeds the control after a correction for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviours.behaviour_score import LEAST_EXCESS, BehaviourScore
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import holm


@dataclass(frozen=True, eq=False)
class RankedNames:
    """The behaviours that may name each head, the best first.

    Attributes:
        adjusted: P-values corrected by Holm's rule over all heads and behaviours, [D, L, H].
        significant: Whether a behaviour may name a head, bool [D, L, H].
        order: The behaviours of each head, the best first, int64 [D, L, H].
    """

    adjusted: Float64Array
    significant: NDArray[np.bool_]
    order: NDArray[np.int64]

    def of(self, layer: int, head: int) -> list[int]:
        """Return the behaviours that may name a head, the best first."""
        return [
            int(number)
            for number in self.order[:, layer, head]
            if self.significant[number, layer, head]
        ]


def head_names(
    scores: Sequence[BehaviourScore], *, level: float = 0.05, least: float = 0.25
) -> RankedNames:
    """Return which behaviours name which heads.

    A behaviour may name a head if its score exceeds the control: p after Holm's correction over all
    heads and behaviours is at most `level`, the interval of the excess is above 0, the excess is at
    least 0.05 in both halves of the data, and the strength is at least `least`. The strength is the
    excess as a share of the possible excess. A behaviour without a score in the held-out half names
    no head.

    The strongest behaviour of attention names the head. Copying comes second, because many heads
    copy. Resting behaviours come last.

    Args:
        scores: The D behaviours.
        level: Largest corrected p-value.
        least: Smallest strength. A smaller excess may be significant, and describes no head.
    """
    p = np.stack([score.p for score in scores])  # NaN for behaviours that name no head
    adjusted = holm(p)
    low = np.stack([score.low for score in scores])
    strength = np.stack([score.strength for score in scores])
    excess = np.stack([np.minimum(score.excess, score.held_out_excess) for score in scores])
    with np.errstate(invalid="ignore"):
        significant = (adjusted <= level) & (low > 0) & (strength >= least)
        significant &= excess >= LEAST_EXCESS
    # Strengths are at most 1, so the kinds of behaviours do not mix.
    kind = np.array([2 if score.resting else int(score.writes) for score in scores])
    rank = 2.0 * kind[:, None, None] - strength
    order = np.argsort(np.where(significant, rank, np.inf), axis=0, kind="stable")
    return RankedNames(adjusted, significant, order)
