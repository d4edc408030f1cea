"""Attention weights next to the norms of the vectors that they scale, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float64Array, Int64Array
from attnwidget.kernels.pair_histogram import BINS_PER_DECADE, bin_centers, rank_correlation
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

ALL = "all tokens"
#: Bins of the histogram in one cell of the figure: weights, norms.
_MERGED = (4, 2)
#: Shares of the pairs of a class beyond the ends of the axes of weights and of norms. Some heads
#: have a long tail of tiny weights.
_TAILS = ((0.02, 0.001), (0.001, 0.001))


@dataclass(frozen=True, eq=False, repr=False)
class NormPairs(Result):
    """Weight a and norm ||f(x)|| of all pairs of tokens (Kobayashi et al. 2020, Figure 4).

    A pair is a query and a key in one head of one segment. Pairs with the weight 0, such as later
    tokens in a causal model, are left out.

    Attributes:
        classes: Names of the C classes of keys, then "all tokens".
        counts: Number of pairs by class, bin of the weight and bin of the norm, int64 [C + 1, A,
            F].
        n_documents: Number of segments.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Norms
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> norms = measure(model, segments, [Norms(each_token=True)], progress=False)["norms"]
        >>> norms.pairs.classes, int(norms.pairs.counts[-1].sum()) == 6 * 12 * 9**2
        (('[CLS]', '[SEP]', '. ,', 'other tokens', 'all tokens'), True)
    """

    classes: tuple[str, ...]
    counts: Int64Array
    n_documents: int

    @property
    def correlations(self) -> Float64Array:
        """Spearman's rank correlation of weight and norm, by class, float64 [C + 1].

        It is computed from bins of 15 % of a weight and 6 % of a norm; NaN if the weights or the
        norms of a class are all in one bin.
        """
        return np.array([rank_correlation(counts) for counts in self.counts])

    @property
    def finding(self) -> str:
        """Class with the strongest correlation, and the correlation of all tokens."""
        correlations = self.correlations
        of_classes = correlations[:-1]
        if not np.isfinite(of_classes).any():
            return "Weights and norms do not vary in any class of tokens"
        strongest = int(np.nanargmax(np.abs(of_classes)))
        value = of_classes[strongest]
        kind = "shorter" if value < 0 else "longer"
        return (
            f'Larger weights on "{self.classes[strongest]}" go with {kind} vectors '
            f"(rank correlation {value:.2f}; all tokens: {correlations[-1]:.2f})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per class: class, pairs, correlation, and medians of weight and norm."""
        import pandas as pd

        medians = [
            [_quantile(counts.sum(1 - axis), axis, 0.5) for counts in self.counts]
            for axis in (0, 1)
        ]
        return pd.DataFrame(
            {
                "class": self.classes,
                "pairs": self.counts.sum((1, 2)),
                "correlation": self.correlations,
                "median weight": medians[0],
                "median norm": medians[1],
            }
        )

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw one panel per class: the norm against the weight, darker with more pairs.

        Both axes are logarithmic. They leave out up to 2 % of the pairs with the smallest weights,
        and up to 0.1 % at the other ends.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.pair_panels import pair_panels

        correlations = self.correlations
        frames = []
        present = [c for c, counts in enumerate(self.counts[:-1]) if counts.any()]
        for c in present:
            cells = _merged(self.counts[c])
            weight, norm = np.nonzero(cells)
            frames.append(
                pd.DataFrame(
                    {
                        "panel": self.classes[c],
                        "x": _low_edge(weight, 0),
                        "x2": _low_edge(weight + 1, 0),
                        "y": _low_edge(norm, 1),
                        "y2": _low_edge(norm + 1, 1),
                        "share": cells[weight, norm] / cells.sum(),
                    }
                )
            )
        ends = [
            (
                min(_quantile(self.counts[c].sum(1 - axis), axis, low) for c in present),
                max(_quantile(self.counts[c].sum(1 - axis), axis, 1 - high) for c in present),
            )
            for axis, (low, high) in enumerate(_TAILS)
        ]
        return pair_panels(
            pd.concat(frames, ignore_index=True),
            remarks={
                self.classes[c]: "–" if np.isnan(correlations[c]) else f"ρ = {correlations[c]:.2f}"
                for c in present
            },
            ends=(ends[0], ends[1]),
            titles=("attention weight a", "norm of f(x)"),
            title=f"{self.finding}\n{self.model_name}, {counted(self.n_documents, 'segment')}; "
            "all pairs of tokens in all heads\nρ is the rank correlation; ink is the share of the "
            "pairs of a class",
            width=width,
        )

    def __repr__(self) -> str:
        return f"NormPairs({self.model_name}, {int(self.counts[-1].sum()):,} pairs)"


def _merged(counts: Int64Array) -> Int64Array:
    weights, norms = _MERGED
    size = counts.shape[0] // weights, weights, counts.shape[1] // norms, norms
    return np.asarray(counts.reshape(size).sum((1, 3)))


def _low_edge(cells: Int64Array, axis: int) -> Float64Array:
    """Return the lower end of merged bins."""
    step = _MERGED[axis] / BINS_PER_DECADE[axis]
    first = np.log10(bin_centers(axis)[0]) - 0.5 / BINS_PER_DECADE[axis]
    return np.asarray(10 ** (first + cells * step))


def _quantile(counts: Int64Array, axis: int, share: float) -> float:
    """Return the center of the bin with a quantile; NaN without pairs."""
    if not counts.any():
        return float("nan")
    total = np.cumsum(counts)
    return float(bin_centers(axis)[np.searchsorted(total, share * total[-1])])
