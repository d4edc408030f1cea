"""Jensen-Shannon distances between the maps of all pairs of heads (Clark et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.corpus.accumulator import (
    Accumulator,
    Batch,
    LayerBatch,
    Subject,
    refuse_kept_maps,
)
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.divergence import js_divergences
from attnwidget.metrics.clustering import (
    HeadEmbedding,
    Linkage,
    cluster_tree,
    cut_tree,
    embed_distances,
)
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    from numpy.typing import ArrayLike

# Memory per segment in multiples of its maps: all layers, the visible cells and smoothed weights.
_COPIES = 3


@dataclass(frozen=True, eq=False, repr=False)
class HeadDistances(HeadResult):
    """Distances between all heads of a stack (Clark et al. 2019, section 6).

    `distances` are sums over documents and query tokens, as in the paper. All other values are
    means in nats per token. A Jensen-Shannon divergence is at most ln 2 = 0.693.

    Attributes:
        distances: Distances in nats, summed over tokens, float64 [L H, L H]; head h of layer l has
            the index l H + h.
        n_tokens: Number of query tokens, including special tokens.
        n_documents: Number of documents.
        n_layers: Number of layers L.
        n_heads: Number of heads H.
        stack: Stack of the heads: "self", or "encoder" in an encoder-decoder.
        model_name: Name of the model.
        layers_without_attention: Layers without attention in a hybrid model. Their heads are NaN in
            `distances`.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> attention = load_model().attend("The cat sat.")
        >>> found = measure_attention(attention, ["distances"])["distances"]
        >>> found.distances.shape, found.n_tokens, found.cluster(4).shape
        ((72, 72), 6, (6, 12))
    """

    distances: NDArray[np.float64]
    n_tokens: int
    n_documents: int
    n_layers: int
    n_heads: int
    stack: str
    layers_without_attention: tuple[int, ...] = ()
    # Scaling takes seconds, so a chart, a map and its caption share the result.
    _embeddings: dict[tuple[int, int], HeadEmbedding] = field(default_factory=dict, init=False)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean distances in nats per token, [L H, L H]."""
        return self.distances / max(self.n_tokens, 1)

    def heads(self) -> HeadMetrics:
        """Return the mean distance of each head to all other heads, and to the nearest head."""
        mean = self._of_measured_heads()
        n_others = len(mean) - 1
        without_self = mean + np.diag(np.full(n_others + 1, np.inf if n_others else np.nan))
        return {
            "distance to other heads": self._of_all_heads(mean.sum(1) / max(n_others, 1)),
            "distance to nearest head": self._of_all_heads(without_self.min(1)),
        }

    @property
    def _measured(self) -> NDArray[np.intp]:
        """Indices in `distances` of the heads of layers with attention."""
        layers = LayerNumbers.without(self.layers_without_attention, self.n_layers)
        first = np.array(layers.numbers)[:, None] * self.n_heads
        return (first + np.arange(self.n_heads)).ravel()

    def _of_measured_heads(self) -> NDArray[np.float64]:
        """Return `mean` for the heads of layers with attention."""
        return self.mean[np.ix_(self._measured, self._measured)]

    def _of_all_heads(self, values: NDArray[Any], fill: float = np.nan) -> NDArray[Any]:
        """Spread values of the heads with attention over all heads, [L, H, ...]."""
        all_values = np.full((self.n_layers * self.n_heads, *values.shape[1:]), fill, values.dtype)
        all_values[self._measured] = values
        return all_values.reshape(self.n_layers, self.n_heads, *values.shape[1:])

    def between_layers(self) -> NDArray[np.float64]:
        """Return the mean distance between heads of two layers: [L, L], nats per token.

        The diagonal is `within_layer`.
        """
        size = (self.n_layers, self.n_heads, self.n_layers, self.n_heads)
        sums = self.mean.reshape(size).sum((1, 3))
        pairs = np.full_like(sums, self.n_heads**2)
        np.fill_diagonal(pairs, self.n_heads * (self.n_heads - 1))
        with np.errstate(invalid="ignore"):  # A layer with one head has no pairs.
            return sums / pairs

    def within_layer(self) -> NDArray[np.float64]:
        """Return the mean distance within each layer: [L], nats per token; NaN for one head."""
        return self.between_layers().diagonal().copy()

    @property
    def finding(self) -> str:
        """Whether heads of one layer attend more alike than heads of different layers."""
        between = self.between_layers()
        is_other = ~np.eye(len(between), dtype=bool)
        if self.n_heads == 1 or np.isnan(between[is_other]).all():
            return ""
        within, across = np.nanmean(between.diagonal()), np.nanmean(between[is_other])
        alike = "more alike than" if within < across else "no more alike than"
        return (
            f"Heads of one layer attend {alike} heads of different layers: their mean distance is "
            f"{within:.3f} nats, and {across:.3f} nats between layers"
        )

    def embed(self, seed: int = 0, n_init: int = 5) -> HeadEmbedding:
        """Place heads in the plane by metric multidimensional scaling, the best of `n_init` starts.

        The divergences are used as distances, without a square root, as in Clark et al. (Figure 6).
        """
        if (seed, n_init) not in self._embeddings:
            distances = self._of_measured_heads()
            positions, stress, raw = embed_distances(distances, seed=seed, n_init=n_init)
            head_positions = self._of_all_heads(positions)
            self._embeddings[seed, n_init] = HeadEmbedding(head_positions, stress, raw, seed)
        return self._embeddings[seed, n_init]

    def tree(self, method: Linkage = "average") -> NDArray[np.float64]:
        """Return the tree of hierarchical clustering for scipy's `dendrogram`: [heads - 1, 4].

        The tree does not include the heads of layers without attention.
        """
        return cluster_tree(self._of_measured_heads(), method)

    def cluster(self, n_clusters: int, method: Linkage = "average") -> NDArray[np.int64]:
        """Return the cluster of each head, from 0, by hierarchical clustering: int64 [L, H].

        Heads of layers without attention have the cluster -1.

        Raises:
            ValueError: If there are fewer than 1 or more clusters than heads, or the method is
                unknown.
        """
        return self._of_all_heads(cut_tree(self.tree(method), n_clusters), fill=-1)

    def pairs(self) -> pd.DataFrame:
        """Return one row per pair: layer, head, other_layer, other_head, distance in nats."""
        import pandas as pd

        head_indices = self._measured
        first, second = (head_indices[i] for i in np.triu_indices(len(head_indices), 1))
        return pd.DataFrame(
            {
                "layer": first // self.n_heads,
                "head": first % self.n_heads,
                "other_layer": second // self.n_heads,
                "other_head": second % self.n_heads,
                "distance": self.mean[first, second],
            }
        )

    def chart(
        self, behaviors: ArrayLike | None = None, *, width: int = 640
    ) -> alt.Chart | alt.LayerChart:
        """Draw heads in the plane, near each other if they attend alike (Clark et al., Figure 6).

        With `behaviors`, there are two panels as in the paper: by behavior, with each name at its
        heads, and by layer.

        Args:
            behaviors: Labels [L, H], for example `atlas(...).names`, `clark_labels(...)` or
                `cluster(6)`; "" and "other" are no name. None = one panel, by layer.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the labels are not [L, H].
        """
        import pandas as pd

        from attnwidget.charts.groups_in_plane import groups_in_plane
        from attnwidget.charts.heads_in_plane import heads_in_plane

        embedding = self.embed()
        layer, head = (i.ravel() for i in np.indices((self.n_layers, self.n_heads)))
        x, y = embedding.positions.reshape(-1, 2).T
        frame = pd.DataFrame({"layer": layer, "head": head, "x": x, "y": y})
        has_position = frame["x"].notna()
        title = (
            f"Heads by how differently they attend\n{self.model_name}; "
            f"Jensen-Shannon distances, {counted(self.n_tokens, 'token')}, metric MDS, "
            f"stress {embedding.stress:.2f}"
        )
        if behaviors is None:
            return heads_in_plane(frame[has_position], title=title, width=width)
        labels = np.asarray(behaviors)
        if labels.shape != (self.n_layers, self.n_heads):
            raise ValueError(
                f"behaviors has a label for each head, [{self.n_layers}, {self.n_heads}], got "
                f"{list(labels.shape)}: pass atlas.names or clark_labels(measured)"
            )
        is_numeric = np.issubdtype(labels.dtype, np.number)
        frame["group"] = [f"cluster {k}" if is_numeric else str(k) for k in labels.ravel()]
        return groups_in_plane(frame[has_position], title=title, width=width)

    def __repr__(self) -> str:
        between = self.between_layers()
        within = float(np.nanmean(between.diagonal())) if self.n_heads > 1 else float("nan")
        off_diagonal = between[~np.eye(len(between), dtype=bool)]
        across = f", {np.nanmean(off_diagonal):.3f} between" if len(off_diagonal) else ""
        return (
            f"HeadDistances({self.model_name}, {self.n_layers}×{self.n_heads} heads, "
            f"{counted(self.n_tokens, 'token')}, mean {within:.3f} nats within layers{across})"
        )


