"""Attention sinks: attention to the first tokens of the input (Xiao et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.kernels.causal import is_causal
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, repr=False)
class SinksResult(SegmentMeansResult):
    """Attention to the first tokens.

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

    def heads(self) -> HeadMetrics:
        """Return the mean weight on token 1, and on the first K tokens together."""
        first = {"to token 1": self.mass[0]}
        if len(self.mass) > 1:
            first[f"to the first {len(self.mass)} tokens"] = self.mass.sum(0)
        return first

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw both numbers over the layers, with equal attention.

        The title names the first query that counts: the fifth one, with four first tokens.

        Args:
            width: Pixels of the whole figure.
        """
        even = {"even": self.even}
        title = f"Attention to the first tokens, from query {len(self.mass) + 1} on"
        return self._curves(self.heads(), title, reference=even, width=width)


class Sinks(SegmentMeans[SinksResult]):
    """Metric: attention to the first tokens, the attention sinks of language models.

    The weight on each of the first `count` tokens is averaged over later queries with a view of all
    these tokens, then over documents. Xiao et al. 2024 find attention sinks in causal models for
    any content of the first tokens. Gu et al. 2025 call a head a sink if its mean weight on the
    first token is above 0.3.

    Args:
        count: Number of first tokens; Xiao et al. keep 4.

    Raises:
        ValueError: `count` is below 1.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Sinks
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> measure(model, segments, [Sinks(2)], progress=False)["sinks"].mass.shape
        (2, 6, 12)
    """

    name: ClassVar[str] = "sinks"
    by_rows = True

    def __init__(self, count: int = 4) -> None:
        count = whole_number("count", count, 1, "token")
        self.count = count
        self.of_heads = {"mass": (count,)}
        self.of_segments = {"with_queries": (), "even": ()}

    @property
    def options(self) -> dict[str, Any]:
        return {"count": self.count}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._causal = is_causal(layer.weights, layer.of_rows(layer.batch.real))

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        rows = layer.of_rows(self._rows(layer.batch.lengths, layer.batch.real))
        columns = layer.weights[..., : self.count]
        missing = self.count - columns.shape[-1]
        columns = torch.nn.functional.pad(columns, (0, missing)) if missing > 0 else columns
        return {"mass": (rows[:, None, None] @ columns)[:, :, 0]}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        rows = self._rows(batch.lengths, batch.real)
        n = rows.shape[1]
        seen = (
            torch.arange(1, n + 1, dtype=torch.long, device=rows.device)
            if self._causal
            else batch.lengths[:, None]
        )
        return {"with_queries": rows.any(-1), "even": (rows * self.count / seen).sum(-1)}

    def _rows(self, lengths: Tensor, real: Tensor) -> Tensor:
        """Return equal weights of the queries after the first tokens, 0 elsewhere, [B, n]."""
        behind = real & (
            torch.arange(real.shape[1], dtype=torch.long, device=real.device) >= self.count
        )
        return behind.float() / (lengths - self.count).clamp(min=1)[:, None]

    def compute(self) -> SinksResult:
        mass = self.mean("mass", over="with_queries")
        even = float(self.mean("even", over="with_queries"))
        return SinksResult(
            int(self.counted("with_queries")), mass, even, model_name=self.model_name
        )
