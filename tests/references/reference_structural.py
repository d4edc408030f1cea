"""The structural probe as slow and as plain as can be (Hewitt and Manning 2019)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

PUNCTUATION = ("''", ",", ".", ":", "``", "-LRB-", "-RRB-")


def distances(governors: Sequence[int]) -> np.ndarray:
    """Edges between every two words, by a breadth-first search from each."""
    n = len(governors)
    neighbors: list[set[int]] = [set() for _ in range(n)]
    for word, governor in enumerate(governors):
        if governor:
            neighbors[word].add(governor - 1)
            neighbors[governor - 1].add(word)
    found = np.full((n, n), -1)
    for start in range(n):
        found[start, start] = 0
        waiting = deque([start])
        while waiting:
            at = waiting.popleft()
            for other in neighbors[at]:
                if found[start, other] < 0:
                    found[start, other] = found[start, at] + 1
                    waiting.append(other)
    return found


def depths(governors: Sequence[int]) -> np.ndarray:
    return distances(governors)[list(governors).index(0)]


def distance_loss(
    vectors: np.ndarray, gold: np.ndarray, matrix: np.ndarray
) -> tuple[float, np.ndarray]:
    """The loss of one sentence, vectors [m, D], and its gradient [D, r]."""
    m = len(vectors)
    loss = 0.0
    slope = np.zeros_like(matrix)
    for i in range(m):
        for j in range(m):
            difference = vectors[i] - vectors[j]
            image = matrix.T @ difference
            off = image @ image - gold[i, j]
            loss += abs(off) / m**2
            slope += np.sign(off) * 2 * np.outer(difference, image) / m**2
    return loss, slope


def depth_loss(
    vectors: np.ndarray, gold: np.ndarray, matrix: np.ndarray
) -> tuple[float, np.ndarray]:
    m = len(vectors)
    loss = 0.0
    slope = np.zeros_like(matrix)
    for vector, depth in zip(vectors, gold, strict=True):
        image = matrix.T @ vector
        off = image @ image - depth
        loss += abs(off) / m
        slope += np.sign(off) * 2 * np.outer(vector, image) / m
    return loss, slope


def spanning_edges(between: np.ndarray, xpos: Sequence[str]) -> set[tuple[int, int]]:
    """Kruskal's algorithm, pairs sorted by distance and then by their place."""
    words = [i for i, tag in enumerate(xpos) if tag not in PUNCTUATION]
    part = {i: i for i in words}
    edges = set()
    for _, i, j in sorted((between[i][j], i, j) for i in words for j in words if i < j):
        if part[i] != part[j]:
            edges.add((i, j))
            old = part[i]
            part = {word: part[j] if own == old else own for word, own in part.items()}
    return edges


def scores(sentences: list[dict[str, np.ndarray]]) -> list[float]:
    """UUAS, DSpr, root accuracy, NSpr of sentences: governors, xpos, distances, depths of each."""
    shared = edges = roots = 0
    dspr: dict[int, list[float]] = {}
    nspr: dict[int, list[float]] = {}
    for one in sentences:
        gold = distances(one["governors"])
        m = len(one["governors"])
        tree = spanning_edges(gold, one["xpos"])
        shared += len(tree & spanning_edges(one["distances"], one["xpos"]))
        edges += len(tree)
        order = np.argsort(one["depths"], kind="stable")
        words = [i for i in order if one["xpos"][i] not in PUNCTUATION] or list(order)
        roots += one["governors"][words[0]] == 0
        if 5 <= m <= 50:
            for word in range(m):
                own = spearmanr(one["distances"][word], gold[word]).statistic
                dspr.setdefault(m, []).append(own)
            own = spearmanr(one["depths"], depths(one["governors"])).statistic
            nspr.setdefault(m, []).append(own)
    of_lengths = [np.mean([np.mean(own) for own in by.values()]) for by in (dspr, nspr)]
    return [shared / edges, of_lengths[0], roots / len(sentences), of_lengths[1]]
