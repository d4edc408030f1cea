"""Attention by relative position (Clark et al. 2019, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.corpus.argument_checks import each_once
from attnwidget.corpus.results import HeadMetrics, LayerCurves, extreme_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.kernels.cells_at_once import cells_at_once
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent
from attnwidget.text.whole_number import whole_numbers

if TYPE_CHECKING:
    import altair as alt

# Number of series that a figure can distinguish by color.
_CURVES = 6
_GIVES = (" gives more than half of its attention", " give more than half of their attention")
_HALF = 0.5
"""Share of attention above which Clark et al. count a head as looking at an offset."""
_OFFSETS = {-1: "previous token", 0: "current token", 1: "next token"}


# Number of weights that are copied to float64 at a time: 2 MB, which fit into the cache.
_CELLS_AT_ONCE = 256 * 1024


def offset_mass(
    weights: Tensor, row_weights: Tensor, offsets: Sequence[int], first: int = 0
) -> Tensor:
    """Return the mean attention from a token to the token at each offset; 0 is the token itself.

    The sum is sum_i r_i a[i, i + offset], over the queries that have such a key. With r_i = 1/n,
    the divisor is n at every offset, although only n - |offset| queries have a key there (Clark et
    al. 2019, 3.1).

    Args:
        weights: Attention weights [B, H, n, n], or consecutive rows of them.
        row_weights: Weight r_i of each of these rows, [B, rows]; 0 for padding.
        offsets: Key position minus query position, in tokens (O).
        first: Query of the first row.

    Returns:
        Mean attention, [B, H, O].

    Example:
        >>> import torch
        >>> from attnwidget.metrics.position import offset_mass
        >>> to_next = torch.diag(torch.ones(3), 1)[None, None]
        >>> offset_mass(to_next, torch.full((1, 4), 0.25), [-1, 0, 1])
        tensor([[[0.0000, 0.0000, 0.7500]]])
    """
    n_rows, n = weights.shape[-2:]
    mass = weights.new_zeros(*weights.shape[:2], len(offsets))
    for k, offset in enumerate(first + offset for offset in offsets):
        if -n_rows < offset < n:
            rows = row_weights[:, None, max(0, -offset) : min(n_rows, n - offset)]
            mass[..., k] = torch.linalg.vecdot(weights.diagonal(offset, -2, -1), rows)
    return mass


def mean_distances(weights: Tensor, row_weights: Tensor, first: int = 0) -> Tensor:
    """Return the mean signed and absolute distances, in tokens, from queries to attended tokens.

    The signed distance is sum_ij r_i a[i, j] (j - i), which is negative if a head attends to
    earlier tokens. The absolute distance has |j - i| instead.

    Args:
        weights: Attention weights [B, H, n, n] with 0 in padding columns, or consecutive rows of
            them.
        row_weights: Weight r_i of each of these rows, [B, rows]; 0 for padding.
        first: Query of the first row.

    Returns:
        Signed and absolute distances, [B, H, 2]. They are float64, because n * n terms of up to n
        would lose digits in float32.

    Example:
        >>> import torch
        >>> from attnwidget.metrics.position import mean_distances
        >>> weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]])
        >>> mean_distances(weights, torch.full((1, 2), 0.5))
        tensor([[[-0.2500,  0.7500]]], dtype=torch.float64)
    """
    n_documents, n_heads, n_rows, n = weights.shape
    positions = torch.arange(n, device=weights.device, dtype=torch.float64)
    total = positions.new_zeros(n_documents, n_heads, 2)
    cells = cells_at_once(weights.device, _CELLS_AT_ONCE)
    step = max(1, min(n_rows, cells // max(1, n_heads * n)))
    n_at_once = max(1, cells // max(1, n_heads * n_rows * n))
    # All blocks share one buffer: allocating memory for each block would cost more than the
    # products.
    buffer = positions.new_empty(min(n_at_once, n_documents), n_heads, step, n)
    for document in range(0, n_documents, n_at_once):
        documents = slice(document, min(document + n_at_once, n_documents))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            block = buffer[: documents.stop - document, :, : rows.stop - start]
            block.copy_(weights[documents, :, rows])
            total[documents] += _distances(
                block, row_weights[documents, rows].double(), first + start
            )
    return total


def _distances(weights: Tensor, row_weights: Tensor, first: int) -> Tensor:
    """Return the sums of signed and absolute distances of some rows, [B, H, 2], all in float64."""
    n_rows, n = weights.shape[-2:]
    query = torch.arange(n_rows, device=weights.device, dtype=torch.float64)
    key = torch.arange(n, device=weights.device, dtype=torch.float64) - first
    factors = torch.stack([row_weights, row_weights * query], 1)[:, None]  # [B, 1, 2, r]
    received, query_sums = (factors @ weights).unbind(2)
    signed = key * received - query_sums  # sum_i r_i a[i, j] (j - i), [B, H, n]
    # Keys before or after all of these queries have distances of one sign.
    block = slice(min(first, n), min(first + n_rows, n))
    between = (key[block] - query[:, None]).abs() * row_weights[..., None]  # [B, r, block]
    absolute = signed[..., : block.start].abs().sum(-1) + signed[..., block.stop :].abs().sum(-1)
    absolute += (weights[..., block] * between[:, None]).sum((-2, -1))
    return torch.stack([signed.sum(-1), absolute], -1)


@dataclass(frozen=True, eq=False, repr=False)
class PositionResult(SegmentMeansResult):
    """Attention by relative position.

    Attributes:
        offsets: Offsets from the query (K), as requested.
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

    @property
    def finding(self) -> str:
        """The heads that give more than half of their attention to one offset."""
        masses = dict(zip(self.heads(), self.mass, strict=False))
        parts: list[str] = []
        for title, mass in masses.items():
            if n_heads := int((mass > _HALF).sum()):
                name, share = extreme_head(mass)
                most = "" if n_heads == 1 else "most in "
                verb = "" if parts else _GIVES[n_heads > 1]
                parts.append(
                    f"{counted(n_heads, 'head')}{verb} to the {title} "
                    f"({most}{name}, {percent(share)})"
                )
        if parts:
            return ", ".join(parts)
        title = max(masses, key=lambda title: np.nanmax(masses[title]))
        name, share = extreme_head(masses[title])
        return (
            "No head gives more than half of its attention to one offset: the largest share is "
            f"{percent(share)}, from {name} to the {title}"
        )

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw mean attention to each offset over the layers (Clark et al. 2019, section 3.1).

        A dashed line marks one half of the attention, from which the paper calls a head a
        previous-token or next-token head. All heads above the line are named. If there are too many
        offsets for a figure, only the nearest are drawn, and the title says so.

        Args:
            width: Width of the whole figure in pixels.
        """
        by_offset = dict(zip(self.offsets, self.heads().items(), strict=False))
        nearest = sorted(sorted(self.offsets, key=abs)[:_CURVES])
        n_left_out = len(self.offsets) - len(nearest)
        title = "Attention by relative position"
        title += f" (without {counted(n_left_out, 'farther offset')})" if n_left_out else ""
        selected = dict(by_offset[offset] for offset in nearest)
        return LayerCurves(title, threshold=_HALF).draw(self, selected, width=width)


class Position(SegmentMeans[PositionResult]):
    """Metric: attention by offset, mean signed distance and mean absolute distance.

    This is the metric of Clark et al. 2019, section 3.1: the mean over all queries of a document,
    including special tokens, then over documents. The divisor is the number of queries at every
    offset.

    Args:
        offsets: Offsets from the query; 0 is the token itself, -1 the previous token.

    Raises:
        ValueError: If there is no offset, or an offset occurs twice.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Position
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat."], model)
        >>> found = measure(model, segments, [Position(range(-2, 3))], progress=False)
        >>> found["position"].mass.shape
        (5, 6, 12)
    """

    name = "position"
    along_line = True
    by_rows = True

    def __init__(self, offsets: Iterable[int] = (-1, 0, 1)) -> None:
        self.offsets = each_once("offsets", whole_numbers("offsets", offsets))
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
