"""Attention by relative position (Clark et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch, LayerRows, Wanted
from attnwidget.corpus.argument_checks import each_once
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.kernels.position import mean_distances, offset_mass

if TYPE_CHECKING:
    import altair as alt

# Number of series that a figure can distinguish by colour.
_CURVES = 6
_OFFSETS = {-1: "previous token", 0: "current token", 1: "next token"}


@dataclass(frozen=True, eq=False, repr=False)
class PositionResult(SegmentMeansResult):
    """Attention by relative position.

    Attributes:
        offsets: The K offsets from the query, as requested.
        mass: Mean attention to the token at each offset, [K, L, H].
        signed_distance: Mean of key minus query in tokens, [L, H]; negative = to earlier tokens.
        distance: Mean of |key minus query| in tokens, [L, H].

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.metrics import Position
        >>> attention = load_model().attend("The cat sat.")
        >>> found = measure_attention(attention, [Position([-2, 2])])["position"]
        >>> found.offsets, found.mass.shape
        ((-2, 2), (2, 6, 12))
    """

    offsets: tuple[int, ...]
    mass: NDArray[np.float64]
    signed_distance: NDArray[np.float64]
    distance: NDArray[np.float64]

    def heads(self) -> HeadMetrics:
        titles = [_OFFSETS.get(offset, f"offset {offset:+d}") for offset in self.offsets]
        return dict(zip(titles, self.mass, strict=True)) | {
            "mean distance": self.distance,
            "mean signed distance": self.signed_distance,
        }

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw mean attention to each offset over the layers (Clark et al. 2019, section 3.1).

        If there are too many offsets for a figure, the nearest are drawn, with a note in the
        figure.

        Args:
            width: Pixels of the whole figure.
        """
        by_offset = dict(zip(self.offsets, self.heads().items(), strict=False))
        near = sorted(sorted(self.offsets, key=abs)[:_CURVES])
        left_out = len(self.offsets) - len(near)
        title = "Attention by relative position"
        title += f" ({left_out} farther offsets left out)" if left_out else ""
        return self._curves(dict(by_offset[offset] for offset in near), title, width=width)


class Position(SegmentMeans[PositionResult]):
    """Metric: attention by offset, mean signed distance and mean absolute distance.

    The metric of Clark et al. 2019, section 3.1: the mean over all queries of a document, including
    special tokens, then over documents. The divisor is the number of queries at every offset.

    Args:
        offsets: Offsets from the query; 0 is the token itself, -1 the previous token.

    Raises:
        ValueError: no offset, or an offset given twice.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Position
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, [Position(range(-2, 3))], progress=False)
        >>> found["position"].mass.shape
        (5, 6, 12)
    """

    name: ClassVar[str] = "position"
    along_line = True
    by_rows = True

    def __init__(self, offsets: Iterable[int] = (-1, 0, 1)) -> None:
        self.offsets = each_once("offsets", map(int, offsets))
        self.of_heads = {"mass": (len(self.offsets),), "distances": (2,)}

    @property
    def options(self) -> dict[str, Any]:
        return {"offsets": self.offsets}

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        rows = layer.row_weights
        return {
            "mass": offset_mass(layer.weights, rows, self.offsets, layer.first),
            "distances": mean_distances(layer.weights, rows, layer.first),
        }

    def wanted(self, batch: Batch) -> Wanted:
        return Wanted(offsets=tuple(self.offsets), distances=True)

    def row_numbers(self, layer: LayerRows) -> Mapping[str, Tensor]:
        mass = [layer.mean(layer.offsets[offset]) for offset in self.offsets]
        distances = [layer.mean(values) for values in layer.distances.unbind(-1)]
        return {"mass": torch.stack(mass, -1), "distances": torch.stack(distances, -1)}

    def compute(self) -> PositionResult:
        signed, absolute = self.mean("distances")
        return PositionResult(
            self.n_segments,
            tuple(self.offsets),
            self.mean("mass"),
            signed,
            absolute,
            model_name=self.model_name,
        )
