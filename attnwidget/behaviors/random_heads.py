"""Behavior scores in models with random weights, which a named head must exceed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from attnwidget.kernels.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class RandomHeads:
    """Score and control of heads in models with random weights, for one behavior.

    Attributes:
        score: Score of each random head, [N].
        control: Control of each random head, [N].
    """

    score: Float64Array
    control: Float64Array

    @classmethod
    def from_models(cls, models: Sequence[tuple[Float64Array, Float64Array]]) -> RandomHeads | None:
        """Return the heads of several models; None if there are fewer than two heads.

        `models` has score and control of all heads per model, NaN for heads without a score.
        """
        score, control = (
            np.concatenate([model[side].ravel() for model in models] or [np.zeros(0)])
            for side in range(2)
        )
        has_score = ~np.isnan(score - control)
        return cls(score[has_score], control[has_score]) if has_score.sum() > 1 else None

    @property
    def largest(self) -> float:
        """Largest excess of a random head."""
        return float((self.score - self.control).max())

    def p_values(self, score: Float64Array, control: Float64Array) -> Float64Array:
        """Return the probability that a random head has at least this excess.

        The excess of sharp random heads has a long tail: most barely attend to a kind of token, and
        some attend to it strongly. The difference between the cube roots of score and control is
        closer to a normal distribution (Wilson and Hilferty 1931), but is too large if the control
        is almost 0. The p-value comes from a prediction interval (Student's t), for the excess or
        for this difference, whichever gives the larger p-value. An excess that a random head
        reached has the p-value 1.

        Example:
            >>> import numpy as np
            >>> from attnwidget.behaviors.random_heads import RandomHeads
            >>> heads = RandomHeads(np.array([0.1, 0.12, 0.13]), np.full(3, 0.12))
            >>> heads.p_values(np.array([0.125, 0.9]), np.full(2, 0.12)).round(4).tolist()
            [1.0, 0.0014]
        """
        excess = score - control
        distances = [
            _distance(excess, self.score - self.control),
            _distance(
                np.cbrt(score) - np.cbrt(control), np.cbrt(self.score) - np.cbrt(self.control)
            ),
        ]
        tail = scipy.stats.t.sf(np.min(distances, axis=0), len(self.score) - 1)
        p: Float64Array = np.where(excess > self.largest, tail, 1.0)
        return np.where(np.isnan(excess), np.nan, p)


def _distance(value: Float64Array, random: Float64Array) -> Float64Array:
    """Return the distance of a value above random values, in standard errors of a prediction."""
    spread = float(random.std(ddof=1)) * np.sqrt(1 + 1 / len(random))
    distance: Float64Array = (value - random.mean()) / max(spread, 1e-12)
    return distance
