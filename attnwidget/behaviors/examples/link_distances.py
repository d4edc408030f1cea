"""Shares of each head's attention by the distance between query and key."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.behaviors.effects.rule_links import ordinary_tokens
from attnwidget.corpus.accumulator import Accumulator, LayerBatch, Subject
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head

#: Smallest distances of the bins on each side of the query, in tokens.
_EDGES = (1, 2, 3, 4, 8, 16)
_RANGES = ("1", "2", "3", "4–7", "8–15", "16+")
#: Names of the bins, from earlier keys to later keys.
DISTANCES = (
    *(f"{name} before" for name in reversed(_RANGES)),
    "itself",
    *(f"{name} after" for name in _RANGES),
)
_ITSELF = len(_EDGES)
# Number of bins on each side with distances up to 3 tokens.
_NEAR = 3


@dataclass(frozen=True, eq=False, repr=False)
class LinkDistances(HeadResult):
    """Shares of attention by distance in tokens, over the texts of an atlas.

    Queries and keys are ordinary tokens: special tokens, and the first token of a causal model, do
    not count, because heads rest on them. `Atlas.distances` has the result.

    Attributes:
        shares: Share of a head's attention at each distance, [13, L, H], in the order of
            `distances`; they sum to 1. NaN for a head without attention between ordinary tokens.
        near: Share of a head's attention up to three tokens away, [L, H].
        n_segments: Number of texts.
        distances: Names of the distances, such as "1 before" and "4–7 after".
        model_name: Name of the model.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> found = demo_atlas().distances
        >>> float(found.heads()["1 before"][0, 2].round(2))
        0.99
    """

    shares: NDArray[np.float64] = field(metadata=per_head("{name}", curve="", each="distances"))
    n_segments: int
    distances: tuple[str, ...] = DISTANCES

    figure = HeadHeatMap(
        "near",
        "Attention up to three tokens away",
        "share of attention",
        subtitle="{self.model_name}, {self.n_segments} texts",
    )

    @property
    def near(self) -> NDArray[np.float64]:
        """Share of a head's attention up to three tokens away, [L, H]."""
        near: NDArray[np.float64] = self.shares[_ITSELF - _NEAR : _ITSELF + _NEAR + 1].sum(0)
        return near


class LinkDistanceSums(Accumulator[LinkDistances]):
    """Sums of attention by distance; see `LinkDistances`.

    Args:
        causal: Whether each token sees only itself and earlier tokens.
    """

    name = "distances"
    along_line = True

    def __init__(self, *, causal: bool) -> None:
        self._causal = causal

    def start(self, subject: Subject) -> None:
        super().start(subject)
        heads = self.n_layers, self.n_heads
        self.sums = {
            "mass": np.zeros((len(DISTANCES), *heads)),
            "segments": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        queries = ordinary_tokens(layer.batch)
        keys = queries.clone()
        if self._causal:
            keys[:, 0] = False
        counted = (queries[:, :, None] & keys[:, None])[:, None]
        mass = torch.where(counted, layer.weights.double(), 0.0).sum(0).flatten(1)  # [H, n * n]
        bins = distance_bins(layer.weights.shape[-1]).to(mass.device).flatten()
        sums = mass.new_zeros(self.n_heads, len(DISTANCES)).index_add_(1, bins, mass)
        self.sums["mass"][:, layer.layer] += sums.T.cpu().numpy()
        if layer.layer == 0:
            self.sums["segments"] += len(layer.batch.segments)

    def compute(self) -> LinkDistances:
        mass = self.sums["mass"]
        total = mass.sum(0)
        shares = np.divide(mass, total, out=np.full(mass.shape, np.nan), where=total > 0)
        return LinkDistances(
            self.layers.spread(shares, axis=1),
            int(self.sums["segments"]),
            model_name=self.model_name,
        )


def distance_bins(n: int) -> torch.Tensor:
    """Return the index in `DISTANCES` of each pair of query and key, int64 [n, n].

    Example:
        >>> from attnwidget.behaviors.examples.link_distances import DISTANCES, distance_bins
        >>> [DISTANCES[index] for index in distance_bins(6)[5].tolist()]
        ['4–7 before', '4–7 before', '3 before', '2 before', '1 before', 'itself']
    """
    positions = torch.arange(n, dtype=torch.int64, device="cpu")
    offsets = positions - positions[:, None]  # key minus query
    edges = torch.tensor(_EDGES, dtype=torch.int64, device="cpu")
    sizes = torch.bucketize(offsets.abs(), edges, right=True)
    return _ITSELF + sizes * offsets.sign()
