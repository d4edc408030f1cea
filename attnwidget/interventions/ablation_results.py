"""Results of ablation: scores, confidence of the differences, table and chart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.corpus.results import HeadMetrics, HeadResult, in_stack
from attnwidget.interventions.score_changes import (
    LEVEL,
    ScoreChanges,
    are_right_or_wrong,
    table_of_heads,
)
from attnwidget.kernels.arrays import Float64Array
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
_PAIRS = "change of the share of pairs right (below 0: worse without the head)"
# Names of the scores in sentences, and units of scores that are not shares.
_QUANTITIES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "minimal pair": "share of pairs right",
    "minimal pair, all words": "share of pairs right",
}
_UNITS = {"loss": " nats"}
# Names of the differences, by score.
_CHANGES = {
    "loss": "change of the loss in nats (above 0: worse without the head)",
    "kl": "change of the answers in nats (0: none)",
    "accuracy": "change of the share right (below 0: worse without the head)",
    "minimal pair": _PAIRS,
    "minimal pair, all words": _PAIRS,
}


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(HeadResult):
    """Model score without each head, or without all heads of a layer. Made by `ablate`.

    `of_heads` and `of_layers` have the statistics: `mean`, `difference` (disabled minus intact),
    its `interval`, `broken` and `fixed` examples, `p`, `adjusted`, `significant` and
    `smallest_effect`, [L, H] and [L]. `finding` states the finding in a sentence, with the smallest
    change that could have been significant.

    Attributes:
        score: Name of the score: "accuracy", "loss", "kl", "minimal pair", "minimal pair, all
            words", or the name of a function.
        method: Replacement of the heads' outputs.
        intact: Score of each example in the intact model, float64 [N].
        head_scores: Scores with one head disabled, float64 [L, H, N]; NaN for heads that were not
            disabled.
        layer_scores: Scores with all heads of a layer disabled, float64 [L, N]; NaN for layers that
            were not disabled.
        examples: Examples with scores (N).
        stack: Stack of the heads.
        complete: False if the study was interrupted before the last example.
        note: Reason why each head took a complete pass of the model, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import MinimalPair, ablate, load_model
        >>> pairs = [MinimalPair("The girl washed herself.", "The girl washed himself.")]
        >>> heads = [(5, 8), (2, 3)]
        >>> found = ablate(load_model(), pairs, scoring="minimal pair", heads=heads, progress=False)
        >>> found.intact, found.of_heads.difference.shape
        (array([1.]), (6, 12))
    """

    score: str
    method: str
    intact: Float64Array
    head_scores: Float64Array
    layer_scores: Float64Array
    examples: tuple[Any, ...]
    stack: str = "self"

    @cached_property
    def of_heads(self) -> ScoreChanges:
        """Score changes with one head disabled, [L, H]."""
        return ScoreChanges(self.head_scores, self.intact, self.judged, self.score != "kl")

    @cached_property
    def of_layers(self) -> ScoreChanges:
        """Score changes with all heads of one layer disabled, [L]."""
        return ScoreChanges(self.layer_scores, self.intact, self.judged, self.score != "kl")

    @property
    def judged(self) -> bool:
        """Whether the score is 1 or 0 for every example, so that examples break or are fixed."""
        return are_right_or_wrong(self.intact, self.head_scores, self.layer_scores)

    @property
    def smallest_effect(self) -> float:
        """Smallest change by a typical head that this study could have found significant.

        This is the median over heads of `of_heads.smallest_effect`, or over layers if only layers
        were disabled. Infinite if the examples are too few for any change; NaN for a divergence.
        """
        return _typical(self.of_heads if self.heads() else self.of_layers)

    @property
    def finding(self) -> str:
        """Finding in one sentence, for titles and reports.

        It names the number of heads with a significant change, after the correction for all heads.
        If there is none, it also states the smallest change that could have been significant. ""
        for a divergence, which is not tested.
        """
        parts = [
            _finding(changes, unit, self.score, self.judged)
            for changes, unit in ((self.of_heads, "head"), (self.of_layers, "layer"))
            if not np.isnan(changes.scores).all()
        ]
        return " ".join(filter(None, parts)) if self.score != "kl" else ""

    def heads(self) -> HeadMetrics:
        """Return the difference of each head: float64 [L, H] by title; {} for layers only."""
        if np.isnan(self.head_scores).all():
            return {}
        return {f"change of {self.score}": self.of_heads.difference}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head, then one row per layer with an empty column `head`.

        Columns: layer, head, score (mean), difference, low, high, broken, fixed, p, adjusted.
        `attrs` has the "model", the "score", the "method", the "intact" mean and "n" examples.
        """
        import pandas as pd

        frames = [
            table_of_heads(changes, broken=changes.broken, fixed=changes.fixed).astype(
                {"broken": "Int64", "fixed": "Int64"}
            )
            for changes in (self.of_heads, self.of_layers)
        ]
        table = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
        table.attrs |= {"model": self.model_name, "score": self.score, "method": self.method}
        table.attrs |= {"intact": float(self.intact.mean()), "n": len(self.intact)}
        return table

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the differences by layer and head, with a dot where the adjusted p is below 0.05.

        The last column is for complete layers (Kovaleva et al. 2019, figures 8 and 9).

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.head_heatmap import head_heatmap

        layers = None if np.isnan(self.layer_scores).all() else self.of_layers.difference
        tested = f"; dots: adjusted p < 0.05\n{self.finding}" if self.score != "kl" else ""
        name = _NAMES.get(self.score, self.score)
        return head_heatmap(
            self.of_heads.difference,
            title=answer_title(
                f"{name} without each head ({self.method})\n{self._model}; "
                f"intact {self.intact.mean():.3g}, {counted(len(self.intact), 'example')}{tested}",
                self.of_heads.difference,
            ),
            value_title=_CHANGES.get(self.score, f"change of {self.score}"),
            layers=layers,
            marked=self.of_heads.significant,
            layers_marked=self.of_layers.significant,
            diverging=True,
            width=width,
        )

    def histogram(self, *, width: int = 640) -> alt.LayerChart | alt.VConcatChart:
        """Draw the changes of all heads as a histogram, and those of the layers as bars.

        A head is a point, stacked at its change beside the line at zero, so that heads that help
        and heads that harm stand on two sides. Dashed lines show the smallest change that a typical
        head needs to be significant; significant heads are filled. Lines on the bars are 95 %
        intervals (Kovaleva et al. 2019, figures 8 and 9).

        Args:
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: The score is a divergence, which is never negative and not tested.
        """
        import pandas as pd

        from attnwidget.charts.change_histogram import change_histogram

        if self.score == "kl":
            raise ValueError(
                'a divergence has no better and worse: draw chart(), or run ablate with "accuracy" '
                'or "loss"'
            )
        scale = 100 if self.judged else 1
        unit = " in points" if self.judged else _UNITS.get(self.score, "").replace(" ", " in ")
        frame = self.to_frame()
        frame = pd.DataFrame(
            {
                "layer": frame["layer"],
                "head": frame["head"],
                "value": scale * frame["difference"],
                "low": scale * frame["low"],
                "high": scale * frame["high"],
                "significant": frame["adjusted"] < LEVEL,
            }
        )
        quantity = _QUANTITIES.get(self.score, self.score)
        return change_histogram(
            frame,
            title=f"{self.finding}\n{self._counts()}\n{self._model}; intact "
            f"{self.intact.mean():.3g}, {counted(len(self.intact), 'example')}; filled: "
            "significant",
            value_title=f"change of the {quantity}{unit} without the head",
            layer_title=f"change of the {quantity}{unit} without the layer",
            better_above=self.score != "loss",
            smallest=scale * _typical(self.of_heads),
            width=width,
        )

    def _counts(self) -> str:
        """Return how many heads and layers are better and worse when they are disabled."""
        counts = []
        for changes, unit in ((self.of_heads, "head"), (self.of_layers, "layer")):
            differences = changes.difference[~np.isnan(changes.difference)]
            if not differences.size:
                continue
            better = -differences if self.score == "loss" else differences
            counts.append(
                f"of {counted(differences.size, unit)}, {(better > 0).sum()} better without, "
                f"{(better < 0).sum()} worse, {(better == 0).sum()} the same"
            )
        return "; ".join(counts)

    def __repr__(self) -> str:
        stopped = "" if self.complete else ", interrupted"
        note = f"; {self.note}" if self.note else ""
        finding = f"\n{self.finding}" if self.finding else ""
        return (
            f"Ablation({self._model}, {self.method}, {counted(len(self.intact), 'example')}"
            f"{stopped}: {self.score} {self.intact.mean():.3g} intact, "
            f"{self._range()}{note}){finding}"
        )

    @property
    def _model(self) -> str:
        return in_stack(self.model_name, self.stack)

    def _range(self) -> str:
        heads = self.of_heads if self.heads() else self.of_layers
        what = "a head" if self.heads() else "a layer"
        return f"{np.nanmin(heads.mean):.3g} to {np.nanmax(heads.mean):.3g} without {what}"


