"""Results of ablation: scores, confidence of the differences, table and chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.significance import (
    FEWEST_UNITS,
    benjamini_hochberg,
    bootstrap_interval,
    differ,
    paired_interval,
    sign_flip_test,
)
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_NAMES = {
    "loss": "Loss",
    "kl": "Divergence",
    "accuracy": "Accuracy",
    "minimal pair": "Pairs right",
    "minimal pair, all words": "Pairs right by all words",
}
# Names of the differences, by score.
_UNITS = {
    "loss": "nats",
    "kl": "nats",
    "accuracy": "share right",
    "minimal pair": "share right",
    "minimal pair, all words": "share right",
}


@dataclass(frozen=True, eq=False, repr=False)
class Without:
    """Scores of N examples with heads off and in the intact model. A part of `Ablation`.

    All arrays except the scores have the shape [...]: [L, H] for heads, [L] for layers. Entries of
    heads and layers that were not switched off are NaN.

    Attributes:
        scores: float64 [..., N].
        intact: float64 [N].
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
        """Two-sided p-value: exact McNemar test of right and wrong, else randomised signs."""
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


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(HeadResult):
    """A model's score without each head, or without all heads of a layer. Made by `ablate`.

    `of_heads` and `of_layers` have the numbers: `mean`, `difference` (off minus intact), its
    `interval`, `broken` and `fixed` examples, `p` and `adjusted`, [L, H] and [L].

    Attributes:
        score: "accuracy", "loss", "kl", "minimal pair", "minimal pair, all words", or the name of a
            function.
        method: Replacement of the heads' outputs.
        intact: Score of each example in the intact model, float64 [N].
        head_scores: Scores with one head off, float64 [L, H, N]; NaN for heads that were not
            switched off.
        layer_scores: Scores with all heads of a layer off, float64 [L, N]; NaN for layers that were
            not switched off.
        examples: The N examples with scores.
        complete: False if the study was interrupted before the last example.
        note: The reason why each head took a pass of the whole model, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import MinimalPair, ablate, load_model
        >>> pairs = [MinimalPair("The girl washed herself.", "The girl washed himself.")]
        >>> heads = [(5, 8), (2, 3)]
        >>> found = ablate(load_model(), pairs, score="minimal pair", heads=heads, progress=False)
        >>> found.intact, found.of_heads.difference.shape
        (array([1.]), (6, 12))
    """

    score: str
    method: str
    intact: Float64Array
    head_scores: Float64Array
    layer_scores: Float64Array
    examples: tuple[Any, ...]

    @cached_property
    def of_heads(self) -> Without:
        """Numbers with one head off, [L, H]."""
        return Without(self.head_scores, self.intact, self.judged, self.score != "kl")

    @cached_property
    def of_layers(self) -> Without:
        """Numbers with all heads of one layer off, [L]."""
        return Without(self.layer_scores, self.intact, self.judged, self.score != "kl")

    @property
    def judged(self) -> bool:
        """Whether the score is 1 or 0 for every example, so that examples break or are fixed."""
        all_scores = [self.intact.ravel(), self.head_scores.ravel(), self.layer_scores.ravel()]
        drawn = np.concatenate(all_scores)
        return bool(np.isin(drawn[~np.isnan(drawn)], (0.0, 1.0)).all())

    def heads(self) -> HeadMetrics:
        """Return the difference of each head: float64 [L, H] by title; {} for whole layers only."""
        if np.isnan(self.head_scores).all():
            return {}
        return {f"change of {self.score}": self.of_heads.difference}

    def to_frame(self) -> pd.DataFrame:
        """Return a row per head, then a row per whole layer with an empty column `head`.

        Columns: layer, head, score (mean), difference, low, high, broken, fixed, p, adjusted.
        `attrs` has the "model", the "score", the "method", the "intact" mean and "n" examples.
        """
        import pandas as pd

        frames = []
        for effects in (self.of_heads, self.of_layers):
            places = np.argwhere(effects._measured)
            low, high = effects.interval
            columns = {
                "score": effects.mean,
                "difference": effects.difference,
                "low": low,
                "high": high,
            }
            columns |= {
                name: getattr(effects, name) for name in ("broken", "fixed", "p", "adjusted")
            }
            frame = pd.DataFrame(
                {name: value[effects._measured] for name, value in columns.items()}
            )
            frame.insert(0, "layer", places[:, 0])
            heads = places[:, 1] if places.shape[1] > 1 else [pd.NA] * len(places)
            frame.insert(1, "head", pd.Series(heads, dtype="Int64"))
            frames.append(frame.astype({"broken": "Int64", "fixed": "Int64"}))
        table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
        table.attrs |= {"model": self.model_name, "score": self.score, "method": self.method}
        table.attrs |= {"intact": float(self.intact.mean()), "n": len(self.intact)}
        return table

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the differences by layer and head, with a dot where adjusted p is below 0.05.

        The last column has whole layers (Kovaleva et al. 2019, figures 8 and 9).

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        layers = None if np.isnan(self.layer_scores).all() else self.of_layers.difference
        tested = "; dots: adjusted p < 0.05" if self.score != "kl" else ""
        name = _NAMES.get(self.score, self.score)
        return head_heatmap(
            self.of_heads.difference,
            title=f"{name} without each head ({self.method}): {self.model_name}\n"
            f"intact {self.intact.mean():.3g}, {counted(len(self.intact), 'example')}{tested}",
            value_title=", ".join(
                filter(None, [f"change of {self.score}", _UNITS.get(self.score, "")])
            ),
            layers=layers,
            marked=self.of_heads.adjusted < 0.05,
            layers_marked=self.of_layers.adjusted < 0.05,
            diverging=True,
            width=width,
        )

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        note = f"; {self.note}" if self.note else ""
        return (
            f"Ablation({self.model_name}, {self.method}, {counted(len(self.intact), 'example')}"
            f"{stopped}: {self.score} {self.intact.mean():.3g} intact, "
            f"{self._range()}{note})"
        )

    def _range(self) -> str:
        heads = self.of_heads if self.heads() else self.of_layers
        what = "a head" if self.heads() else "a layer"
        return f"{np.nanmin(heads.mean):.3g} to {np.nanmax(heads.mean):.3g} without {what}"
