"""Maps of heads with random weights, made as sharp as the maps of the model.

Random weights give nearly even maps, which no trained head resembles. An even map has no large
excess for any behavior, so it would be an empty control. Each map of a random model is therefore
raised to a power, which scales its scores: the head then has the mean entropy of the head of the
model at the same place.
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

#: Exponents between which the exponent of a head is interpolated.
EXPONENTS = tuple(float(2**power) for power in np.arange(-3, 12.1, 0.5))
#: Number of inputs over which entropies are compared.
INPUTS = 8


@dataclass(frozen=True, eq=False, repr=False)
class SharpenedEntropies(HeadResult):
    """Entropy of every head with its maps sharpened by each of E exponents.

    Attributes:
        exponents: The E exponents.
        entropies: Mean entropy over queries, then over texts, in nats, [E, L, H].
    """

    exponents: tuple[float, ...]
    entropies: Float64Array

    def heads(self) -> HeadMetrics:
        """Return the entropies by exponent, float64 [L, H] each."""
        named = zip(self.exponents, self.entropies, strict=True)
        return {f"entropy, exponent {exponent:g}": values for exponent, values in named}

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw one heat map for each exponent; `width` in pixels."""
        from attnwidget.charts.head_heatmap import head_heatmaps

        return head_heatmaps(
            self.heads(),
            title="Entropy of sharpened maps",
            value_title="entropy in nats (0: one token)",
            width=width,
        )


class EntropySums(SegmentMeans[SharpenedEntropies]):
    """Metric: entropy of every head with its maps sharpened by each of several exponents.

    Args:
        exponents: The exponents.
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
    """Return the mean entropy of every head, with its maps sharpened by each of several exponents.

    Args:
        model: The model.
        segments: Texts, of which the first 8 are read.
        batch_size: Number of texts in one pass of the model.
        exponents: The E exponents; 1 changes nothing.

    Returns:
        Entropies in nats, [E, L, H]; NaN for layers without attention.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    metric = EntropySums(exponents)
    texts = segments[:INPUTS]
    measured = measure(model, texts, [metric], batch_size=batch_size, progress=False)
    if not measured.complete:
        raise KeyboardInterrupt
    return cast("SharpenedEntropies", measured[metric.name]).entropies


def entropies_over_ids(
    model: AttentionModel, inputs: Sequence[Sequence[int]], exponents: Sequence[float] = (1.0,)
) -> Float64Array:
    """Return the same entropies, from sequences of ids, of which the first 8 are read."""
    found = []
    for ids in inputs[:INPUTS]:
        weights = torch.from_numpy(read_maps(model, ids))
        n = weights.shape[-1]
        rows = weights.new_full((len(weights), n), 1 / n)
        found.append(entropies_at(weights, rows, exponents).double().numpy())
    mean: Float64Array = np.moveaxis(np.mean(found, 0), -1, 0)
    return mean


def read_maps(
    model: AttentionModel, ids: Sequence[int], exponents: Float64Array | None = None
) -> NDArray[np.float32]:
    """Return the maps of an input of ids, [L, H, n, n], sharpened by an exponent for each head."""
    weights = model.attend(list(ids)).weights()
    if exponents is None:
        return weights
    return sharpened(torch.from_numpy(weights), torch.from_numpy(exponents)).numpy()


def matching_exponents(target: Float64Array, entropies: Float64Array) -> Float64Array:
    """Return the exponent at which the entropy of each random head is the entropy of a head.

    Exponents lie between those of `EXPONENTS`, by linear interpolation of their logarithm. A head
    that no exponent makes sharp enough gets the largest.

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
    found = np.full(target.shape, np.nan)
    for at in np.ndindex(*target.shape):
        falling = np.minimum.accumulate(entropies[(slice(None), *at)])
        if np.isfinite(falling).all() and np.isfinite(target[at]):
            found[at] = np.exp(np.interp(-target[at], -falling, logs))
    return found
