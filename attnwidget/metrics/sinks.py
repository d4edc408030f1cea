"""Attention sinks: attention to the first tokens of the input (Xiao et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.results import HeadMetrics, LayerCurves
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.hidden_frames import hides_frames
from attnwidget.kernels.causal import is_causal
from attnwidget.metrics.class_mass import ClassMass, ClassTable
from attnwidget.text.whole_number import whole_number


@dataclass(frozen=True, eq=False, repr=False)
class SinksResult(SegmentMeansResult):
    """Attention to the first tokens.

    The figure title names the first query that counts: the fifth query for four first tokens.

    Attributes:
        mass: Mean weight of the queries from K + 1 on, on each of the first K tokens, [K, L, H].
        even: Weight on all K tokens together under equal attention to all visible tokens.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> model = load_model("attnwidget/induction")
        >>> found = measure_attention(model.attend("The cat sat on the mat."), ["sinks"])["sinks"]
        >>> found.mass.shape
        (4, 2, 4)
        >>> round(found.even, 2)
        0.47
    """

    mass: NDArray[np.float64]
    even: float

    figure = LayerCurves(
        "Attention to the first tokens, from query {self._first_query} on",
        reference={"even": "self.even"},
    )

    @property
    def _first_query(self) -> int:
        """Number of the first query that counts, from 1."""
        return len(self.mass) + 1

    def heads(self) -> HeadMetrics:
        """Return the mean weight on token 1, and on the first K tokens together."""
        masses = {"to token 1": self.mass[0]}
        if len(self.mass) > 1:
            masses[f"to the first {len(self.mass)} tokens"] = self.mass.sum(0)
        return masses


@hides_frames
def Sinks(n_tokens: int = 4) -> SegmentMeans[SinksResult]:  # noqa: N802, as the other metrics
    """Metric: attention to the first tokens, the attention sinks of language models.

    The weight on each of the first `n_tokens` tokens is averaged over later queries, which see all
    of these tokens, then over documents. Xiao et al. 2024 find attention sinks in causal models for
    any content of the first tokens. Gu et al. 2025 call a head a sink if its mean weight on the
    first token is above 0.3.

    Args:
        n_tokens: Number of first tokens; Xiao et al. keep 4.

    Raises:
        ValueError: If `n_tokens` is below 1.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Sinks
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> measure(model, segments, [Sinks(2)], progress=False)["sinks"].mass.shape
        (2, 6, 12)
    """
    n_tokens = whole_number("n_tokens", n_tokens, 1, "token")
    return ClassMass(
        "sinks",
        partial(_table, n_tokens),
        _result,
        of_heads={"mass": (1, n_tokens)},
        of_segments={"with_queries": (), "even": ()},
        settings={"n_tokens": n_tokens},
    )


def _table(count: int, layer: LayerBatch) -> ClassTable:
    """Return the table with each first token as a class and all later tokens as queries."""
    batch = layer.batch
    n = batch.real.shape[1]
    positions = torch.arange(n, dtype=torch.long, device=batch.real.device)
    later = batch.real & (positions >= count)
    rows = later.float() / (batch.lengths - count).clamp(min=1)[:, None]
    causal = is_causal(layer.weights, layer.of_rows(batch.real))
    n_visible = positions + 1 if causal else batch.lengths[:, None]
    first = torch.eye(count, min(count, n), dtype=rows.dtype, device=rows.device)
    return ClassTable(
        rows[:, None],
        first.expand(len(rows), -1, -1),
        {"with_queries": rows.any(-1), "even": (rows * count / n_visible).sum(-1)},
    )


def _result(metric: ClassMass[SinksResult]) -> SinksResult:
    return SinksResult(
        int(metric.counted("with_queries")),
        metric.mean("mass", over="with_queries")[0],
        float(metric.mean("even", over="with_queries")),
        model_name=metric.model_name,
    )
