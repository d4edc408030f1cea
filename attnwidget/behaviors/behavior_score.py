"""Scores of all heads for one behavior, with control, interval and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import better_than, paired_interval, wilson_interval
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    from attnwidget.behaviors.behavior import Behavior
    from attnwidget.behaviors.random_heads import RandomHeads

_FEWEST = 3
#: Smallest excess (score minus control) that names a head, in each half of the data. Smaller
#: differences may be rounding errors.
LEAST_EXCESS = 0.05


class HalfScore(NamedTuple):
    """Score and control of every head in one half of the data.

    Attributes:
        score: Score, float64 [L, H]; NaN for heads without attention.
        control: Score of the control, [L, H].
        n: Number of texts, words or names.
    """

    score: Float64Array
    control: Float64Array
    n: int

    @classmethod
    def of_inputs(cls, numbers: Float64Array) -> HalfScore:
        """Return the mean score and control over N inputs, [2, L, H, N]."""
        score, control = numbers.mean(-1)
        return cls(score, control, numbers.shape[-1])


class ExcessTest(NamedTuple):
    """Test that score minus control is above 0, for each head.

    Attributes:
        low: Lower end of the 95 % interval of score minus control, float64 [L, H].
        high: Upper end of the interval, [L, H].
        p: One-sided p-value that score minus control is not above 0, without correction, [L, H].
    """

    low: Float64Array
    high: Float64Array
    p: Float64Array


@dataclass(frozen=True, eq=False, repr=False)
class BehaviorScore:
    """Score and control of each head for one behavior.

    All arrays are computed on the first half of the data, except `held_out` and
    `held_out_control`, which use the second half. All arrays are float64 [L, H].

    Attributes:
        name: Name of the behavior.
        description: Action of the heads with this name.
        source: Paper or program with the definition.
        control_name: Description of the control.
        score: Score, usually 0 to 1.
        control: Score of the control.
        low: Lower end of the 95 % interval of score minus control.
        high: Upper end of the interval.
        p: One-sided p-value that score minus control is not above 0, without correction; NaN for
            a behavior that does not name heads.
        n: Number of units: texts, words or names.
        unit: Name of the units.
        held_out: Score in the held-out half of the data; NaN if there is no such half.
        held_out_control: Control in the held-out half.
        held_out_n: Number of units in the held-out half.
        auc: Probability that a predicted link has more weight than another key of the same query,
            in the held-out half; NaN for behaviors without predicted links.
        rule: Rule that predicts the links, or None.
        corpus: Corpus to which the rule applies: "segments", "treebank" or "documents"; "" without
            a rule.
        resting: Whether heads fall back on this behavior if their function does not apply.
        random: Largest score minus control of a head with random weights; NaN if no such model was
            measured.
        writes: Whether the behavior describes the output of heads instead of their attention.

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

    def __repr__(self) -> str:
        size = "×".join(map(str, self.score.shape))
        n_units = counted(self.n, self.unit)
        return f"BehaviorScore({self.name!r}, {self.description}: {size} heads, {n_units})"

    @classmethod
    def from_halves(
        cls,
        behavior: Behavior,
        first: HalfScore,
        held_out: HalfScore,
        test: ExcessTest,
        *,
        control_name: str,
        unit: str,
        name: str = "",
        description: str = "",
        source: str = "",
        auc: Float64Array | None = None,
        rule: LinkRule | None = None,
        corpus: str = "",
        random: RandomHeads | None = None,
        writes: bool = False,
    ) -> BehaviorScore:
        """Return the scores of a behavior from both halves of the data.

        The p-value is NaN for heads without a score, and for all heads if the behavior does not
        name heads. With `random`, a p-value is at least the probability of the same excess among
        heads with random weights.

        Args:
            behavior: Behavior, or the study that scores it.
            first: Half of the data that scores heads.
            held_out: Held-out half.
            test: Test of the first half.
            control_name: Description of the control.
            unit: Name of the counted units.
            name: Name of the behavior; "" = the name of `behavior`.
            description: Action of the heads with this name; "" = the description of `behavior`.
            source: Paper or program with the definition; "" = the source of `behavior`.
            auc: Array as in the class; None for a behavior without predicted links.
            rule: Rule that predicts the links, or None.
            corpus: Corpus to which the rule applies.
            random: Heads with random weights, if they were measured.
            writes: Whether the behavior describes the output of heads.
        """
        unscored = np.isnan(first.score) | (not behavior.names_heads)
        p = np.where(unscored, np.nan, test.p)
        if random is not None:
            p = np.maximum(p, random.p_values(first.score, first.control))
        return cls(
            name=name or behavior.name,
            description=description or behavior.description,
            source=source or behavior.source,
            control_name=control_name,
            score=first.score,
            control=first.control,
            low=test.low,
            high=test.high,
            p=p,
            n=first.n,
            unit=unit,
            held_out=held_out.score,
            held_out_control=held_out.control,
            held_out_n=held_out.n,
            auc=np.full(first.score.shape, np.nan) if auc is None else auc,
            rule=rule,
            corpus=corpus,
            resting=behavior.resting,
            random=float("nan") if random is None else random.largest,
            writes=writes,
        )

    @property
    def excess(self) -> Float64Array:
        """Score minus control."""
        return self.score - self.control

    @property
    def held_out_excess(self) -> Float64Array:
        """Score minus control in the held-out half."""
        return self.held_out - self.held_out_control

    @property
    def strength(self) -> Float64Array:
        """Share of the possible excess, at most 1: (score - control) / (1 - control).

        A possible excess below `LEAST_EXCESS` counts as `LEAST_EXCESS`. If the control is almost 1,
        the score would otherwise be a quotient of two rounding errors.
        """
        strength: Float64Array = self.excess / np.maximum(1 - self.control, LEAST_EXCESS)
        return np.minimum(strength, 1.0)


