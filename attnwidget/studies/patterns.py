"""How often each head shows each of five patterns (Kovaleva et al. 2019, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.patterns import PATTERNS, PatternScores, classify, pattern_scores
from attnwidget.studies.accumulator import Batch, LayerBatch
from attnwidget.studies.results import HeadMetrics, Result, heads_frame
from attnwidget.studies.segment_means import SegmentMeans

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, repr=False)
class PatternsResult(Result):
    """The share of each pattern among the maps of each head.

    Attributes:
        fractions: float64 [5, L, H], in the order of `PATTERNS`: "vertical", "diagonal",
            "vertical + diagonal", "block", "heterogeneous"; they sum to 1 for each head.
        scores: float64 [3, L, H], mean vertical, diagonal and block score.
        n_documents: maps of each head.
        n_pairs: those of two sentences; only they can show a block.
    """

    fractions: NDArray[np.float64]
    scores: NDArray[np.float64]
    n_documents: int
    n_pairs: int

    def heads(self) -> HeadMetrics:
        """Share of each pattern, by its name."""
        return dict(zip(PATTERNS, self.fractions, strict=True))

    def overall(self) -> dict[str, float]:
        """Share of each pattern among all maps of all heads."""
        shares = self.fractions.mean((1, 2)).tolist()
        return dict(zip(PATTERNS, shares, strict=True))

    def most_frequent(self) -> NDArray[np.str_]:
        """The most frequent pattern of each head: [L, H] names; of equal ones the first."""
        return np.array(PATTERNS)[self.fractions.argmax(0)]

    def chart(self) -> alt.TopLevelMixin:
        """Share of each pattern over the layers, as bars."""
        from attnwidget.charts.pattern_shares import pattern_shares

        frame = heads_frame(self.heads()).rename(columns={"metric": "pattern"})
        title = f"Patterns of attention\nby rule, {self.n_documents} maps a head"
        return pattern_shares(frame, title=title)


class Patterns(SegmentMeans[PatternsResult]):
    """The pattern of every map, by this project's own rules on three scores of the map.

    The classes are those of Kovaleva et al. 2019; their classifier and labels were not published,
    so shares are not comparable with theirs. `kernels.patterns` says how the scores are made and
    where the thresholds are. They agree with labels by eye of 166 maps of a small BERT in 83 %
    (macro-F1 0.79); in 90 % of the 42 that were labelled after the rules were made, with 35 to 106
    tokens (short maps are the harder ones). Maps of fewer than 8 tokens are named as well, though
    nothing can be told apart in them. A causal head shows no block: the first sentence cannot see
    the second.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.measure import measure
        >>> from attnwidget.studies.segmenting import make_segments
        >>> model = load_model()
        >>> segments = make_segments(["The captain told his men to leave the ship."], model)
        >>> found = measure(model, segments, ["patterns"], progress=False)["patterns"]
        >>> found.fractions.shape, found.n_documents
        ((5, 6, 12), 1)
    """

    name: ClassVar[str] = "patterns"
    of_heads = {"maps": (len(PATTERNS),), "scores": (len(PatternScores._fields),)}
    of_segments = {"pairs": ()}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._segments = _segments(layer.batch).to(layer.weights.device)
        self._causal = is_causal(layer.weights, layer.batch.real)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        scores = pattern_scores(
            layer.weights,
            row_weights=layer.batch.row_weights,
            segments=self._segments,
            causal=self._causal,
        )
        one_hot = torch.nn.functional.one_hot(classify(scores), len(PATTERNS))  # [B, H, 5]
        return {"maps": one_hot, "scores": torch.stack(tuple(scores), -1)}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"pairs": self._segments.any(-1) & (not self._causal)}

    def compute(self) -> PatternsResult:
        return PatternsResult(
            self.mean("maps"), self.mean("scores"), self.n_segments, int(self.counted("pairs"))
        )


def _segments(batch: Batch) -> Tensor:
    """The sentence of each token, int64 [B, n]; 0 at padding."""
    segments = torch.zeros(batch.real.shape, dtype=torch.int64)
    for row, tokens in zip(segments, batch.tokens, strict=True):
        row[: len(tokens)] = torch.tensor(tokens.segments)
    return segments
