"""Conditional logit: softmax regression of choices among alternatives, for many heads at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array

#: Number of earlier steps from which the direction of a step is computed.
_HISTORY = 10
#: Largest number of steps, and of halvings of a step.
_STEPS = 500
_HALVINGS = 30
#: Largest distance to the minimum at which a fit ends, relative to the deviance of equal choices.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Alternatives of some rows, with features that all heads share.

    Attributes:
        features: Features of the alternatives, sparse [C, F]; the alternatives of a row are
            consecutive.
        starts: Index of the first alternative of each row, int64 [R].
    """

    features: Any
    starts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of alternatives of each row, int64 [R]."""
        return np.diff(self.starts, append=self.features.shape[0])

    def row_sums(self, values: Float64Array) -> Float64Array:
        """Return the sum of `values` [C, H] over the alternatives of each row, [R, H]."""
        return np.add.reduceat(values, self.starts, axis=0)

    def log_probabilities(self, coefficients: Float64Array) -> Float64Array:
        """Return the log probability of each alternative in its row, [C, H].

        Args:
            coefficients: Coefficient of each feature, [F, H].
        """
        scores: Float64Array = self.features @ coefficients
        sizes = self.sizes
        scores = scores - np.repeat(np.maximum.reduceat(scores, self.starts, axis=0), sizes, axis=0)
        totals = np.log(self.row_sums(np.exp(scores)))
        return scores - np.repeat(totals, sizes, axis=0)


def cross_entropies(weights: Float64Array, log_probabilities: Float64Array) -> Float64Array:
    """Return the sum of -weights * log probabilities over alternatives, [H]."""
    total: Float64Array = -np.einsum("ch,ch->h", weights, log_probabilities)
    return total


def conditional_logit(
    alternatives: Alternatives, weights: Float64Array, *, ridge: float = 1.0
) -> Float64Array:
    """Return the coefficients of a conditional logit for each head, [F, H] (McFadden 1974).

    The probability of an alternative is the softmax of its scores over the alternatives of its row.
    A score is the sum of feature times coefficient. The fit minimizes the cross-entropy with the
    weights of each head, plus `ridge` / 2 times the sum of squared coefficients. The function is
    strictly convex, and a fit ends within 1e-6 of its minimum, relative to the cross-entropy of
    equal probabilities.

    L-BFGS runs for all heads at once, with a direction and a step for each. Coordinates are scaled
    by the upper bound of the Hessian that all softmax regressions with these features share
    (Böhning 1992), so that few steps are needed.

    Args:
        alternatives: Rows and features, C alternatives and F features.
        weights: Weights of the alternatives, [C, H]. The sum over a row is the weight of the row.
        ridge: Penalty, above 0.

    Example:
        >>> import numpy as np, scipy
        >>> from attnwidget.kernels.conditional_logit import Alternatives, conditional_logit
        >>> features = scipy.sparse.csr_array([[1.0], [0.0]])
        >>> rows = Alternatives(features, np.array([0]))
        >>> chosen = np.array([[3.0], [1.0]])
        >>> conditional_logit(rows, chosen, ridge=1e-6).round(3).tolist()
        [[1.099]]
    """
    features = alternatives.features
    row_weights = alternatives.row_sums(weights)
    scale = _curvature(alternatives, row_weights.mean(1), ridge)
    observed: Float64Array = features.T @ weights
    sizes = alternatives.sizes
    spread_weights = np.repeat(row_weights, sizes, axis=0)
    even = np.maximum((row_weights * np.log(sizes)[:, None]).sum(0), np.finfo(float).tiny)

    def value_and_gradient(point: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return the value [H], the gradient and the scaled gradient [F, H] at scaled `point`."""
        theta = scipy.linalg.solve_triangular(scale, point, lower=True, trans="T")
        log_p = alternatives.log_probabilities(theta)
        value = cross_entropies(weights, log_p) + ridge / 2 * np.square(theta).sum(0)
        gradient = features.T @ (np.exp(log_p) * spread_weights) - observed + ridge * theta
        return value, gradient, scipy.linalg.solve_triangular(scale, gradient, lower=True)

    point = np.zeros(observed.shape)
    value, gradient, slope = value_and_gradient(point)
    steps: list[Float64Array] = []
    turns: list[Float64Array] = []
    for _ in range(_STEPS):
        # A strictly convex function is at most |gradient|^2 / (2 ridge) above its minimum.
        gap = np.square(gradient).sum(0) / (2 * ridge)
        if (gap <= _TOLERANCE * even).all():
            break
        direction = -_inverse_product(slope, steps, turns)
        descent = (direction * slope).sum(0)
        size = np.ones(len(descent))
        for _ in range(_HALVINGS):
            step = size * direction
            new_value, new_gradient, new_slope = value_and_gradient(point + step)
            # Rounding of large sums must not prevent the last steps.
            fails = new_value > value + 1e-4 * size * descent + 1e-13 * np.abs(value)
            if not fails.any():
                break
            size = np.where(fails, size / 2, size)
        point = point + step
        steps = [*steps[-_HISTORY + 1 :], step]
        turns = [*turns[-_HISTORY + 1 :], new_slope - slope]
        value, gradient, slope = new_value, new_gradient, new_slope
    theta: Float64Array = scipy.linalg.solve_triangular(scale, point, lower=True, trans="T")
    return theta


def _curvature(alternatives: Alternatives, row_weights: Float64Array, ridge: float) -> Float64Array:
    """Return the lower Cholesky factor [F, F] of Böhning's bound of the Hessian."""
    features = alternatives.features
    sizes = alternatives.sizes
    spread_weights = np.repeat(row_weights, sizes)
    rows = scipy.sparse.csr_array(
        (
            np.ones(len(spread_weights)),
            np.arange(len(spread_weights)),
            [*alternatives.starts, len(spread_weights)],
        )
    )
    sums = rows @ features
    squares = features.T @ (features * spread_weights[:, None])
    means = sums.T @ (sums * (row_weights / sizes)[:, None])
    bound = (squares - means).toarray() / 2
    factor: Float64Array = np.linalg.cholesky(bound + ridge * np.eye(len(bound)))
    return factor


def _inverse_product(
    slope: Float64Array, steps: list[Float64Array], turns: list[Float64Array]
) -> Float64Array:
    """Return the product of the inverse Hessian, estimated from steps, with `slope`, [F, H].

    This is the two-loop recursion of L-BFGS (Nocedal and Wright 2006, algorithm 7.4), by head.
    """
    product = slope.copy()
    pairs = []
    for step, turn in zip(reversed(steps), reversed(turns), strict=True):
        curvature = (step * turn).sum(0)
        # Heads that no longer move have no curvature to learn from.
        inverse = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 1e-300)
        share = inverse * (step * product).sum(0)
        product -= share * turn
        pairs.append((step, turn, inverse, share))
    if steps:
        curvature = np.square(turns[-1]).sum(0)
        length = (steps[-1] * turns[-1]).sum(0)
        product *= np.divide(length, curvature, out=np.ones_like(length), where=curvature > 1e-300)
    for step, turn, inverse, share in reversed(pairs):
        product += step * (share - inverse * (turn * product).sum(0))
    return product