def t_interval(mean: Float64Array, square: Float64Array, n: int) -> ExcessTest:
    """Return the 95 % interval of a mean, and the one-sided p-value of a mean of 0 or less.

    The test is Student's t over n differences, which are treated as independent.

    Args:
        mean: Mean of the differences.
        square: Mean of the squared differences, of the same shape.
        n: Number of differences; below 3, the interval is infinite and p is 1.

    Returns:
        Low, high and p, of the shape of `mean`.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.behavior_score import t_interval
        >>> differences = np.array([0.2, 0.3, 0.25, 0.35])
        >>> low, high, p = t_interval(differences.mean(), (differences**2).mean(), 4)
        >>> round(float(low), 3), round(float(high), 3), round(float(p), 4)
        (0.172, 0.378, 0.0017)
    """
    mean = np.asarray(mean, np.float64)
    if n < _FEWEST:
        infinite = np.full_like(mean, np.inf)
        return ExcessTest(-infinite, infinite, np.ones_like(mean))
    # The variance of equal differences is a little above or below 0, because of rounding.
    variance = np.maximum(np.asarray(square) - mean**2, 1e-18) * n / (n - 1)
    error = np.sqrt(variance / n)
    margin = scipy.stats.t.ppf(0.975, n - 1) * error
    p = np.asarray(scipy.stats.t.sf(mean / error, n - 1))
    return ExcessTest(mean - margin, mean + margin, p)


def t_test(numbers: Float64Array) -> ExcessTest:
    """Return the t-test of score minus control over inputs.

    Args:
        numbers: Score and control of each of N inputs, [2, ..., N].

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.behavior_score import t_test
        >>> test = t_test(np.array([[0.3, 0.4, 0.35, 0.45], [0.1, 0.1, 0.1, 0.1]]))
        >>> round(float(test.low), 3), round(float(test.p), 4)
        (0.172, 0.0017)
    """
    differences = numbers[0] - numbers[1]
    n = differences.shape[-1]
    return t_interval(differences.mean(-1), (differences**2).mean(-1), n)


def paired_test(heads: NDArray[np.bool_], rule: NDArray[np.bool_]) -> ExcessTest:
    """Return McNemar's exact test that heads are correct more often than a rule.

    Args:
        heads: Whether each head is correct, per word, [N, L, H].
        rule: Whether the rule is correct, [N, 1, 1].

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.behavior_score import paired_test
        >>> rule = np.zeros((9, 1, 1), bool)
        >>> float(paired_test(~rule, rule).p[0, 0])
        0.001953125
    """
    only_head = (heads & ~rule).sum(0)
    only_rule = (rule & ~heads).sum(0)
    low, high = paired_interval(only_head.astype(float), only_rule.astype(float), len(heads))
    return ExcessTest(low, high, better_than(only_head, only_rule).astype(float))


def binomial_test(
    score: Float64Array, control: Float64Array, n: int, *, chance: float
) -> ExcessTest:
    """Return the binomial test that the success rates over n trials exceed a control.

    Args:
        score: Share of trials that each head passes, [L, H].
        control: Expected share, [L, H].
        n: Number of trials.
        chance: Smallest expected share.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.behavior_score import binomial_test
        >>> test = binomial_test(np.array([[0.9]]), np.array([[0.5]]), 10, chance=0.1)
        >>> round(float(test.low[0, 0]), 3), round(float(test.p[0, 0]), 4)
        (0.096, 0.0107)
    """
    hits = np.nan_to_num(np.rint(score * n))
    low, high = wilson_interval(hits, n)
    expected = np.nan_to_num(np.clip(control, chance, 1.0))
    return ExcessTest(low - control, high - control, scipy.stats.binom.sf(hits - 1, n, expected))
