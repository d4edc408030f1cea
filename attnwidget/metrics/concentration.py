"""Broad heads: entropy next to the largest weight (Clark et al. 2019, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.results import extreme_head, layer_means, per_head
from attnwidget.corpus.segment_means import SegmentMeansResult
from attnwidget.hidden_frames import hides_frames
from attnwidget.metrics.entropy import LEAST_FROM_FIRST
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt

    from attnwidget.corpus.results import Measurements
    from attnwidget.metrics.entropy import ConfidenceResult, EntropyResult


@dataclass(frozen=True, eq=False, repr=False)
class BroadHeads(SegmentMeansResult):
    """Entropy and largest weight of every head. Made by `broad_heads`.

    Attributes:
        entropy: Mean entropy over all queries in nats, [L, H].
        confidence: Mean largest weight of a query, [L, H].
        entropy_from_first: Mean entropy of the first query in nats, [L, H].
        first: Name of the first token: "[CLS]", or "first token".
        broad_entropy: Entropy in nats above which a head is broad.
        largest_weight: Largest weight that the paper states for broad heads.
        uniform: Mean entropy of equal attention to all visible tokens.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.metrics import broad_heads
        >>> attention = load_model().attend("The cat sat on the mat, and the dog lay by the door.")
        >>> measured = measure_attention(attention, ["entropy", "confidence"])
        >>> found = broad_heads(measured, broad_entropy=2.5, largest_weight=0.2)
        >>> found.is_broad.shape, bool((found.is_spread <= found.is_broad).all())
        ((6, 12), True)
    """

    entropy: NDArray[np.float64] = field(metadata=per_head("entropy"))
    confidence: NDArray[np.float64] = field(metadata=per_head("confidence"))
    entropy_from_first: NDArray[np.float64] = field(metadata=per_head("entropy from {self.first}"))
    first: str
    broad_entropy: float
    largest_weight: float
    uniform: float

    @property
    def is_broad(self) -> NDArray[np.bool_]:
        """Whether the entropy of each head is above `broad_entropy`, bool [L, H]."""
        return np.asarray(self.entropy > self.broad_entropy)

    @property
    def is_spread(self) -> NDArray[np.bool_]:
        """Whether each broad head gives at most `largest_weight` to a token, bool [L, H]."""
        return self.is_broad & (self.confidence <= self.largest_weight)

    @property
    def finding(self) -> str:
        """Number of broad heads, how many keep to the paper's largest weight, and the last layer.

        The last layer has the entropy from the first token.
        """
        n_heads = int(np.isfinite(self.entropy).sum())
        n_broad = int(self.is_broad.sum())
        threshold = f"{self.broad_entropy:g} nats"
        largest = percent(self.largest_weight)
        if n_broad:
            broadest = np.where(self.is_broad, self.confidence, np.nan)
            name, share = extreme_head(broadest)
            answer = (
                f"{n_broad} of {n_heads} heads have more than {threshold} of entropy, and "
                f"{int(self.is_spread.sum())} of them give no token more than {largest} on average "
                f"(most: {name}, {percent(share)})"
            )
        else:
            name, most = extreme_head(self.entropy)
            answer = (
                f"No head has more than {threshold} of entropy (most: {name}, {most:.2f}; even "
                f"attention: {self.uniform:.2f})"
            )
        means = layer_means(self.entropy_from_first)
        # In a causal model, the first token sees only itself.
        if np.nanmax(means) < LEAST_FROM_FIRST:
            return answer
        last = int(np.flatnonzero(np.isfinite(means))[-1])
        return f"{answer}; from {self.first}, L{last} has {means[last]:.2f} nats"

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the mean largest weight of each head against its entropy.

        The marked corner has the broad heads that give at most `largest_weight` to a token.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.weight_and_entropy import weight_and_entropy

        layer, head = np.nonzero(np.isfinite(self.entropy))
        frame = pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                "x": self.entropy[layer, head],
                "y": self.confidence[layer, head],
            }
        )
        n_spread = int(self.is_spread.sum())
        broad = counted(int(self.is_broad.sum()), "broad head")
        return weight_and_entropy(
            frame,
            corner=(self.broad_entropy, self.largest_weight),
            title=f"Largest weight and entropy: {n_spread} of {broad} give no token more than "
            f"{percent(self.largest_weight)} on average\n"
            f"{self.model_name}, {self._inputs}; even attention: {self.uniform:.2f} nats",
            width=width,
        )


@hides_frames
def broad_heads(
    measured: Measurements | Mapping[str, Any],
    *,
    broad_entropy: float = 3.8,
    largest_weight: float = 0.1,
) -> BroadHeads:
    """Return which heads are broad, and how much they give to a single token.

    Clark et al. 2019 write in section 3.3 that heads with a high entropy spend at most 10 % of
    their attention on any single word. The paper gives no number for "high". The default of 3.8
    nats is the rule of `clark_labels`, for segments of 128 tokens. The largest weight is a mean
    over all queries, so that a single query may exceed it.

    Args:
        measured: Result of `measure` or `measure_attention` with "entropy" and "confidence".
        broad_entropy: Entropy in nats above which a head is broad.
        largest_weight: Mean largest weight that a broad head may give to a token, 0 to 1.

    Returns:
        Entropy and largest weight of every head, with a chart of both.

    Raises:
        ValueError: If a metric was not measured, or confidence leaves out some tokens.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import broad_heads
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> measured = measure(model, segments, ["entropy", "confidence"], progress=False)
        >>> broad_heads(measured).finding.split("; from")[0]
        'No head has more than 3.8 nats of entropy (most: L3 H11, 2.03; even attention: 2.20)'
    """
    missing = [name for name in ("entropy", "confidence") if name not in measured]
    if missing:
        raise ValueError(
            f"broad heads follow from entropy and confidence, and {' and '.join(missing)} "
            'must be measured too: measure(model, segments, ["entropy", "confidence"])'
        )
    entropy: EntropyResult = measured["entropy"]
    confidence: ConfidenceResult = measured["confidence"]
    if confidence.excluded:
        raise ValueError(
            "the largest weight must be over all tokens, and confidence was measured without "
            f'{", ".join(confidence.excluded)}: measure(model, segments, ["entropy", "confidence"])'
        )
    return BroadHeads(
        entropy.n_documents,
        entropy.entropy,
        confidence.confidence,
        entropy.entropy_from_first,
        entropy.first,
        broad_entropy,
        largest_weight,
        entropy.uniform,
        model_name=entropy.model_name,
        complete=entropy.complete,
        note=entropy.note,
    )
