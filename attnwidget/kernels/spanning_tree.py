"""The tree of the highest score among all dependency trees of a sentence."""

from __future__ import annotations

import numpy as np

from attnwidget.kernels.arrays import Float64Array, Int64Array


def best_tree(scores: Float64Array) -> Int64Array:
    """Return the governors of the tree with one root and the largest sum of scores.

    The algorithm is Chu and Liu's (1965).

    Edmonds' algorithm (1967) over scores of arcs, here log-probabilities; McDonald et al. (2005)
    decode dependency trees so.

    `scores` float64 [m, m + 1], finite: a row a dependent, column 0 the root, column k word k; a
    word as its own governor is not looked at. Returns int64 [m], governors from 1, 0 for the root.

    Example:
        >>> import numpy as np
        >>> from attnwidget.kernels.spanning_tree import best_tree
        >>> # Each would rather have the other, which is no tree.
        >>> best_tree(np.array([[1.0, 0.0, 5.0], [2.0, 5.0, 0.0]])).tolist()
        [2, 0]
    """
    m = len(scores)
    arcs = np.full((m + 1, m + 1), -np.inf)
    arcs[1:] = scores
    # One root costs less than any two: a second arc from it loses more than all others can gain.
    arcs[1:, 0] -= 1 + 2 * m * float(np.ptp(scores))
    np.fill_diagonal(arcs, -np.inf)
    return _governors(arcs)[1:]


def _governors(arcs: Float64Array) -> Int64Array:
    """The best governor of each node but 0, [n]; `arcs` [n, n], a row a dependent."""
    governors = arcs.argmax(1)
    governors[0] = 0
    cycle = _cycle(governors)
    if cycle is None:
        return governors
    rest = np.setdiff1d(np.arange(len(arcs)), cycle)
    kept = arcs[cycle, governors[cycle]]
    # Contract the cycle to one last node; also return its best governors, and the cycle node that
    # each node would choose.
    into = arcs[np.ix_(cycle, rest)] - kept[:, None]
    out_of = arcs[np.ix_(rest, cycle)]
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = arcs[np.ix_(rest, rest)]
    smaller[:-1, -1] = out_of.max(1)
    smaller[-1, :-1] = into.max(0)
    smaller_tree = _governors(smaller)
    broken = cycle[into[:, smaller_tree[-1]].argmax()]
    enters = rest[smaller_tree[-1]]
    for node, above in enumerate(smaller_tree[:-1]):
        in_cycle = above == len(rest)
        governors[rest[node]] = cycle[out_of[node].argmax()] if in_cycle else rest[above]
    governors[broken] = enters
    governors[0] = 0
    return governors


def _cycle(governors: Int64Array) -> Int64Array | None:
    """Return the nodes of a cycle, or None if the only cycle is at the root."""
    seen = np.zeros(len(governors), np.int64)
    seen[0] = -1
    for start in range(1, len(governors)):
        at = start
        while not seen[at]:
            seen[at] = start
            at = int(governors[at])
        if seen[at] == start:
            first = at
            cycle = [at]
            while (at := int(governors[at])) != first:
                cycle.append(at)
            return np.array(cycle)
    return None
