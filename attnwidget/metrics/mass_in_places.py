"""Attention to given regions of pictures: mass, lift and pointing game, with a control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadHeatMap, per_head
from attnwidget.corpus.resume_file import digest_of
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.kernels.significance import better_than, holm
from attnwidget.metrics.picture_patches import patches_of
from attnwidget.text.index_among import index_among
from attnwidget.text.patch_geometry import Patches, Region
from attnwidget.text.places import Box
from attnwidget.text.tokens import Tokens

#: Region of a picture: a box, boxes that may overlap, or a mask, bool [height, width].
PlaceChoice = Box | Sequence[Box] | NDArray[np.bool_]

_QUERIES = ("cls", "last", "mean")
_SAID = {"cls": "[CLS]", "last": "the last token", "mean": "all tokens"}
_LEVEL = 0.05
# Lifts that differ by less count as equal, because weights are float32.
_SAME_LIFT = 1e-6
# Sums over pictures: `known` counts pictures with weight on patches, and `compared` counts those
# that also have a control.
_SUMS = (
    "in_picture",
    "known",
    "mass",
    "lift",
    "pointing",
    "compared",
    "control_lift",
    "control_pointing",
    "wins",
    "losses",
)


@dataclass(frozen=True, eq=False, repr=False)
class MassInPlacesResult(SegmentMeansResult):
    """Attention of a query to given regions, with the regions of other pictures as a control.

    All values are means over the pictures with a region among the pixels that the model sees. The
    figure is the lift of every head; dots mark heads whose p-value is below 0.05.

    Attributes:
        lift: Mean of the mass divided by the share of even attention, [L, H]; 1 = even attention.
        mass: Share of the weight on pictures that is in the regions, [L, H].
        pointing: Share of pictures whose patch with the largest weight is in the region, with at
            least 1 % of its area, [L, H].
        control_lift: Lift in the regions of the other pictures, [L, H]; NaN for one picture.
        control_pointing: Share of hits in the regions of the other pictures, [L, H].
        p_values: P-values of the sign test that the lift is larger in the region of the picture
            than in the region of the next picture, [L, H], after Holm's correction over all heads.
        in_picture: Share of the weight that is on pictures, [L, H]; the rest is on tokens without a
            position.
        area: Mean share of even attention in the regions.
        query: Description of the query.
        n_outside: Number of pictures with a region outside of the pixels that the model sees.

    Example:
        >>> import numpy as np
        >>> from attnwidget import Attention, measure_attention
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.metrics import MassInPlaces
        >>> from attnwidget.results import Box
        >>> boxes = [None, Box(0, 0, 0, 16, 32), Box(0, 16, 0, 32, 32)]
        >>> attention = Attention.from_weights(
        ...     np.full((1, 1, 3, 3), [0.5, 0.4, 0.1]), ["[CLS]", "left", "right"], places=boxes,
        ...     images=drawn_shapes(1).images)
        >>> found = measure_attention(attention, [MassInPlaces(Box(0, 0, 0, 8, 32))])
        >>> round(found["mass_in_places"].mass.item(), 3), found["mass_in_places"].lift.round(3)
        (0.4, array([[1.6]]))
    """

    unit: ClassVar[str] = "picture"

    lift: NDArray[np.float64] = field(metadata=per_head("lift"))
    mass: NDArray[np.float64] = field(metadata=per_head("mass"))
    pointing: NDArray[np.float64] = field(metadata=per_head("pointing game"))
    control_lift: NDArray[np.float64] = field(
        metadata=per_head("lift in other places", optional=True)
    )
    control_pointing: NDArray[np.float64] = field(
        metadata=per_head("pointing game in other places", optional=True)
    )
    p_values: NDArray[np.float64]
    in_picture: NDArray[np.float64]
    area: float
    query: str
    n_outside: int

    figure = HeadHeatMap(
        "lift",
        "Attention of {self.query} in the places",
        "lift",
        "{self.model_name}, {self._inputs}{self._dots}",
        marked="_above_control",
    )

    @property
    def _above_control(self) -> NDArray[np.bool_]:
        marked: NDArray[np.bool_] = np.nan_to_num(self.p_values, nan=1.0) < _LEVEL
        return marked

    @property
    def _dots(self) -> str:
        legend = "; dots: more than in places of other pictures, p < 0.05"
        return legend if self._above_control.any() else ""

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head with the largest lift."""
        layer, head = np.unravel_index(int(np.nanargmax(self.lift)), self.lift.shape)
        return int(layer), int(head)


