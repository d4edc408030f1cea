"""Dependency probes written from their definition, one number at a time."""

from __future__ import annotations

import itertools

import numpy as np


def root_column(a, i, s, e):
    return s * a[i, 0] + e * a[i, -1]


def candidate(a, i, j, s, e):
    """What a map [m + 2, m + 2] says of dependent i and candidate j, words from 1, 0 = root."""
    return a[i, j] if j else root_column(a, i, s, e)


def attention(maps, weights, root):
    """`weights` [2, C], `root` [2]."""
    m = maps.shape[-1] - 2
    scores = np.zeros((m, m + 1))
    for i, j in itertools.product(range(1, m + 1), range(m + 1)):
        for c, a in enumerate(maps):
            scores[i - 1, j] += weights[0, c] * candidate(a, i, j, *root)
            scores[i - 1, j] += weights[1, c] * candidate(a.T, i, j, *root)
    return scores


def attention_words(maps, vectors, weights, bias, root):
    """`weights` [2, C, 2d], `bias` [2, C], `root` [2]."""
    m, d = vectors.shape
    scores = np.zeros((m, m + 1))
    for i, j in itertools.product(range(1, m + 1), range(m + 1)):
        both = np.concatenate([vectors[i - 1], vectors[j - 1]]) if j else np.zeros(2 * d)
        for c, a in enumerate(maps):
            for direction, b in enumerate((a, a.T)):
                weight = weights[direction, c] @ both + bias[direction, c]
                scores[i - 1, j] += weight * candidate(b, i, j, *root)
    return scores


def distances_words(vectors, hidden, hidden_bias, output, output_bias):
    m, d = vectors.shape
    scores = np.zeros((m, m + 1))
    for i, j in itertools.product(range(1, m + 1), range(m + 1)):
        if j:
            near = [
                max(j - i, 0) / m,
                max(i - j, 0) / m,
                *(j - i == o for o in (0, -1, 1, -2, 2)),
                0,
            ]
            both = [*vectors[i - 1], *vectors[j - 1]]
        else:
            near = [0] * 7 + [1]
            both = [0] * (2 * d)
        inputs = np.array([0, *near, *both], float)
        scores[i - 1, j] = output @ np.tanh(hidden @ inputs + hidden_bias) + output_bias
    return scores


def loss(scores, governors):
    """The cross entropy of all words, summed."""
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -sum(logs[i, g] for i, g in enumerate(governors))


def tree_by_trial(scores):
    """The best tree with one root, of all there are."""
    m = len(scores)
    best = -np.inf
    found = None
    for governors in itertools.product(range(m + 1), repeat=m):
        if governors.count(0) != 1 or any(g == i + 1 for i, g in enumerate(governors)):
            continue
        reached = True
        for start in range(1, m + 1):
            at = start
            steps = 0
            while at and steps <= m:
                at, steps = governors[at - 1], steps + 1
            reached &= at == 0
        total = sum(scores[i, g] for i, g in enumerate(governors))
        if reached and total > best:
            best = total
            found = list(governors)
    return found
