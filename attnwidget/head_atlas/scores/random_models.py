"""Scores of behaviours in models with random weights, which a name must exceed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from attnwidget.kernels.arrays import Float64Array


@dataclass(frozen=True, eq=False)
class RandomHeads:
    """Excess of the heads of models with random weights, for one behaviour.

    Attributes:
        excess: Score minus control of each random head, [N].
    """

    excess: Float64Array

    @property
    def largest(self) -> float:
        """The largest excess of a random head."""
        return float(self.excess.max())

    def p_values(self, excess: Float64Array) -> Float64Array:
        """Return the probability that a random head has at least this excess.

        The excess of random heads is taken as normally distributed. An excess that a random head
        reached has the p-value 1.

        Example:
            >>> import numpy as np
            >>> from attnwidget.head_atlas.scores.random_models import RandomHeads
            >>> heads = RandomHeads(np.array([-0.01, 0.0, 0.01]))
            >>> heads.p_values(np.array([0.005, 0.2])).round(3).tolist()
            [1.0, 0.0]
        """
        spread = float(self.excess.std(ddof=1)) * np.sqrt(1 + 1 / len(self.excess))
        distance = (excess - self.excess.mean()) / max(spread, 1e-12)
        p: Float64Array = np.where(excess > self.largest, stats.norm.sf(distance), 1.0)
        return np.where(np.isnan(excess), np.nan, p)