class MassInPlaces(SegmentMeans[MassInPlacesResult]):
    """Metric: share of a query's weight in given regions of pictures, its lift and a pointing game.

    The mass is the share of the weight on pictures that is in the region. A patch that is partly in
    the region counts with the exact share of its area. The lift is the mass divided by the share
    under even attention to all patches, which is the region's share of the area if patches do not
    overlap. The pointing game tests whether the patch with the largest weight is in the region
    (Zhang et al. 2018, *Top-Down Neural Attention by Excitation Backprop*, section 4.1). A patch is
    in the region if at least 1 % of its area is, or 1 % of a region smaller than the patch. Patch
    edges are measured, and this threshold keeps a patch next to the region outside of it.

    **Control.** A head may always look at the center, where objects often are. Therefore every
    picture is also measured in the regions of the other pictures. The p-value compares the region
    of a picture with the region of the next picture: the exact sign test over pictures, corrected
    over heads (Holm 1979).

    Args:
        places: Region of each picture, in order: a `Box`, a list of boxes or a mask, bool [height,
            width], in pixels of the original picture. For one picture, a single box is enough.
        query: Query: "cls", "last" for the last token, "mean" for the mean over all queries, or the
            index of a token.
        sizes: Width and height of each picture, if they differ. The regions of other pictures are
            then scaled to the picture. None = regions are not scaled.

    Raises:
        TypeError: If a region is neither boxes nor a mask.
        ValueError: If there are no regions, or not one per picture; if there is no such query; if
            tokens have no positions in a picture; or if all regions are outside of the pixels that
            the model sees.

    Example:
        >>> from attnwidget import load_model, measure
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.metrics import MassInPlaces
        >>> drawn = drawn_shapes(8)
        >>> metric = MassInPlaces(drawn.boxes)
        >>> metric.options["query"], len(metric.regions)
        ('cls', 8)
    """

    name = "mass_in_places"
    by_rows = True
    of_heads = dict.fromkeys(_SUMS, ())
    of_segments = {"inside": (), "area": ()}

    def __init__(
        self,
        places: Box | Sequence[PlaceChoice] | None = None,
        query: str | int = "cls",
        *,
        sizes: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        if places is None:
            raise ValueError(
                "'mass_in_places' needs the place of each picture: pass the metric with its "
                "places, MassInPlaces([Box(0, left, top, right, bottom), ...])"
            )
        regions = [places] if isinstance(places, Box) else list(places)
        if not regions:
            raise ValueError("expected a place for each picture, got an empty list")
        self.regions = [Region.from_boxes(place) for place in regions]
        if isinstance(query, str) and query not in _QUERIES:
            raise ValueError(f"query is 'cls', 'last', 'mean' or the number of a token: {query!r}")
        self.query = query if isinstance(query, str) else int(query)
        self.sizes = None if sizes is None else [(float(w), float(h)) for w, h in sizes]
        if self.sizes is not None and len(self.sizes) != len(regions):
            raise ValueError(
                f"sizes are the width and height of each picture: expected {len(regions)}, got "
                f"{len(self.sizes)}"
            )

    @property
    def options(self) -> dict[str, Any]:
        parts = [
            (rectangles.tolist(), picture, None if mask is None else [mask.shape, mask.tobytes()])
            for region in self.regions
            for rectangles, picture, mask in region.parts
        ]
        return {"query": self.query, "sizes": self.sizes, "places": digest_of(parts)}

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        self._patches = patches_of(batch, self.name)
        numbers = [self._number(batch, item) for item in range(len(batch.segments))]
        self._regions = [
            self._shares(number, patches)
            for number, patches in zip(numbers, self._patches, strict=True)
        ]
        queries = np.zeros(batch.real.shape)
        for row, tokens, length in zip(queries, batch.tokens, batch.lengths.tolist(), strict=True):
            row[_queries_of(tokens, length, self.query)] = 1
        queries /= queries.sum(1, keepdims=True)
        self._queries = torch.from_numpy(queries).to(batch.real.device)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        rows = layer.of_rows(self._queries)
        weights = torch.einsum("bq,bhqk->bhk", rows, layer.weights.double())
        self._row: Tensor = weights if layer.first == 0 else self._row + weights
        if layer.first + layer.weights.shape[2] < layer.batch.real.shape[1]:
            return {}
        each = [
            _numbers_of(row[:, patches.tokens].cpu().numpy(), shares)
            for row, patches, shares in zip(self._row, self._patches, self._regions, strict=True)
        ]
        return {
            name: torch.from_numpy(np.stack([numbers[name] for numbers in each]))
            for name in each[0]
        }

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        areas = np.array([shares.own.mean() for shares in self._regions])
        return {"inside": torch.from_numpy(areas > 0), "area": torch.from_numpy(areas)}

    def _number(self, batch: Batch, item: int) -> int:
        """Return the picture number of a batch item."""
        number = batch.segments[item].index
        if number is None:
            if len(self.regions) > 1:
                raise ValueError(
                    f"an attention has a single place, got {len(self.regions)}: pass the place of "
                    "its picture, or measure all pictures, measure(model, pictures, [metric])"
                )
            number = 0
        if number >= len(self.regions):
            raise ValueError(
                f"expected a place for each picture, got {len(self.regions)} places, and picture "
                f"{number} has no place"
            )
        return number

    def _shares(self, number: int, patches: Patches) -> _PlaceShares:
        """Return the shares of patches in the region of a picture and in the regions of others."""
        next_lift: NDArray[np.float64] | None = None
        lifts, hits = np.zeros(len(patches)), np.zeros(len(patches))
        n_others = 0
        for step in range(1, len(self.regions)):
            other = (number + step) % len(self.regions)
            region = self.regions[other]
            if self.sizes is not None:
                region = region.scaled(*np.divide(self.sizes[number], self.sizes[other]))
            members = patches.members(region)
            if not members.any():
                continue
            shares = patches.inside(region)
            lift = shares / shares.mean()
            next_lift = lift if next_lift is None else next_lift
            lifts += lift
            hits += members
            n_others += 1
        members = patches.members(self.regions[number])
        own_shares = patches.inside(self.regions[number]) * members.any()
        return _PlaceShares(
            own_shares, members, next_lift, lifts / max(n_others, 1), hits / max(n_others, 1)
        )

    def compute(self) -> MassInPlacesResult:
        n_inside = int(self.counted("inside"))
        if not n_inside:
            raise ValueError(
                "all places are outside of the pixels that the model sees: places are in pixels of "
                "the pictures as they were given"
            )
        with np.errstate(invalid="ignore"):
            mass, lift, pointing = (
                self.mean(name) / self.mean("known") for name in ("mass", "lift", "pointing")
            )
            control_lift, control_pointing = (
                self.mean(name) / self.mean("compared")
                for name in ("control_lift", "control_pointing")
            )
        counts = [np.rint(self.mean(name) * self.n_segments) for name in ("wins", "losses")]
        p_values = np.where(
            np.isnan(control_lift), np.nan, better_than(*map(np.nan_to_num, counts))
        )
        return MassInPlacesResult(
            n_inside,
            lift,
            mass,
            pointing,
            control_lift,
            control_pointing,
            holm(p_values),
            self.mean("in_picture", over="inside"),
            float(self.mean("area", over="inside")),
            _SAID[self.query] if isinstance(self.query, str) else f"token {self.query}",
            self.n_segments - n_inside,
            model_name=self.model_name,
        )


@dataclass(frozen=True, eq=False)
class _PlaceShares:
    """Shares of the P patches of a picture that are in regions.

    Attributes:
        own: Share in the region of the picture, [P]; 0 if no patch is in it.
        members: Whether each patch is in the region of the picture, bool [P].
        next: Share in the region of the next picture, divided by the mean over the patches, [P];
            None if there is no other region.
        lifts: Mean of these quotients over all other pictures, [P].
        hits: Share of the other regions that include the patch, [P].
    """

    own: NDArray[np.float64]
    members: NDArray[np.bool_]
    next: NDArray[np.float64] | None
    lifts: NDArray[np.float64]
    hits: NDArray[np.float64]


def _numbers_of(row: NDArray[np.float64], places: _PlaceShares) -> dict[str, NDArray[np.float64]]:
    """Return the values of all heads for one picture, each [H]; `row` [H, P]."""
    numbers = {name: np.zeros(len(row)) for name in _SUMS}
    if not places.own.any():
        return numbers
    total = row.sum(1)
    has_weight = (total > 0).astype(np.float64)
    shares = row / np.where(total > 0, total, 1)[:, None]
    strongest = shares.argmax(1)
    numbers["in_picture"] = total
    numbers["known"] = has_weight
    numbers["mass"] = shares @ places.own
    numbers["lift"] = numbers["mass"] / places.own.mean()
    numbers["pointing"] = has_weight * places.members[strongest]
    if places.next is not None:
        next_lift = shares @ places.next
        numbers["compared"] = has_weight
        numbers["control_lift"] = shares @ places.lifts
        numbers["control_pointing"] = has_weight * places.hits[strongest]
        # Lifts that should be equal, for example under even attention, differ by rounding.
        equal = np.isclose(numbers["lift"], next_lift, rtol=_SAME_LIFT, atol=_SAME_LIFT)
        numbers["wins"] = (~equal & (numbers["lift"] > next_lift)).astype(np.float64)
        numbers["losses"] = (~equal & (numbers["lift"] < next_lift)).astype(np.float64)
    return numbers


def _queries_of(tokens: Tokens, length: int, query: str | int) -> int | slice:
    """Return the query index or indices of an input.

    Raises:
        ValueError: If there is no such query.
    """
    if query == "mean":
        return slice(0, length)
    if query == "last":
        return length - 1
    if query == "cls":
        if "cls" not in tokens.special:
            raise ValueError(
                "this input has no [CLS], whose attention 'mass_in_places' measures: choose a "
                "query, MassInPlaces(places, query='mean'), 'last' or the number of a token"
            )
        return tokens.special.index("cls")
    return index_among("query", int(query), length)
