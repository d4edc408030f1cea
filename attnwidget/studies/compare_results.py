"""How two models differ head by head: means, how sure they are, which heads match, charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.studies.results import HeadMetrics, Result, heads_frame
from attnwidget.studies.significance import bootstrap_interval
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Floats = NDArray[np.float64]
_NATS = {
    "divergence": "Jensen-Shannon divergence (nats)",
    "entropy change": "change of entropy (nats)",
}


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Result):
    """Every head of a model beside the same head of another (Kovaleva et al. 2019, section 4.3).

    Attributes:
        model_names: of the first model and of the second.
        segments: float64 [L, H, N] by the metric's title, a number a segment: "cosine", "cosine
            without special tokens", "divergence" and "entropy change" in nats, and "cosine padded
            to 200" where it was asked for.
        pairs: float64 [L, H, H], the divergence of each head of the first model from each head of
            the same layer of the second, mean over segments, in nats.
        across: float64 [L H, L H], the same for heads of all layers, where it was asked for; head
            h of layer l is l H + h.
        complete: False where the pass was interrupted before the last segment.
    """

    model_names: tuple[str, str]
    segments: Mapping[str, Floats]
    pairs: Floats
    across: Floats | None
    complete: bool

    @property
    def model_name(self) -> str:
        """Both names."""
        return " → ".join(self.model_names)

    @property
    def n_segments(self) -> int:
        """Segments that the numbers are means over."""
        return self.segments["cosine"].shape[-1]

    @property
    def cosine(self) -> Floats:
        """[L, H], of all rows and columns of the two maps: 1 where they are alike."""
        return self._mean("cosine")

    @property
    def cosine_without_special(self) -> Floats:
        """[L, H], without the rows and columns of the special tokens."""
        return self._mean("cosine without special tokens")

    @property
    def divergence(self) -> Floats:
        """[L, H], nats: Jensen-Shannon divergence of the rows, 0 to ln 2 = 0.693."""
        return self._mean("divergence")

    @property
    def entropy_change(self) -> Floats:
        """[L, H], nats: entropy in the second model minus that in the first."""
        return self._mean("entropy change")

    @cached_property
    def intervals(self) -> dict[str, tuple[Floats, Floats]]:
        """Low and high of each metric's means, [L, H]: 95 %, by a bootstrap over segments.

        NaN where there are fewer than two segments.
        """
        found = {}
        for metric in self.segments:
            values = self._known(metric)
            if values.shape[-1] > 1:
                found[metric] = bootstrap_interval(values)
            else:
                unsure = np.full(values.shape[:2], np.nan)
                found[metric] = unsure, unsure
        return found

    def heads(self) -> HeadMetrics:
        return {metric: self._mean(metric) for metric in self.segments}

    def to_frame(self) -> pd.DataFrame:
        """One row a head and metric: layer and head (from 0), metric, value, low, high.

        `low` and `high` are those of `intervals`; `attrs["model"]` is both models' names.
        """
        frame = super().to_frame()
        for column, side in (("low", 0), ("high", 1)):
            bounds = {metric: self.intervals[metric][side] for metric in self.segments}
            frame[column] = heads_frame(bounds)["value"]
        return frame

    def match(self, *, across_layers: bool = False) -> pd.DataFrame:
        """The head of the second model that attends most like each head of the first.

        Every head is taken once: the sum of all divergences is as small as can be (linear
        assignment). Models that were trained apart have no reason to keep the order of heads.

        Args:
            across_layers: heads of all layers compete, in place of those of the same layer.

        Returns:
            One row a head: layer, head, other_layer, other_head, divergence in nats, and margin,
            the divergence from the best of the other candidates minus it. A margin near 0 says
            that the match could as well be another; below 0, that the nearest head went to another
            one. NaN where there is one candidate.

        Raises:
            ValueError: `across_layers`, and heads of different layers were not compared.
        """
        import pandas as pd
        from scipy.optimize import linear_sum_assignment

        n_heads = self.pairs.shape[1]
        if not across_layers:
            blocks = self.pairs
        elif self.across is not None:
            blocks = self.across[None]
        else:
            raise ValueError(
                "heads of different layers were not compared: call "
                "compare(a, b, segments, across_layers=True)"
            )
        rows = []
        for block, divergences in enumerate(blocks):
            for own, other in zip(*linear_sum_assignment(divergences), strict=True):
                chosen = divergences[own, other]
                rest = np.delete(divergences[own], other)
                layer, head = divmod(block * n_heads + own, n_heads)
                other_layer, other_head = divmod(block * n_heads + other, n_heads)
                margin = rest.min() - chosen if len(rest) else np.nan
                rows.append((layer, head, other_layer, other_head, chosen, margin))
        columns = ["layer", "head", "other_layer", "other_head", "divergence", "margin"]
        return pd.DataFrame(rows, columns=columns)

    def chart(self, metric: str = "cosine") -> alt.LayerChart:
        """All heads, the darker the more they changed (Kovaleva et al. 2019, Figure 5).

        `metric` is one of `heads()`; of a cosine, 1 minus it is drawn. ValueError for another.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        if metric not in self.segments:
            raise ValueError(f"metric is one of {', '.join(self.segments)}, got {metric!r}")
        values = self._mean(metric)
        return head_heatmap(
            values if metric in _NATS else 1 - values,
            title=self._title,
            value_title=_NATS.get(metric, f"1 − {metric}"),
            diverging=metric == "entropy change",
        )

    def curves(self) -> alt.LayerChart:
        """1 - cosine over the layers, of all tokens and without special ones."""
        from attnwidget.charts.layer_curves import layer_curves

        series = {
            "all tokens": 1 - self.cosine,
            "without special tokens": 1 - self.cosine_without_special,
        }
        frame = heads_frame(series).rename(columns={"metric": "series"})
        return layer_curves(frame, title=self._title, value_title="1 − cosine")

    @property
    def _title(self) -> str:
        read = counted(self.n_segments, "segment")
        return f"What changed in each head\n{self.model_name}, {read}{self._stopped}"

    @property
    def _stopped(self) -> str:
        return "" if self.complete else ", interrupted"

    def _known(self, metric: str) -> Floats:
        """The numbers of the segments that have one: no word, no cosine without special tokens."""
        values = self.segments[metric]
        return values[..., ~np.isnan(values).any((0, 1))]

    def _mean(self, metric: str) -> Floats:
        values = self._known(metric)
        if not values.shape[-1]:
            return np.full(values.shape[:2], np.nan)
        mean: Floats = values.mean(-1)
        return mean

    def __repr__(self) -> str:
        cosine = self.cosine
        layer, head = np.unravel_index(cosine.argmin(), cosine.shape)
        size = "×".join(map(str, cosine.shape))
        read = counted(self.n_segments, "segment")
        return (
            f"ModelComparison({self.model_name}, {size} heads, {read}{self._stopped}: mean cosine "
            f"{cosine.mean():.3f}, least L{layer} H{head} {cosine.min():.3f})"
        )
