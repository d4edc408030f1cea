"""Slow, literal numpy versions of what compares, names and follows heads."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def js_divergences(maps: Array, smoothing: float = 1e-3) -> Array:
    """[H, n, n] -> [H, H]: half of KL(p || m) + KL(q || m), summed over rows, cell by cell."""
    heads, rows, keys = maps.shape
    p = (1 - smoothing) * maps.astype(np.float64) + smoothing / keys
    total = np.zeros((heads, heads))
    for a in range(heads):
        for b in range(heads):
            for i in range(rows):
                middle = (p[a, i] + p[b, i]) / 2
                first = sum(x * np.log(x / m) for x, m in zip(p[a, i], middle, strict=True))
                second = sum(x * np.log(x / m) for x, m in zip(p[b, i], middle, strict=True))
                total[a, b] += (first + second) / 2
    return total


def with_residual(maps: Array) -> Array:
    """[L, H, n, n] -> [L, n, n]."""
    layers = []
    for layer in maps.astype(np.float64):
        mixed = sum(layer) / len(layer) + np.eye(layer.shape[-1])
        layers.append(np.array([row / row.sum() for row in mixed]))
    return np.array(layers)


def rollout(maps: Array) -> list[Array]:
    """[n, n] after each layer: what j gives to i, over all paths, one position at a time."""
    layers = with_residual(maps)
    n = layers.shape[-1]
    found = [layers[0]]
    for layer in layers[1:]:
        below = found[-1]
        found.append(
            np.array(
                [
                    [sum(layer[i, k] * below[k, j] for k in range(n)) for j in range(n)]
                    for i in range(n)
                ]
            )
        )
    return found


def flow(maps: Array, layer: int) -> Array:
    """[n, n]: one maximum flow a pair, by shortest augmenting paths in exact fractions."""
    layers = with_residual(maps[: layer + 1])
    n = layers.shape[-1]
    edges = {
        ((at + 1, i), (at, j)): Fraction(layers[at, i, j])
        for at in range(layer + 1)
        for i in range(n)
        for j in range(n)
        if layers[at, i, j] > 0
    }
    found = np.array(
        [[float(_maximum_flow(edges, (layer + 1, i), (0, j))) for j in range(n)] for i in range(n)]
    )
    return found / found.sum(-1, keepdims=True)


def _maximum_flow(edges: dict, source: tuple[int, int], sink: tuple[int, int]) -> Fraction:
    left = dict(edges)
    left.update({(b, a): Fraction(0) for a, b in edges if (b, a) not in edges})
    neighbors: dict = {}
    for a, b in left:
        neighbors.setdefault(a, []).append(b)
    total = Fraction(0)
    while True:
        came_from = {source: source}
        queue = deque([source])
        while queue and sink not in came_from:
            at = queue.popleft()
            for to in neighbors.get(at, []):
                if to not in came_from and left[at, to] > 0:
                    came_from[to] = at
                    queue.append(to)
        if sink not in came_from:
            return total
        path = []
        at = sink
        while at != source:
            path.append((came_from[at], at))
            at = came_from[at]
        push = min(left[edge] for edge in path)
        for a, b in path:
            left[a, b] -= push
            left[b, a] += push
        total += push


def pattern_scores(map_: Array, segments: list[int]) -> tuple[float, float, float]:
    """Vertical, diagonal and block score of one map [n, n] in which every query sees every key."""
    n = len(map_)
    column = [np.mean([map_[i, j] for i in range(n)]) for j in range(n)]
    stripes = sum(max(0.0, share - 1.5 / n) for share in column)
    vertical = stripes / (1 - 1.5 / n)
    inside = [[segments[i] == segments[j] for j in range(n)] for i in range(n)]
    # What columns alone explain, then what columns and sentences explain.
    explained = np.array([[column[j] for j in range(n)] for _ in range(n)])
    block = 0.0
    if len(set(segments)) > 1:
        kept = np.mean([sum(map_[i, j] for j in range(n) if inside[i][j]) for i in range(n)])
        usual = np.mean([sum(column[j] for j in range(n) if inside[i][j]) for i in range(n)])
        block = (kept - usual) / (1 - usual)
        for sentence in set(segments):
            rows = [i for i in range(n) if segments[i] == sentence]
            kept = np.mean([sum(map_[i, j] for j in rows) for i in rows])
            usual = sum(column[j] for j in rows)
            for i in rows:
                for j in range(n):
                    explained[i, j] *= kept / usual if j in rows else (1 - kept) / (1 - usual)
    diagonal = 0.0
    for width in (1, 2, 3):
        band = [(i, j) for i in range(n) for j in range(n) if abs(i - j) <= width]
        near = sum(map_[i, j] for i, j in band) / n
        usual = sum(explained[i, j] for i, j in band) / n
        if usual < 1 - 1e-4:
            diagonal = max(diagonal, (near - usual) / (1 - usual))
    return vertical, diagonal, block


def induction_scores(map_: Array, ids: list[int]) -> tuple[float, float, float]:
    """Induction, duplicate-token and previous-token score of one map [n, n]; NaN without any."""
    induction = []
    duplicate = []
    for i, token in enumerate(ids):
        copies = [j for j in range(i) if ids[j] == token]
        after = [j + 1 for j in copies if j + 1 < i]
        if copies:
            duplicate.append(sum(map_[i, j] for j in copies))
        if after:
            induction.append(sum(map_[i, j] for j in after))
    previous = [map_[i, i - 1] for i in range(1, len(ids))]
    return tuple(np.mean(found) if found else np.nan for found in (induction, duplicate, previous))


def stress(distances: Array, positions: Array) -> tuple[float, float]:
    """Stress-1 and raw stress over pairs."""
    raw = size = 0.0
    for a in range(len(distances)):
        for b in range(a):
            apart = float(np.sqrt(((positions[a] - positions[b]) ** 2).sum()))
            raw += (distances[a, b] - apart) ** 2
            size += apart**2
    return float(np.sqrt(raw / size)), raw
