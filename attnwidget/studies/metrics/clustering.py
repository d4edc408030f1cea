"""Which heads belong together: positions in the plane and a tree of clusters from distances."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Linkage = Literal["average", "complete", "single"]


@dataclass(frozen=True, eq=False)
class HeadEmbedding:
    """Heads in the plane, as far apart as their distances say, as nearly as a plane allows.

    Only distances between positions mean something: the first axis is laid along the largest
    spread, and another seed may find another arrangement of nearly the same stress.

    Attributes:
        positions: float64 [L, H, 2], around 0, in the unit of the distances.
        stress: Kruskal's stress-1, sqrt(sum (D - d)^2 / sum d^2) over pairs of heads with distance
            D, at d in the plane: 0 is perfect, from 0.2 on the picture is poor.
        raw_stress: sum (D - d)^2 over pairs, in the squared unit of the distances.
        seed: of the random starts.
    """

    positions: NDArray[np.float64]
    stress: float
    raw_stress: float
    seed: int

    def __repr__(self) -> str:
        n_layers, n_heads, _ = self.positions.shape
        return f"HeadEmbedding({n_layers}×{n_heads} heads, stress {self.stress:.3f})"


def embed_distances(
    distances: NDArray[np.float64], *, seed: int = 0, n_init: int = 5
) -> tuple[NDArray[np.float64], float, float]:
    """Metric multidimensional scaling of distances into the plane.

    SMACOF from `n_init` random starts, at most 1000 iterations each, as Clark et al. 2019 drew
    Figure 6 (theirs has no seed); metric, although the paper they cite is the non-metric one.

    `distances` [N, N], symmetric with a diagonal of 0. Returns positions float64 [N, 2], centred on
    0 with their principal axes as axes, stress-1 and raw stress (`HeadEmbedding` defines them).

    Example:
        >>> import numpy as np
        >>> from attnwidget.studies.metrics.clustering import embed_distances
        >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> positions, stress, _ = embed_distances(line)
        >>> bool(stress < 1e-3)
        True
    """
    from sklearn.manifold import MDS

    scale = float(distances.max())
    if not scale:
        return np.zeros((len(distances), 2)), 0.0, 0.0
    known = inspect.signature(MDS.__init__).parameters
    options: dict[str, Any] = {"n_components": 2, "n_init": n_init, "max_iter": 1000, "eps": 1e-10}
    # scikit-learn 1.8 renamed what used to be called metric and dissimilarity.
    if "metric_mds" in known:
        options |= {"metric_mds": True, "metric": "precomputed"}
    else:
        options |= {"metric": True, "dissimilarity": "precomputed"}
    if "init" in known:
        options["init"] = "random"
    # Some versions stop by an absolute measure: give them distances of one scale.
    fitted = MDS(**options, normalized_stress=False, random_state=seed).fit(distances / scale)
    positions = _along_principal_axes(fitted.embedding_) * scale
    pairs = np.triu_indices(len(distances), 1)
    apart = np.linalg.norm(positions[pairs[0]] - positions[pairs[1]], axis=-1)
    raw = float(((distances[pairs] - apart) ** 2).sum())
    return positions, float(np.sqrt(raw / (apart**2).sum())), raw


def cluster_tree(
    distances: NDArray[np.float64], method: Linkage = "average"
) -> NDArray[np.float64]:
    """The tree of hierarchical clustering, as scipy's `linkage` gives it: float64 [N - 1, 4].

    `distances` [N, N], symmetric with a diagonal of 0; `method` is how far apart two clusters are:
    the mean ("average"), largest ("complete") or smallest ("single") distance of their members.

    Example:
        >>> import numpy as np
        >>> from attnwidget.studies.metrics.clustering import cluster_tree
        >>> cluster_tree(np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0.0]]))[:, 2]
        array([1., 4.])
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if method not in ("average", "complete", "single"):
        raise ValueError(f"method is 'average', 'complete' or 'single', got {method!r}")
    tree: NDArray[np.float64] = linkage(squareform(distances, checks=False), method)
    return tree


def cut_tree(tree: NDArray[np.float64], n_clusters: int) -> NDArray[np.int64]:
    """The cluster of each of the N leaves when the tree is cut into `n_clusters`: int64 [N].

    Clusters are numbered from 0 by their first leaf. Joins at the same height are not separated, so
    there can be fewer clusters than requested. Raises ValueError for fewer than 1 or more than N.

    Example:
        >>> import numpy as np
        >>> from attnwidget.studies.metrics.clustering import cluster_tree, cut_tree
        >>> cut_tree(cluster_tree(np.array([[0, 4, 1], [4, 0, 4], [1, 4, 0.0]])), 2)
        array([0, 1, 0])
    """
    from scipy.cluster.hierarchy import fcluster

    if not 1 <= n_clusters <= len(tree) + 1:
        raise ValueError(
            f"{len(tree) + 1} heads make 1 to {len(tree) + 1} clusters, not {n_clusters}"
        )
    # By height: "maxclust" finds no more than N - 2 clusters in older versions of scipy.
    heights = np.sort(tree[:, 2])
    height = heights[len(tree) - n_clusters] if n_clusters <= len(tree) else -1.0
    clusters = fcluster(tree, height, "distance")
    _, first, labels = np.unique(clusters, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(first))
    numbered: NDArray[np.int64] = ranks[labels].astype(np.int64)
    return numbered


def _along_principal_axes(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centred, turned so that the first axis has the largest spread, and never mirrored at will."""
    centred = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: NDArray[np.float64] = centred @ axes.T
    # An axis has no direction of its own: the point farthest out on it is on its positive side.
    farthest = np.abs(turned).argmax(0)
    return turned * np.where(turned[farthest, np.arange(2)] < 0, -1.0, 1.0)
