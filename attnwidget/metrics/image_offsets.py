"""Attention in pictures by column and row offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.head import HeadName, head_of_result, listed_heads
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadMetrics
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.metrics.picture_patches import patches_of, rows_of
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt

# Number of heads in the figure if the caller names none.
_SHOWN = 8
_NEAR = {
    "itself": (0, 0),
    "left": (0, -1),
    "right": (0, 1),
    "above": (-1, 0),
    "below": (1, 0),
}


@dataclass(frozen=True, eq=False, repr=False)
class ImageOffsetsResult(SegmentMeansResult):
    """Attention between patches by offset: down in rows, right in columns.

    Attributes:
        weights: Mean weight between two patches at each offset, [L, H, 2R - 1, 2C - 1] for pictures
            of up to R x C patches; NaN for offsets without any pair. The center is the patch
            itself; keys to the right of the query are further right, and keys below it further
            down.
        shares: Mean share of a patch's weight at each offset, of the same shape. The sum is the
            share of the weight on patches at these offsets. Far offsets have small shares because
            few patches have a neighbor there.
        farther: Mean share of the weight on patches of the same picture beyond these offsets,
            [L, H].
        even: Mean weight under even attention to all tokens.

    Example:
        >>> from attnwidget import Attention, measure_attention
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.results import Box
        >>> import numpy as np
        >>> boxes = [Box(0, x, 0, x + 8, 32) for x in (0, 8, 16, 24)]
        >>> to_the_right = np.eye(4)[[1, 2, 3, 3]][None, None]
        >>> attention = Attention.from_weights(
        ...     to_the_right, list("abcd"), places=boxes, images=drawn_shapes(1).images)
        >>> found = measure_attention(attention, ["image_offsets"])["image_offsets"]
        >>> found.weights.shape, found.weights[0, 0, 0].tolist()
        ((1, 1, 1, 7), [0.0, 0.0, 0.0, 0.25, 1.0, 0.0, 0.0])
    """

    unit: ClassVar[str] = "picture"

    weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    farther: NDArray[np.float64]
    even: float

    @property
    def max_offset(self) -> tuple[int, int]:
        """Largest offset in rows and in columns."""
        down, right = self.weights.shape[2:]
        return down // 2, right // 2

    def heads(self) -> HeadMetrics:
        """Return the mean weight on the patch itself and on its four neighbors."""
        down, right = self.max_offset
        weights = {}
        for name, (row, column) in _NEAR.items():
            if abs(row) <= down and abs(column) <= right:
                weights[f"weight {name}"] = self.weights[..., down + row, right + column]
        return weights

    def chart(
        self, heads: HeadName | Iterable[HeadName] | None = None, *, width: int = 640
    ) -> alt.TopLevelMixin:
        """Draw a map of offsets for some heads. The center of a map is the patch itself.

        Args:
            heads: Head or heads to draw, each as (1, 3), "L1 H3" or a `Head`; None = the eight
                heads with the largest differences between weights.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If there is no such head.
        """
        from attnwidget.charts.offset_maps import offset_maps

        n_layers, n_heads = self.weights.shape[:2]
        if heads is None:
            spread = np.nan_to_num(np.nanstd(self.weights.reshape(n_layers * n_heads, -1), axis=1))
            order = np.argsort(spread)[::-1][:_SHOWN]
            cells = sorted(divmod(int(index), n_heads) for index in order)
        else:
            shape = self.weights.shape
            selected_heads = [head_of_result(name, None, shape) for name in listed_heads(heads)]
            cells = [(head.layer, head.head) for head in selected_heads]
        return offset_maps(
            {f"L{layer} H{head}": self.weights[layer, head] for layer, head in cells},
            title=f"Attention by offset in patches\n{self.model_name}, "
            f"{counted(self.n_documents, 'picture')}; even attention is {self.even:.2g}",
            value_title="mean weight",
            width=width,
        )


class ImageOffsets(SegmentMeans[ImageOffsetsResult]):
    """Metric: mean weight between patches of a picture by the offset in rows and columns.

    A head that attends to a neighbor has a point in this map, a local head a blob, and a head that
    attends along the row a line. These maps replace "position" and "patterns", which are only
    defined for sequences (Cordonnier et al. 2020, section 4, for heads at fixed offsets).

    Only pairs of patches of the same picture and of equal size have an offset. Weights are those of
    the model, without division by the share on the picture.

    Args:
        max_offset: Largest offset in patches; weights at larger offsets are summed to `farther`.

    Raises:
        ValueError: If `max_offset` is below 1, tokens have no positions in a picture, or their
            positions are not in rows and columns.

    Example:
        >>> from attnwidget.metrics import ImageOffsets
        >>> ImageOffsets(max_offset=3).options
        {'max_offset': 3}
    """

    name = "image_offsets"
    by_rows = True

    def __init__(self, max_offset: int = 15) -> None:
        self.max_offset = whole_number("max_offset", max_offset, 1, "patch")
        side = 2 * self.max_offset + 1
        self.of_heads = {"sums": (side, side), "picture": ()}
        self.of_segments = {"pairs": (side, side), "queries": (), "even": ()}

    @property
    def options(self) -> dict[str, Any]:
        return {"max_offset": self.max_offset}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._patches = patches_of(layer.batch, self.name)
        self._rasters = [patches.rasters() for patches in self._patches]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        weights = layer.weights
        n_inputs, n_heads = weights.shape[:2]
        side = 2 * self.max_offset + 1
        device = weights.device
        sums = torch.zeros(n_inputs, n_heads, side**2, dtype=torch.float64, device=device)
        picture = torch.zeros(n_inputs, n_heads, dtype=torch.float64, device=device)
        for item, (patches, rasters) in enumerate(zip(self._patches, self._rasters, strict=True)):
            some, rows = rows_of(patches, layer)
            if some.start == some.stop:
                continue
            near = torch.from_numpy(patches.tokens).to(device)
            patch_weights = weights[item][:, rows][..., near].double()  # [H, Q, P]
            bins, same = self._bins(rasters, some)
            within = torch.from_numpy(np.flatnonzero(bins >= 0)).to(device)
            numbers = torch.from_numpy(bins[bins >= 0]).to(device)
            sums[item].index_add_(1, numbers, patch_weights.flatten(1)[:, within])
            picture[item] = (patch_weights * torch.from_numpy(same).to(device)).sum((1, 2))
        return {"sums": sums.unflatten(-1, (side, side)), "picture": picture}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        side = 2 * self.max_offset + 1
        pairs = np.zeros((len(self._rasters), side**2))
        for input_pairs, rasters in zip(pairs, self._rasters, strict=True):
            for query in range(len(rasters)):
                bins, _ = self._bins(rasters, slice(query, query + 1))
                input_pairs += np.bincount(bins[bins >= 0], minlength=side**2)
        return {
            "pairs": torch.from_numpy(pairs.reshape(-1, side, side)),
            "queries": torch.from_numpy(
                np.array([float(len(rasters)) for rasters in self._rasters])
            ),
            "even": 1 / batch.lengths.double(),
        }

    def _bins(
        self, rasters: NDArray[np.int64], queries: slice
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the index of each pair's offset, or -1, and whether the offset exists, [Q, P]."""
        steps = rasters[:, 1:] - rasters[queries, None, 1:]
        same = rasters[queries, None, 0] == rasters[:, 0]
        is_near = same & np.all(np.abs(steps) <= self.max_offset, axis=2)
        side = 2 * self.max_offset + 1
        bins = (steps[..., 0] + self.max_offset) * side + steps[..., 1] + self.max_offset
        return np.where(is_near, bins, -1), same

    def compute(self) -> ImageOffsetsResult:
        pairs = self.sums["pairs"]
        rows, columns = np.nonzero(pairs)
        # Positive and negative offsets are equally frequent, so the largest positive offsets
        # suffice.
        down, right = int(rows.max()) - self.max_offset, int(columns.max()) - self.max_offset
        window = (
            slice(self.max_offset - down, self.max_offset + down + 1),
            slice(self.max_offset - right, self.max_offset + right + 1),
        )
        shares = self.mean("sums", over="queries")[window]
        return ImageOffsetsResult(
            self.n_segments,
            np.moveaxis(self.mean("sums", over="pairs")[window], (0, 1), (2, 3)),
            np.moveaxis(shares, (0, 1), (2, 3)),
            (self.mean("picture", over="queries") - shares.sum((0, 1))).clip(min=0),
            float(self.mean("even")),
            model_name=self.model_name,
        )
