"""Search for the dependency tree with the highest score."""

from __future__ import annotations

import numpy as np

from attnwidget.kernels.arrays import Float64Array, Int64Array


def best_tree(scores: Float64Array) -> Int64Array:
    """Return the governors in the tree with one root and the largest sum of scores.

    The algorithm is by Chu and Liu (1965) and Edmonds (1967). McDonald et al. (2005) use it to
    decode dependency trees.

    Args:
        scores: Score of each arc, for example its log probability, finite, float64 [m, m + 1]. A
            row is a dependent, column 0 is the root, and column k is word k. Scores of a word as
            its own governor are ignored.

    Returns:
        Governors from 1, 0 for the root, int64 [m].

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
    # Penalize arcs from the root so that a second arc costs more than all other arcs can gain.
    arcs[1:, 0] -= 1 + 2 * m * float(np.ptp(scores))
    np.fill_diagonal(arcs, -np.inf)
    return _governors(arcs)[1:]


def _governors(arcs: Float64Array) -> Int64Array:
    """Return the best governor of each node except node 0, [n], from arc scores [n, n]."""
    governors = arcs.argmax(1)
    governors[0] = 0
    cycle = _cycle(governors)
    if cycle is None:
        return governors
    rest = np.setdiff1d(np.arange(len(arcs)), cycle)
    cycle_scores = arcs[cycle, governors[cycle]]
    # Contract the cycle to a single node, which is the last node of the smaller graph.
    to_cycle = arcs[np.ix_(cycle, rest)] - cycle_scores[:, None]
    from_cycle = arcs[np.ix_(rest, cycle)]
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = arcs[np.ix_(rest, rest)]
    smaller[:-1, -1] = from_cycle.max(1)
    smaller[-1, :-1] = to_cycle.max(0)
    smaller_tree = _governors(smaller)
    entry_node = cycle[to_cycle[:, smaller_tree[-1]].argmax()]
    entry_governor = rest[smaller_tree[-1]]
    for node, governor in enumerate(smaller_tree[:-1]):
        in_cycle = governor == len(rest)
        governors[rest[node]] = cycle[from_cycle[node].argmax()] if in_cycle else rest[governor]
    governors[entry_node] = entry_governor
    governors[0] = 0
    return governors


def _cycle(governors: Int64Array) -> Int64Array | None:
    """Return the nodes of a cycle, or None if there is no cycle except at the root."""
    visited = np.zeros(len(governors), np.int64)
    visited[0] = -1
    for start in range(1, len(governors)):
        node = start
        while not visited[node]:
            visited[node] = start
            node = int(governors[node])
        if visited[node] == start:
            first = node
            cycle = [node]
            while (node := int(governors[node])) != first:
                cycle.append(node)
            return np.array(cycle)
    return None
