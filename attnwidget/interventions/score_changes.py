"""Score changes by units of heads: intervals, tests and the results table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import (
    FEWEST_UNITS,
    benjamini_hochberg,
    bootstrap_interval,
    differ,
    paired_interval,
    sign_flip_test,
    smallest_mean_change,
    smallest_share_change,
)

if TYPE_CHECKING:
    import pandas as pd

#: Largest adjusted p-value that counts as significant.
LEVEL = 0.05
# Largest rounding error of a score in float32, as a share of the score or of 1.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class ScoreChanges:
    """Scores of N examples with units of heads changed in turn, and scores without a change.

    This is a part of `Ablation` and `HeadPatches`. All arrays except the scores have the shape
    [...]: [L, H] for heads, [L] for layers, [L, H, Q] for heads at a token. Entries of units that
    were not changed are NaN.

    Attributes:
        scores: Scores with a unit changed, float64 [..., N].
        intact: Scores without a change, float64 [N].
        judged: Whether examples are correct (1) or wrong (0).
        tested: Whether a test makes sense; False for a divergence, which is never negative.
    """

    scores: Float64Array
    intact: Float64Array
    judged: bool
    tested: bool

    @property
    def mean(self) -> Float64Array:
        """Mean score."""
        return self.scores.mean(-1)

    @property
    def difference(self) -> Float64Array:
        """Mean score minus the mean score of the intact model."""
        return self._differences.mean(-1)

    @cached_property
    def interval(self) -> tuple[Float64Array, Float64Array]:
        """95 % interval of the difference, low and high; NaN with fewer than six examples.

        If examples are correct or wrong, this is Bonett and Price's interval for paired shares.
        Otherwise, it is a studentized paired bootstrap over examples.
        """
        differences = self._differences[self._measured]
        n = differences.shape[-1]
        if self.judged and n >= FEWEST_UNITS:
            low, high = paired_interval((differences > 0).sum(-1), (differences < 0).sum(-1), n)
        else:
            low, high = bootstrap_interval(differences)
        return self._placed(low), self._placed(high)

    @property
    def broken(self) -> Float64Array:
        """Number of examples that only the intact model gets right; NaN without right and wrong."""
        return self._count(self._differences < 0)

    @property
    def fixed(self) -> Float64Array:
        """Number of examples that only the intact model gets wrong; NaN without right and wrong."""
        return self._count(self._differences > 0)

    @cached_property
    def p(self) -> Float64Array:
        """Two-sided p-value: exact McNemar test for right and wrong, otherwise sign flips."""
        differences = self._differences[self._measured]
        if not self.tested:
            return np.full(self.scores.shape[:-1], np.nan)
        if self.judged:
            return self._placed(differ((differences < 0).sum(-1), (differences > 0).sum(-1)))
        # The signs of rounding errors are no evidence, and other processors have other ones.
        is_rounding = np.abs(differences) <= _ROUNDING * np.maximum(1.0, np.abs(self.intact))
        return self._placed(sign_flip_test(np.where(is_rounding, 0.0, differences)))

    @cached_property
    def adjusted(self) -> Float64Array:
        """P-values after the correction of Benjamini and Hochberg over all units."""
        return benjamini_hochberg(self.p)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Whether the adjusted p-value is below 0.05."""
        return np.asarray(self.adjusted < LEVEL)

    @cached_property
    def smallest_effect(self) -> Float64Array:
        """Smallest size of a difference that this study could have found significant.

        The correction for all changed units is included: a single unit with an effect needs a p of
        at most 0.05 divided by the number of units. If several units have an effect, slightly
        smaller differences can be significant. If examples are correct or wrong, the number of
        examples that change is that of the unit, or the smallest number that can be significant.
        Otherwise, the standard deviation over examples is that of the unit. Infinite if no
        difference could be significant with so few examples, and NaN for a divergence.
        """
        differences = self._differences[self._measured]
        if not self.tested or not len(differences):
            return np.full(self.scores.shape[:-1], np.nan)
        level = LEVEL / len(differences)
        if self.judged:
            n_changed = (differences != 0).sum(-1)
            return self._placed(smallest_share_change(n_changed, differences.shape[-1], level))
        return self._placed(smallest_mean_change(differences, level))

    @property
    def _differences(self) -> Float64Array:
        return self.scores - self.intact

    @property
    def _measured(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.scores).any(-1))

    def _placed(self, values: Float64Array) -> Float64Array:
        full = np.full(self.scores.shape[:-1], np.nan)
        full[self._measured] = values
        return full

    def _count(self, chosen: NDArray[np.bool_]) -> Float64Array:
        if not self.judged:
            return np.full(self.scores.shape[:-1], np.nan)
        return self._placed(chosen[self._measured].sum(-1).astype(np.float64))


def table_of(changes: ScoreChanges, **further: Float64Array) -> pd.DataFrame:
    """Return one row per changed unit.

    Columns: score (the mean), difference, low, high, the additional columns, p, adjusted.

    Args:
        changes: Score changes.
        **further: Additional columns by name, [...].
    """
    import pandas as pd

    low, high = changes.interval
    columns = {"score": changes.mean, "difference": changes.difference, "low": low, "high": high}
    columns |= {**further, "p": changes.p, "adjusted": changes.adjusted}
    is_measured = changes._measured
    return pd.DataFrame({name: values[is_measured] for name, values in columns.items()})


def table_of_heads(changes: ScoreChanges, **further: Float64Array) -> pd.DataFrame:
    """Return `table_of` with the columns layer and head, and position for heads at a token.

    The column head is empty for whole layers.

    Args:
        changes: Score changes, as in `table_of`.
        **further: Additional columns, as in `table_of`.
    """
    import pandas as pd

    frame = table_of(changes, **further)
    cells = np.argwhere(changes._measured)
    heads = cells[:, 1] if cells.shape[1] > 1 else [pd.NA] * len(cells)
    frame.insert(0, "layer", cells[:, 0])
    frame.insert(1, "head", pd.Series(heads, dtype="Int64"))
    if cells.shape[1] > 2:
        frame.insert(2, "position", cells[:, 2])
    return frame


def are_right_or_wrong(*scores: Float64Array) -> bool:
    """Return whether all scores are 1 or 0, so that examples break or are fixed; ignores NaN."""
    values_flat = np.concatenate([values.ravel() for values in scores])
    return bool(np.isin(values_flat[~np.isnan(values_flat)], (0.0, 1.0)).all())
