"""Positions of heads in the plane, and a cluster tree, from distances between heads."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.scaling import minimize_stress, smacof

Linkage = Literal["average", "complete", "single"]

_ITERATIONS = 1000
# Number of iterations after which the starts of many points are compared.
_TRIED = 50
_MANY = 500


@dataclass(frozen=True, eq=False)
class HeadEmbedding:
    """Positions of heads in the plane that approximate the distances between heads.

    Only distances between positions are meaningful. The first axis has the largest spread. A
    different seed may give a different arrangement with nearly the same stress.

    Attributes:
        positions: Positions, centered on 0, in the unit of the distances, float64 [L, H, 2].
        stress: Kruskal's stress-1, sqrt(sum (D - d)^2 / sum d^2) over pairs of heads with distance
            D and distance d in the plane. 0 is perfect; from 0.2 on, the fit is poor.
        raw_stress: Sum of (D - d)^2 over pairs, in the squared unit of the distances.
        seed: Seed of the random starts.
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
    """Place points in the plane by metric multidimensional scaling of their distances.

    The algorithm is SMACOF from several random starts with at most 1000 iterations each, as for
    Figure 6 of Clark et al. 2019, which used no seed. For more than 500 points, the starts are
    compared after 50 iterations, and L-BFGS continues the best one to a minimum of the same stress.
    The scaling is metric, although the paper that they cite is about non-metric scaling.

    Args:
        distances: Symmetric matrix [N, N] with a diagonal of 0.
        seed: Seed of the random starts.
        n_init: Number of random starts.

    Returns:
        Positions, float64 [N, 2], centered on 0 with their principal axes as axes; stress-1; and
        raw stress (see `HeadEmbedding`).

    Example:
        >>> import numpy as np
        >>> from attnwidget.metrics.clustering import embed_distances
        >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> positions, stress, _ = embed_distances(line)
        >>> bool(stress < 1e-3)
        True
    """
    scale = float(distances.max())
    if not scale:
        return np.zeros((len(distances), 2)), 0.0, 0.0
    relative = distances / scale
    random = np.random.RandomState(seed)
    starts = [random.uniform(size=(len(distances), 2)) for _ in range(n_init)]
    if len(distances) > _MANY:
        runs = [smacof(relative, start, max_iterations=_TRIED) for start in starts]
        nearest = min(runs, key=itemgetter(1))[0]
        best, _ = minimize_stress(relative, nearest, max_iterations=_ITERATIONS)
    else:
        full_runs = [smacof(relative, start, max_iterations=_ITERATIONS) for start in starts]
        best, _ = min(full_runs, key=itemgetter(1))
    positions = _along_principal_axes(best) * scale
    pairs = np.triu_indices(len(distances), 1)
    plane_distances = np.linalg.norm(positions[pairs[0]] - positions[pairs[1]], axis=-1)
    raw = float(((distances[pairs] - plane_distances) ** 2).sum())
    return positions, float(np.sqrt(raw / (plane_distances**2).sum())), raw


def cluster_tree(
    distances: NDArray[np.float64], method: Linkage = "average"
) -> NDArray[np.float64]:
    """Return the tree of hierarchical clustering in the form of scipy's `linkage`, [N - 1, 4].

    Args:
        distances: Symmetric matrix [N, N] with a diagonal of 0.
        method: Distance between two clusters: the mean ("average"), largest ("complete") or
            smallest ("single") distance between their members.

    Raises:
        ValueError: If `method` is unknown.

    Example:
        >>> import numpy as np
        >>> from attnwidget.metrics.clustering import cluster_tree
        >>> cluster_tree(np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0.0]]))[:, 2]
        array([1., 4.])
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if method not in ("average", "complete", "single"):
        raise ValueError(f"method must be 'average', 'complete' or 'single', got {method!r}")
    tree: NDArray[np.float64] = linkage(squareform(distances, checks=False), method)
    return tree


def cut_tree(tree: NDArray[np.float64], n_clusters: int) -> NDArray[np.int64]:
    """Return the cluster of each leaf after cutting the tree into `n_clusters`: int64 [N].

    Clusters are numbered from 0 in the order of their first leaf. Joins at the same height are not
    separated, so there can be fewer clusters than requested. Raises ValueError if `n_clusters` is
    below 1 or above N.

    Example:
        >>> import numpy as np
        >>> from attnwidget.metrics.clustering import cluster_tree, cut_tree
        >>> cut_tree(cluster_tree(np.array([[0, 4, 1], [4, 0, 4], [1, 4, 0.0]])), 2)
        array([0, 1, 0])
    """
    from scipy.cluster.hierarchy import fcluster

    if not 1 <= n_clusters <= len(tree) + 1:
        raise ValueError(
            f"{len(tree) + 1} heads make 1 to {len(tree) + 1} clusters, not {n_clusters}"
        )
    # Cut by height, because "maxclust" returns at most N - 2 clusters in older versions of scipy.
    heights = np.sort(tree[:, 2])
    height = heights[len(tree) - n_clusters] if n_clusters <= len(tree) else -1.0
    clusters = fcluster(tree, height, "distance")
    _, first, labels = np.unique(clusters, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(first))
    cluster_numbers: NDArray[np.int64] = ranks[labels].astype(np.int64)
    return cluster_numbers


def _along_principal_axes(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Center positions, rotate the largest spread to the first axis, and fix the reflection."""
    centered = positions - positions.mean(0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    rotated: NDArray[np.float64] = centered @ axes.T
    # The direction of an axis is arbitrary, so the farthest point is put on the positive side.
    farthest = np.abs(rotated).argmax(0)
    return rotated * np.where(rotated[farthest, np.arange(2)] < 0, -1.0, 1.0)
