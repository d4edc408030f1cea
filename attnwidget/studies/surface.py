"""Where heads look by position, and how concentrated their attention is (Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from attnwidget.kernels.entropy import confidence, entropy
from attnwidget.kernels.position import mean_distances, offset_mass
from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch, document_sums
from attnwidget.studies.surface_results import (
    ConfidenceResult,
    EntropyResult,
    PositionResult,
)
from attnwidget.studies.token_classes import STANDARD_CLASSES

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class Position(Accumulator[PositionResult]):
    """Attention by relative position: offsets, mean signed and mean absolute distance.

    Clark et al. 2019, section 3.1: the mean over documents of each document's mean over all its
    queries, special tokens included. The divisor is the number of queries at every offset.

    Args:
        offsets: places after the query; 0 is the token itself, -1 the one before it.

    Raises:
        ValueError: no offset, or one given twice.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.engine import measure
        >>> from attnwidget.studies.inputs import make_segments
        >>> from attnwidget.studies.surface import Position
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, [Position(range(-2, 3))], progress=False)
        >>> found["position"].mass.shape
        (5, 6, 12)
    """

    name: ClassVar[str] = "position"

    def __init__(self, offsets: Iterable[int] = (-1, 0, 1)) -> None:
        self.offsets = [int(offset) for offset in offsets]
        if not self.offsets or len(set(self.offsets)) < len(self.offsets):
            raise ValueError(f"offsets are one or more, each once, got {self.offsets}")

    @property
    def options(self) -> dict[str, Any]:
        return {"offsets": self.offsets}

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self.sums = {
            "mass": np.zeros((len(self.offsets), n_layers, n_heads)),
            "distances": np.zeros((2, n_layers, n_heads)),
            "documents": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        rows = layer.batch.row_weights
        self.sums["mass"][:, layer.layer] += document_sums(
            offset_mass(layer.weights, rows, self.offsets)
        )
        self.sums["distances"][:, layer.layer] += document_sums(mean_distances(layer.weights, rows))

    def end_batch(self, batch: Batch) -> None:
        self.sums["documents"] += len(batch.segments)

    def compute(self) -> PositionResult:
        documents = self.sums["documents"]
        signed, absolute = self.sums["distances"] / documents
        return PositionResult(
            self.model_name,
            int(documents),
            tuple(self.offsets),
            self.sums["mass"] / documents,
            signed,
            absolute,
        )


class Entropy(Accumulator[EntropyResult]):
    """Entropy of attention in nats: over all queries, and from the first token alone.

    Clark et al. 2019, section 3.3: the mean over documents of each document's mean over all its
    queries. `uniform` of the result is the entropy of attention to all tokens alike, ln n, averaged
    over documents; a causal head cannot reach it.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.engine import measure
        >>> from attnwidget.studies.inputs import make_segments
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, ["entropy"], progress=False)
        >>> round(found["entropy"].uniform, 3)  # nine tokens
        2.197
    """

    name: ClassVar[str] = "entropy"

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self.sums = {
            "all": np.zeros((n_layers, n_heads)),
            "first": np.zeros((n_layers, n_heads)),
            "uniform": np.zeros(()),
            "documents": np.zeros((), np.int64),
            "begin_with_cls": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        of_queries = entropy(layer.weights, layer.batch.lengths)  # [B, H, n]
        mean = torch.linalg.vecdot(of_queries, layer.batch.row_weights[:, None])
        self.sums["all"][layer.layer] += document_sums(mean[..., None])[0]
        self.sums["first"][layer.layer] += document_sums(of_queries[..., :1])[0]

    def end_batch(self, batch: Batch) -> None:
        self.sums["documents"] += len(batch.segments)
        self.sums["uniform"] += float(batch.lengths.double().log().sum())
        self.sums["begin_with_cls"] += int(batch.classes["[CLS]"][:, 0].sum())

    def compute(self) -> EntropyResult:
        documents = self.sums["documents"]
        return EntropyResult(
            self.model_name,
            int(documents),
            self.sums["all"] / documents,
            self.sums["first"] / documents,
            float(self.sums["uniform"] / documents),
            "[CLS]" if self.sums["begin_with_cls"] == documents else "first token",
        )


class Confidence(Accumulator[ConfidenceResult]):
    """The mean over queries of their largest weight (Voita et al. 2019, section 5.1).

    Voita et al. leave out the end of the sentence as a key, without renormalising the rest. Here
    every token counts unless `excluded` says otherwise: without [CLS] and [SEP] most heads in
    BERT's middle layers, confident in [SEP], are not.

    Args:
        excluded: token classes that do not count as keys, such as ("[CLS]", "[SEP]").

    Raises:
        ValueError: no standard token class has that name.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.studies.engine import measure
        >>> from attnwidget.studies.inputs import make_segments
        >>> from attnwidget.studies.surface import Confidence
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> measure(model, segments, [Confidence(["[CLS]", "[SEP]"])], progress=False)["confidence"]
        ConfidenceResult(6×12 heads: confidence)
    """

    name: ClassVar[str] = "confidence"

    def __init__(self, excluded: Iterable[str] = ()) -> None:
        self.excluded = [excluded] if isinstance(excluded, str) else list(excluded)
        unknown = [name for name in self.excluded if name not in STANDARD_CLASSES]
        if unknown:
            raise ValueError(f"there is no token class {unknown}: {', '.join(STANDARD_CLASSES)}")

    @property
    def options(self) -> dict[str, Any]:
        return {"excluded": self.excluded}

    def start(self, model: AttentionModel, n_layers: int, n_heads: int) -> None:
        super().start(model, n_layers, n_heads)
        self.sums = {
            "largest": np.zeros((n_layers, n_heads)),
            "documents": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        batch = layer.batch
        excluded = [batch.classes[name] for name in self.excluded]
        keys = torch.stack(excluded).any(0) if excluded else None
        largest = confidence(layer.weights, keys)
        mean = torch.linalg.vecdot(largest, batch.row_weights[:, None])
        self.sums["largest"][layer.layer] += document_sums(mean[..., None])[0]

    def end_batch(self, batch: Batch) -> None:
        self.sums["documents"] += len(batch.segments)

    def compute(self) -> ConfidenceResult:
        documents = self.sums["documents"]
        return ConfidenceResult(
            self.model_name,
            int(documents),
            self.sums["largest"] / documents,
            tuple(self.excluded),
        )