class Distances(Accumulator[HeadDistances]):
    """Metric: Jensen-Shannon divergences between all heads, summed over query tokens.

    Rows are smoothed toward uniform attention before they are compared (Clark et al. 2019, as
    released).

    Pairs of heads need the maps of all layers at once. These maps stay in memory until the end of a
    batch, when they are compared. They take 4 L B H n^2 bytes in float32: 75 MB for 8 segments of
    128 tokens in 12 layers of 12 heads. Use a smaller `batch_size` for longer segments.

    Args:
        smoothing: Share of the uniform distribution in each row, above 0 and below 1.

    Raises:
        ValueError: If `smoothing` is not above 0 and below 1.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> model = load_model()
        >>> segments = make_segments(["The cat sat on the mat.", ("Who?", "The cat.")], model)
        >>> found = measure(model, segments, ["distances"], progress=False)["distances"]
        >>> found.distances.shape, found.n_tokens
        ((72, 72), 17)
    """

    name = "distances"

    def __init__(self, *, smoothing: float = 1e-3) -> None:
        if not 0 < smoothing < 1:
            raise ValueError(f"smoothing must be above 0 and below 1, got {smoothing}")
        self.smoothing = smoothing
        self._maps: list[Tensor] = []

    @property
    def options(self) -> dict[str, Any]:
        return {"smoothing": self.smoothing}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self._maps = []
        n_heads = self.n_layers * self.n_heads
        self.sums = {
            "divergences": np.zeros((n_heads, n_heads)),
            "tokens": np.zeros((), np.int64),
            "documents": np.zeros((), np.int64),
        }

    def update(self, layer: LayerBatch) -> None:
        """Store the maps of the layer until the batch ends."""
        if layer.layer == 0:
            self._maps = []  # This also discards the maps of an interrupted batch.
            refuse_kept_maps(self.name, layer.weights, self.n_layers, beside=_COPIES)
        self._maps.append(layer.weights)

    def end_batch(self, batch: Batch) -> None:
        maps, self._maps = self._maps, []
        for document, n in enumerate(batch.lengths.tolist()):
            heads = torch.cat([layer[document, :, :n, :n] for layer in maps])  # [L H, n, n]
            self.sums["divergences"] += js_divergences(heads, smoothing=self.smoothing).numpy()
            self.sums["tokens"] += n
            self.sums["documents"] += 1

    def compute(self) -> HeadDistances:
        by_layer = self.sums["divergences"].reshape((self.n_layers, self.n_heads) * 2)
        distances = self.layers.spread(self.layers.spread(by_layer), axis=2)
        size = self.layers.n_layers * self.n_heads
        return HeadDistances(
            distances.reshape(size, size).copy(),
            int(self.sums["tokens"]),
            int(self.sums["documents"]),
            self.layers.n_layers,
            self.n_heads,
            self.stack,
            self.layers.layers_without_attention,
            model_name=self.model_name,
        )