def _finding(changes: ScoreChanges, unit: str, score: str, judged: bool) -> str:
    """Return a sentence about the significant changes of heads or layers."""
    measured = ~np.isnan(changes.scores).any(-1)
    n_units = int(measured.sum())
    n_significant = int(changes.significant.sum())
    n = counted(len(changes.intact), "example")
    quantity = _QUANTITIES.get(score, score)
    if n_significant:
        which = f"{n_significant} of {n_units} {unit}s" if n_units > 1 else f"The {unit}"
        verb = "change" if n_significant > 1 else "changes"
        return f"{which} {verb} the {quantity} significantly."
    none = f"No {unit} changes" if n_units > 1 else f"The {unit} does not change"
    smallest = _typical(changes)
    if not np.isfinite(smallest):
        verb = "is" if len(changes.intact) == 1 else "are"
        too_few = f"{n} {verb} too few for any change to be significant"
        return f"{none} the {quantity} significantly; {too_few}."
    amount = f"{100 * smallest:.1f} points" if judged else f"{smallest:.2g}{_UNITS.get(score, '')}"
    least = f"a change under {amount} cannot be significant with {n}"
    return f"{none} the {quantity} significantly; {least}."


def _typical(changes: ScoreChanges) -> float:
    """Return the median over the changed units of the smallest effect; NaN without a test."""
    smallest = changes.smallest_effect[~np.isnan(changes.smallest_effect)]
    return float(np.median(smallest)) if smallest.size else float("nan")
