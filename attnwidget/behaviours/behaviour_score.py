"""The scores of all heads for one behaviour, with control, interval and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from attnwidget.behaviours.link_rule import LinkRule
from attnwidget.kernels.arrays import Float64Array

_FEWEST = 3
#: Smallest score minus control of a name. Below it, rounding decides.
LEAST_EXCESS = 0.05


@dataclass(frozen=True, eq=False)
class BehaviourScore:
    """Score and control of every head for one behaviour.

    The first half of the data gives all arrays but `held_out` and `held_out_control`, which come
    from the second half. All arrays are float64 [L, H].

    Attributes:
        name: Name of the behaviour.
        description: Action of the named heads.
        source: The paper or the program with the definition.
        control_name: The control in words.
        score: The score, usually 0 to 1.
        control: The score of the control.
        low: Lower end of the 95 % interval of score minus control.
        high: Its upper end.
        p: One-sided p-value that score minus control is not above 0, without correction; NaN for
            a behaviour that names no head.
        n: Number of units: texts, words or names.
        unit: Name of the units.
        held_out: The score in the other half of the data; NaN without such a half.
        held_out_control: The control there.
        held_out_n: Number of units there.
        auc: Probability that a predicted link is heavier than a different key of the same query, in
            the held-out half; NaN for behaviours without predicted links.
        rule: The rule that predicts the links, or None.
        corpus: Texts in which the rule applies: "segments", "treebank" or "documents"; "" without a
            rule.
        resting: Whether heads do this where their function does not apply.
        random: Largest score minus control of a head with random weights; NaN if no such model was
            read.
        writes: Whether the behaviour is about the output of heads, and not about their attention.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> score = demo_atlas().table.scores[1]
        >>> score.name, score.unit, score.score.shape
        ('previous token', 'text', (6, 12))
        >>> bool(score.score[0, 2] > score.control[0, 2])
        True
    """

    name: str
    description: str
    source: str
    control_name: str
    score: Float64Array
    control: Float64Array
    low: Float64Array
    high: Float64Array
    p: Float64Array
    n: int
    unit: str
    held_out: Float64Array
    held_out_control: Float64Array
    held_out_n: int
    auc: Float64Array
    rule: LinkRule | None = None
    corpus: str = ""
    resting: bool = False
    random: float = float("nan")
    writes: bool = False

    @property
    def excess(self) -> Float64Array:
        """Score minus control."""
        return self.score - self.control

    @property
    def strength(self) -> Float64Array:
        """Share of the possible excess, at most 1: (score - control) / (1 - control).

        A possible excess below `LEAST_EXCESS` counts as `LEAST_EXCESS`: where the control is almost
        1, the quotient of two rounding errors would be of any size.
        """
        strength: Float64Array = self.excess / np.maximum(1 - self.control, LEAST_EXCESS)
        return np.minimum(strength, 1.0)


def t_interval(
    mean: Float64Array, square: Float64Array, n: int
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the 95 % interval of a mean, and the one-sided p-value of a mean of 0 or less.

    Student's t over n texts, whose differences are taken as independent.

    Args:
        mean: Mean of the differences.
        square: Mean of their squares, of the same shape.
        n: Number of differences; below 3, the interval is infinite and p is 1.

    Returns:
        Low, high and p, of the shape of `mean`.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviours.behaviour_score import t_interval
        >>> differences = np.array([0.2, 0.3, 0.25, 0.35])
        >>> low, high, p = t_interval(differences.mean(), (differences**2).mean(), 4)
        >>> round(float(low), 3), round(float(high), 3), round(float(p), 4)
        (0.172, 0.378, 0.0017)
    """
    mean = np.asarray(mean, np.float64)
    if n < _FEWEST:
        return np.full_like(mean, -np.inf), np.full_like(mean, np.inf), np.ones_like(mean)
    # Rounding leaves a variance of equal differences a little above or below 0.
    variance = np.maximum(np.asarray(square) - mean**2, 1e-18) * n / (n - 1)
    error = np.sqrt(variance / n)
    reach = stats.t.ppf(0.975, n - 1) * error
    return mean - reach, mean + reach, np.asarray(stats.t.sf(mean / error, n - 1))
