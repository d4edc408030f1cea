"""Concentration of attention: entropy (Clark et al. 2019), confidence (Voita et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadMetrics, LayerCurves, extreme_head, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.corpus.token_classes import STANDARD_CLASSES
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.entropy import confidence, entropy
from attnwidget.text.near_names import among

#: Smallest entropy from the first token in nats that is reported. In a causal model, the first
#: token sees only itself, and its entropy is 0 apart from the smoothing.
LEAST_FROM_FIRST = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class EntropyResult(SegmentMeansResult):
    """Entropy of attention, in nats. The figure follows Clark et al. 2019, Figure 4.

    Attributes:
        entropy: Mean entropy over all queries, [L, H].
        entropy_from_first: Mean entropy of the first query, [L, H].
        uniform: Mean entropy of equal attention to all visible tokens.
        first: Name of the first token: "[CLS]", or "first token".

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> found = measure_attention(load_model().attend("The cat sat."), ["entropy"])["entropy"]
        >>> found.entropy.shape, found.first
        ((6, 12), '[CLS]')
        >>> round(found.uniform, 2)
        1.79
    """

    entropy: NDArray[np.float64] = field(metadata=per_head("entropy", curve="all tokens"))
    entropy_from_first: NDArray[np.float64] = field(
        metadata=per_head("entropy from {self.first}", curve="from {self.first}")
    )
    uniform: float
    first: str

    @property
    def finding(self) -> str:
        """The heads with the largest and the smallest entropy."""
        broadest, most = extreme_head(self.entropy)
        sharpest, least = extreme_head(self.entropy, largest=False)
        return (
            f"The broadest head is {broadest} with {most:.2f} nats (even attention: "
            f"{self.uniform:.2f}), the sharpest {sharpest} with {least:.2f} nats"
        )

    figure = LayerCurves(
        "Entropy of attention",
        "entropy in nats (0: one token, {self.uniform:.2f}: all alike)",
        {"uniform": "self.uniform"},
        "{self.model_name}, {self._inputs}{self._about_first}",
    )

    @property
    def first_sees_itself(self) -> bool:
        """Whether the first token attends only to itself in every head, as in causal models."""
        return bool(np.nanmax(self.entropy_from_first) < LEAST_FROM_FIRST)

    @property
    def _about_first(self) -> str:
        return "; the first token sees only itself" if self.first_sees_itself else ""

    def _arrays(self, key: str) -> HeadMetrics:
        """Return the arrays, without a curve for a first token that sees only itself."""
        arrays = super()._arrays(key)
        if key == "curve" and self.first_sees_itself:
            del arrays[f"from {self.first}"]
        return arrays


class Entropy(SegmentMeans[EntropyResult]):
    """Metric: entropy of attention in nats, over all queries and from the first token.

    This is the metric of Clark et al. 2019, section 3.3: the mean over all queries of a document,
    then over documents. `uniform` of the result is the entropy of equal attention to all visible
    tokens, averaged over queries and documents: ln n, and in causal models the mean of ln 1 to ln
    n.

    Args:
        smoothing: Share of the uniform distribution that is mixed into each row, 0 to below 1. The
            default is the value in the code of Clark et al., which changes a head by at most 0.0014
            nats at 128 tokens. 0 gives the entropy of the weights themselves.

    Raises:
        ValueError: If `smoothing` is out of range.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, ["entropy"], progress=False)
        >>> round(found["entropy"].uniform, 3)  # nine tokens
        2.197
    """

    name = "entropy"
    by_rows = True

    of_heads = {"all": (), "first": ()}
    of_segments = {"uniform": (), "begin_with_cls": ()}
    # Default for subclasses whose `__init__` does not set it.
    smoothing = 1e-4

    def __init__(self, smoothing: float = 1e-4) -> None:
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing must be at least 0 and below 1, got {smoothing}")
        self.smoothing = smoothing

    @property
    def options(self) -> dict[str, Any]:
        return {"smoothing": self.smoothing}

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        self._uniform = batch.lengths.double().log()
        if is_causal(layer.weights, layer.of_rows(batch.real)):
            rows = batch.row_weights.double()
            n_visible = torch.arange(1, rows.shape[-1] + 1, dtype=torch.float64, device="cpu")
            self._uniform = rows @ n_visible.log().to(rows.device)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        entropies = entropy(  # [B, H, r]
            layer.weights, layer.batch.lengths, smoothing=self.smoothing, first=layer.first
        )
        mean = torch.linalg.vecdot(entropies, layer.row_weights[:, None])
        first = entropies[..., 0] if layer.first == 0 else torch.zeros_like(mean)
        return {"all": mean, "first": first}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        begins = batch.classes["[CLS]"][:, 0]
        return {"uniform": self._uniform, "begin_with_cls": begins}

    def compute(self) -> EntropyResult:
        return EntropyResult(
            self.n_segments,
            self.mean("all"),
            self.mean("first"),
            float(self.mean("uniform")),
            "[CLS]" if self.counted("begin_with_cls") == self.n_segments else "first token",
            model_name=self.model_name,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceResult(SegmentMeansResult):
    """Mean largest weight (Voita et al. 2019, section 5.1).

    Attributes:
        confidence: Mean largest weight of a query, [L, H].
        excluded: Token classes that do not count as keys.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> attention = load_model().attend("The cat sat.")
        >>> found = measure_attention(attention, ["confidence"])["confidence"]
        >>> found.confidence.shape, found.excluded
        ((6, 12), ())
    """

    confidence: NDArray[np.float64] = field(metadata=per_head("confidence"))
    excluded: tuple[str, ...]

    figure = LayerCurves("Confidence{self._without}", "mean largest weight")

    @property
    def _without(self) -> str:
        return f" without {', '.join(self.excluded)}" if self.excluded else ""


class Confidence(SegmentMeans[ConfidenceResult]):
    """Metric: mean largest weight of a query (Voita et al. 2019, section 5.1).

    Voita et al. exclude the end of the sentence as a key, without renormalizing the rest. Here,
    every token counts unless `excluded` names its class. Most heads in the middle layers of BERT
    attend to [SEP], and are confident only if [SEP] counts.

    Args:
        excluded: Token classes that do not count as keys, such as ("[CLS]", "[SEP]").

    Raises:
        ValueError: If a name is not a standard token class.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Confidence
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> measure(model, segments, [Confidence(["[CLS]", "[SEP]"])], progress=False)["confidence"]
        ConfidenceResult(small BERT (in the package), 6×12 heads: confidence)
    """

    name = "confidence"
    by_rows = True
    of_heads = {"largest": ()}

    def __init__(self, excluded: Iterable[str] = ()) -> None:
        self.excluded = [excluded] if isinstance(excluded, str) else list(excluded)
        unknown = [name for name in self.excluded if name not in STANDARD_CLASSES]
        if unknown:
            raise ValueError(
                f"there is no token class {unknown[0]!r}: {among(unknown[0], STANDARD_CLASSES)}"
            )

    @property
    def options(self) -> dict[str, Any]:
        return {"excluded": self.excluded}

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        excluded = [layer.batch.classes[name] for name in self.excluded]
        keys = layer.of_keys(torch.stack(excluded).any(0)) if excluded else None
        largest = confidence(layer.weights, keys)
        return {"largest": torch.linalg.vecdot(largest, layer.row_weights[:, None])}

    def compute(self) -> ConfidenceResult:
        return ConfidenceResult(
            self.n_segments, self.mean("largest"), tuple(self.excluded), model_name=self.model_name
        )
