"""Changes of a score by units of heads: intervals, tests and the table of their results."""

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
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ScoreChanges:
    """Scores of N examples with units of heads changed in turn, beside scores without a change.

    A part of `Ablation` and `HeadPatches`. All arrays except the scores have the shape [...]:
    [L, H] for heads, [L] for layers, [L, H, Q] for heads at a token. Entries of units that were not
    changed are NaN.

    Attributes:
        scores: float64 [..., N], with a unit changed.
        intact: float64 [N], without a change.
        judged: Whether examples are right (1) or wrong (0).
        tested: Whether a test makes sense; False for a divergence, which is never negative.
    """

    scores: Float64Array
    intact: Float64Array
    judged: bool
    tested: bool

    @property
    def mean(self) -> Float64Array:
        """The mean score."""
        return self.scores.mean(-1)

    @property
    def difference(self) -> Float64Array:
        """The mean score minus the mean score of the intact model."""
        return self._differences.mean(-1)

    @cached_property
    def interval(self) -> tuple[Float64Array, Float64Array]:
        """Low and high of the difference, 95 %; NaN with fewer than six examples.

        Bonett and Price's interval of paired shares for right and wrong, else a studentised paired
        bootstrap over examples.
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
        """Two-sided p-value: exact McNemar test of right and wrong, else randomized signs."""
        measured = self._differences[self._measured]
        if not self.tested:
            return np.full(self.scores.shape[:-1], np.nan)
        if self.judged:
            return self._placed(differ((measured < 0).sum(-1), (measured > 0).sum(-1)))
        return self._placed(sign_flip_test(measured))

    @cached_property
    def adjusted(self) -> Float64Array:
        """P-values corrected over all by Benjamini and Hochberg's rule."""
        return benjamini_hochberg(self.p)

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
    """Return one row per unit that was changed.

    Columns: score (the mean), difference, low, high, the further columns, p, adjusted.

    Args:
        changes: The changes of the score.
        **further: Further columns by name, [...].
    """
    import pandas as pd

    low, high = changes.interval
    columns = {"score": changes.mean, "difference": changes.difference, "low": low, "high": high}
    columns |= {**further, "p": changes.p, "adjusted": changes.adjusted}
    measured = changes._measured
    return pd.DataFrame({name: values[measured] for name, values in columns.items()})


def table_of_heads(changes: ScoreChanges, **further: Float64Array) -> pd.DataFrame:
    """Return `table_of` with the columns layer and head, and position for heads at a token.

    The column head is empty for whole layers.

    Args:
        changes: As in `table_of`.
        **further: As in `table_of`.
    """
    import pandas as pd

    frame = table_of(changes, **further)
    places = np.argwhere(changes._measured)
    heads = places[:, 1] if places.shape[1] > 1 else [pd.NA] * len(places)
    frame.insert(0, "layer", places[:, 0])
    frame.insert(1, "head", pd.Series(heads, dtype="Int64"))
    if places.shape[1] > 2:
        frame.insert(2, "position", places[:, 2])
    return frame


def are_right_or_wrong(*scores: Float64Array) -> bool:
    """Return whether all scores are 1 or 0, so that examples break or are fixed; NaN is ignored."""
    drawn = np.concatenate([values.ravel() for values in scores])
    return bool(np.isin(drawn[~np.isnan(drawn)], (0.0, 1.0)).all())
