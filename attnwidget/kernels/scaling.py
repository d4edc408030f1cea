"""Metric multidimensional scaling: points with approximately the given distances."""

from __future__ import annotations

import numpy as np

from attnwidget.kernels.arrays import Float64Array

# Number of pairs whose distances stay in the cache of a CPU core.
_CELLS_AT_ONCE = 64 * 1024
# Distance that replaces 0 for points at the same position, as in scikit-learn.
_CLOSEST = 1e-5


def smacof(
    distances: Float64Array,
    positions: Float64Array,
    *,
    max_iterations: int,
    tolerance: float = 1e-10,
) -> tuple[Float64Array, float]:
    """Move points so that their distances approach the given distances (De Leeuw 1977, SMACOF).

    Every iteration is a Guttman transform, which never increases the raw stress
    sum_(i<j) (d_ij - D_ij)^2. The iterations end when the stress decreases by less than `tolerance`
    times the sum of the squared distances between the points. The distance matrix of the points is
    never stored.

    Args:
        distances: Distances D, [N, N], symmetric with a zero diagonal and values near 1.
        positions: Initial points [N, 2].
        max_iterations: Largest number of iterations.
        tolerance: Smallest relative decrease of the stress.

    Returns:
        The points [N, 2], centered at 0, and their raw stress.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.scaling import smacof
        >>> triangle = 1 - np.eye(3)
        >>> start = np.random.default_rng(0).random((3, 2))
        >>> positions, stress = smacof(triangle, start, max_iterations=500)
        >>> bool(stress < 1e-6), np.linalg.norm(positions[0] - positions[2]).round(3)
        (True, np.float64(1.0))
    """
    n = len(distances)
    constant = float(np.square(distances).sum()) / 2
    positions = positions - positions.mean(0)
    transformed = _transformed(distances, positions)
    stress = _stress(constant, positions, transformed)
    for _ in range(max_iterations):
        positions = transformed / n
        transformed = _transformed(distances, positions)
        previous_stress, stress = stress, _stress(constant, positions, transformed)
        if previous_stress - stress < tolerance * n * float(np.square(positions).sum()):
            break
    return positions, stress


def minimize_stress(
    distances: Float64Array, positions: Float64Array, *, max_iterations: int
) -> tuple[Float64Array, float]:
    """Move points to a nearby minimum of the raw stress with L-BFGS.

    Near a minimum, this takes a tenth of the iterations of `smacof`, whose steps become small. From
    a random start, it may end in a poor minimum.

    Args:
        distances: Distances, as in `smacof`.
        positions: Initial points [N, 2].
        max_iterations: Largest number of iterations.

    Returns:
        The points [N, 2], centered at 0, and their raw stress.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.scaling import minimize_stress
        >>> near = np.array([[0, 0], [1, 0.1], [0.6, 0.9]])
        >>> positions, stress = minimize_stress(1 - np.eye(3), near, max_iterations=100)
        >>> bool(stress < 1e-6)
        True
    """
    from scipy.optimize import minimize

    n = len(distances)
    constant = float(np.square(distances).sum()) / 2

    def stress_and_gradient(flat: Float64Array) -> tuple[float, Float64Array]:
        points = flat.reshape(n, 2)
        points = points - points.mean(0)
        transformed = _transformed(distances, points)
        stress = _stress(constant, points, transformed)
        return stress / n, (2 / n) * (n * points - transformed).ravel()

    optimum = minimize(
        stress_and_gradient,
        positions.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-9},
    )
    points = optimum.x.reshape(n, 2)
    return points - points.mean(0), float(optimum.fun) * n


def _transformed(distances: Float64Array, positions: Float64Array) -> Float64Array:
    """Return N times the Guttman transform: sum_j (D_ij / d_ij) (x_i - x_j) for every i, [N, 2]."""
    n = len(positions)
    sums = np.zeros(n)
    products = np.zeros((n, 2))
    x, y = (np.ascontiguousarray(axis) for axis in positions.T)
    step = max(1, _CELLS_AT_ONCE // n)
    # Distances are symmetric, so each block starts at the diagonal and is used for both sides.
    for first in range(0, n, step):
        last = min(first + step, n)
        point_distances = np.subtract.outer(x[first:last], x[first:])
        squared_y = np.subtract.outer(y[first:last], y[first:])
        np.multiply(point_distances, point_distances, out=point_distances)
        np.multiply(squared_y, squared_y, out=squared_y)
        np.add(point_distances, squared_y, out=point_distances)
        np.sqrt(point_distances, out=point_distances)
        point_distances[point_distances == 0] = _CLOSEST
        ratios = np.divide(distances[first:last, first:], point_distances, out=point_distances)
        sums[first:last] += ratios.sum(1)
        products[first:last] += ratios @ positions[first:]
        lower_ratios = ratios[:, last - first :]
        sums[last:] += lower_ratios.sum(0)
        products[last:] += lower_ratios.T @ positions[first:last]
    return sums[:, None] * positions - products


def _stress(constant: float, positions: Float64Array, transformed: Float64Array) -> float:
    """Return the raw stress of centered points; `constant` is half the sum of squared D."""
    squares = len(positions) * float(np.square(positions).sum())
    return max(0.0, constant - 2 * float((positions * transformed).sum()) + squares)
