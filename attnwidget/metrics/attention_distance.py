"""Mean distance of attention in pictures (Dosovitskiy et al. 2021, appendix D.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import LayerCurves, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.metrics.picture_patches import patches_of, rows_of
from attnwidget.text.patch_geometry import Patches

PIXELS, PATCHES = "mean distance (pixels)", "mean distance (patches)"


def patch_distances(
    patches: Patches,
    queries: slice = slice(None),
    units: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the distances between patch centers in pixels and in patches, [2, Q, P].

    In patches, a step to the next column or row counts as 1, whatever the shape of a patch. The
    distance between patches of different pictures is NaN.

    Args:
        patches: P patches.
        queries: Slice of the Q patches from which distances are measured.
        units: Known value of `patches.units`; None = computed here.

    Example:
        >>> from attnwidget.metrics.attention_distance import patch_distances
        >>> from attnwidget.text.patch_geometry import Patches
        >>> from attnwidget.text.places import Box
        >>> patches = Patches.from_regions([Box(0, 0, 0, 8, 4), Box(0, 8, 0, 16, 4)])
        >>> patch_distances(patches)[:, 0, 1].tolist()
        [8.0, 1.0]
    """
    units = patches.units if units is None else units
    steps = patches.centers - patches.centers[queries, None]  # [Q, P, 2], key minus query
    distances = np.stack((np.hypot(*steps.T).T, np.hypot(*(steps / units[queries, None]).T).T))
    distances[:, patches.pictures[queries, None] != patches.pictures] = np.nan
    return distances


@dataclass(frozen=True, eq=False, repr=False)
class AttentionDistanceResult(SegmentMeansResult):
    """Mean distance between patches and the patches that they attend to.

    The figure has the distance in pixels (Dosovitskiy et al. 2021, Figure 7).

    Attributes:
        pixels: Mean distance in pixels of the original pictures, [L, H].
        patches: Mean distance in patches, [L, H].
        in_picture: Mean share of a patch's weight on patches of the same picture, [L, H]. The rest
            is on tokens without a position, such as [CLS] and registers.
        even_pixels: Distance in pixels under even attention to all patches.
        even_patches: Distance in patches under even attention to all patches.

    Example:
        >>> from attnwidget import Attention, measure_attention
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.results import Box
        >>> import numpy as np
        >>> boxes = [Box(0, x, 0, x + 8, 32) for x in (0, 8, 16, 24)]
        >>> maps = np.eye(4)[[1, 2, 3, 0]][None, None]
        >>> attention = Attention.from_weights(
        ...     maps, list("abcd"), places=boxes, images=drawn_shapes(1).images)
        >>> found = measure_attention(attention, ["attention_distance"])["attention_distance"]
        >>> found.patches.tolist(), found.pixels.tolist(), found.even_patches
        ([[1.5]], [[12.0]], 1.25)
    """

    unit: ClassVar[str] = "picture"

    pixels: NDArray[np.float64] = field(metadata=per_head(PIXELS, curve="mean distance"))
    patches: NDArray[np.float64] = field(metadata=per_head(PATCHES, curve=""))
    in_picture: NDArray[np.float64]
    even_pixels: float
    even_patches: float

    figure = LayerCurves(
        "Attention distance", "distance (pixels)", {"even attention": "self.even_pixels"}
    )


class AttentionDistance(SegmentMeans[AttentionDistanceResult]):
    """Metric: mean distance between a patch and the patches that it attends to.

    This is the metric of Dosovitskiy et al. 2021, Figure 7 and appendix D.7: the distance between
    two patches times the attention weight, summed over the attended patches and averaged over the
    attending patches. Weights are divided by their sum over the patches of the same picture, since
    [CLS] and registers have no position. Patches without any weight on the picture do not count.

    The values are averaged over pictures. They are in pixels of the original picture, and in
    patches. In higher layers, a token also has information from other patches: the distance is
    between the patches from which the tokens started.

    Raises:
        ValueError: If tokens have no positions in a picture.

    Example:
        >>> from attnwidget.metrics import AttentionDistance
        >>> AttentionDistance().name
        'attention_distance'
    """

    name = "attention_distance"
    by_rows = True
    of_heads = {"distances": (2,), "in_picture": (), "queries": ()}
    of_segments = {"even": (2,)}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._patches = patches_of(layer.batch, self.name)
        self._units = [patches.units for patches in self._patches]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        weights = layer.weights
        size = weights.shape[:2]
        distances = torch.zeros(*size, 2, dtype=torch.float64, device=weights.device)
        in_picture = torch.zeros(size, dtype=torch.float64, device=weights.device)
        queries = torch.zeros_like(in_picture)
        for item, (patches, units) in enumerate(zip(self._patches, self._units, strict=True)):
            some, rows = rows_of(patches, layer)
            if some.start == some.stop:
                continue
            between = torch.from_numpy(patch_distances(patches, some, units)).to(weights.device)
            near = torch.from_numpy(patches.tokens).to(weights.device)
            patch_weights = weights[item][:, rows][..., near].double()  # [H, Q, P]
            patch_weights = patch_weights * ~between[0].isnan()
            share = patch_weights.sum(-1)
            has_share = share > 0
            # Sum over keys of weight times distance, [H, Q, 2].
            sums = torch.einsum("hqp,dqp->hqd", patch_weights, between.nan_to_num())
            means = sums / share.where(has_share, share.new_ones(()))[..., None]
            distances[item] = (means * has_share[..., None]).sum(1) / len(patches)
            in_picture[item] = share.sum(1) / len(patches)
            queries[item] = has_share.sum(1) / len(patches)
        return {"distances": distances, "in_picture": in_picture, "queries": queries}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        even = []
        for patches, units in zip(self._patches, self._units, strict=True):
            sums = np.zeros(2)
            for query in range(len(patches)):
                sums += np.nanmean(patch_distances(patches, slice(query, query + 1), units), (1, 2))
            even.append(sums / len(patches))
        return {"even": torch.from_numpy(np.stack(even))}

    def compute(self) -> AttentionDistanceResult:
        pixels, patches = self.mean("distances") / self.mean("queries")
        even_pixels, even_patches = map(float, self.mean("even"))
        return AttentionDistanceResult(
            self.n_segments,
            pixels,
            patches,
            self.mean("in_picture"),
            even_pixels,
            even_patches,
            model_name=self.model_name,
        )
