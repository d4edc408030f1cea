"""Maps of heads with random weights, sharpened until they are as sharp as the model's maps.

Random weights give nearly even maps, unlike any trained head. An even map has no large excess for
any behavior, so it would be a meaningless control. Each map of a random model is therefore raised
to a power, which scales its scores. The power is chosen such that the random head has the mean
entropy of the model's head at the same layer and head index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.sharpness import entropies_at, sharpened
from attnwidget.metrics.measure_heads import measure
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    import altair as alt

#: Grid of exponents; the exponent of each head is interpolated between them.
EXPONENTS = tuple(float(2**power) for power in np.arange(-3, 12.1, 0.5))
#: Number of inputs over which entropies are averaged.
INPUTS = 8


@dataclass(frozen=True, eq=False, repr=False)
class SharpenedEntropies(HeadResult):
    """Entropy of each head after sharpening its maps with each of E exponents.

    Attributes:
        exponents: E exponents.
        entropies: Mean entropy over queries, then over texts, in nats, [E, L, H].
    """

    exponents: tuple[float, ...]
    entropies: Float64Array

    def heads(self) -> HeadMetrics:
        """Return the entropies by exponent, float64 [L, H] each."""
        pairs = zip(self.exponents, self.entropies, strict=True)
        return {f"entropy, exponent {exponent:g}": values for exponent, values in pairs}

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw one heat map per exponent; `width` in pixels."""
        from attnwidget.charts.head_heatmap import head_heatmaps

        return head_heatmaps(
            self.heads(),
            title="Entropy of sharpened maps",
            value_title="entropy in nats (0: one token)",
            width=width,
        )


class EntropySums(SegmentMeans[SharpenedEntropies]):
    """Metric: entropy of each head after sharpening its maps with each of several exponents.

    Args:
        exponents: Exponents that sharpen the maps.
    """

    name = "entropies of sharpened maps"

    def __init__(self, exponents: Sequence[float]) -> None:
        self._exponents = tuple(exponents)
        self.of_heads = {"entropy": (len(self._exponents),)}

    @property
    def options(self) -> dict[str, Any]:
        return {"exponents": list(self._exponents)}

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        return {"entropy": entropies_at(layer.weights, layer.row_weights, self._exponents)}

    def compute(self) -> SharpenedEntropies:
        return SharpenedEntropies(self._exponents, self.mean("entropy"))


def entropies_over_texts(
    model: AttentionModel,
    segments: Sequence[Segment],
    batch_size: int,
    exponents: Sequence[float] = (1.0,),
) -> Float64Array:
    """Return the mean entropy of each head after sharpening its maps with several exponents.

    Args:
        model: Model from `load_model`.
        segments: Texts, of which the first 8 are used.
        batch_size: Number of texts in a forward pass.
        exponents: E exponents; 1 leaves the maps unchanged.

    Returns:
        Entropies in nats, [E, L, H]; NaN for layers without attention.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    metric = EntropySums(exponents)
    texts = segments[:INPUTS]
    measurements = measure(model, texts, [metric], batch_size=batch_size, progress=False)
    if not measurements.complete:
        raise KeyboardInterrupt
    return cast("SharpenedEntropies", measurements[metric.name]).entropies


def entropies_over_ids(
    model: AttentionModel, inputs: Sequence[Sequence[int]], exponents: Sequence[float] = (1.0,)
) -> Float64Array:
    """Return the same entropies for the first 8 sequences of token ids."""
    entropies = []
    for ids in inputs[:INPUTS]:
        weights = torch.from_numpy(read_maps(model, ids))
        n = weights.shape[-1]
        rows = weights.new_full((len(weights), n), 1 / n)
        entropies.append(entropies_at(weights, rows, exponents).double().numpy())
    mean: Float64Array = np.moveaxis(np.mean(entropies, 0), -1, 0)
    return mean


def read_maps(
    model: AttentionModel, ids: Sequence[int], exponents: Float64Array | None = None
) -> NDArray[np.float32]:
    """Return the maps of one sequence of token ids, [L, H, n, n], sharpened per head."""
    weights = model.attend(list(ids)).weights()
    if exponents is None:
        return weights
    return sharpened(torch.from_numpy(weights), torch.from_numpy(exponents)).numpy()


def matching_exponents(target: Float64Array, entropies: Float64Array) -> Float64Array:
    """Return the exponent that gives each random head the entropy of the corresponding head.

    Exponents between those of `EXPONENTS` are interpolated linearly in their logarithm. A head
    that no exponent makes sharp enough gets the largest exponent.

    Args:
        target: Entropies of the heads, [...].
        entropies: Entropies of the random heads at `EXPONENTS`, [E, ...].

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.matched_sharpness import (
        ...     EXPONENTS, matching_exponents)
        >>> falling = np.linspace(3, 0, len(EXPONENTS))[:, None]
        >>> matching_exponents(falling[8], falling).round(3).tolist() == [EXPONENTS[8]]
        True
    """
    logs = np.log(EXPONENTS)
    exponents = np.full(target.shape, np.nan)
    for index in np.ndindex(*target.shape):
        falling = np.minimum.accumulate(entropies[(slice(None), *index)])
        if np.isfinite(falling).all() and np.isfinite(target[index]):
            exponents[index] = np.exp(np.interp(-target[index], -falling, logs))
    return exponents
