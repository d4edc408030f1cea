"""Attention to features, along links and to tokens that mean nothing: one map at a time, slowly."""

from __future__ import annotations

import numpy as np


def feature_score(attention, positions):
    """Kovaleva et al. 2019, 4.4: the largest of the mean weights that these positions receive."""
    n = len(attention)
    return max(sum(float(attention[i][j]) for i in range(n)) / n for j in positions)


def first_score(attention, positions):
    """The same from the first token alone."""
    return max(float(attention[0][j]) for j in positions)


def link_score(attention, links, pairing):
    """The largest weight along links, each (tokens of the source, tokens of the target)."""
    pairs = []
    if pairing == "zip":
        sources = []
        targets = []
        for source, target in links:
            if source not in sources:
                sources.append(source)
            if target not in targets:
                targets.append(target)
        all_sources = [token for source in sources for token in source]
        all_targets = [token for target in targets for token in target]
        for k in range(min(len(all_sources), len(all_targets))):
            pairs.append((all_sources[k], all_targets[k]))
    else:
        for source, target in links:
            for s in source:
                for t in target:
                    pairs.append((s, t))
    return max(float(attention[s][t]) for s, t in pairs)


def moved_places(n_words, links, all_links):
    """All places of links that move together: each a list of (source words, target words)."""
    joined = [(s, t) for source, target in all_links for s in source for t in target]
    places = []
    for shift in range(-n_words, n_words + 1):
        if shift == 0:
            continue
        moved = [
            ([s + shift for s in source], [t + shift for t in target]) for source, target in links
        ]
        words = [word for source, target in moved for word in source + target]
        if min(words) < 0 or max(words) >= n_words:
            continue
        if any((s, t) in joined for source, target in moved for s in source for t in target):
            continue
        places.append(moved)
    return places


def no_op(attention, words, has, targets):
    """Sums over words with a relation and over others of their weight on each set of targets.

    `words` are lists of tokens; a word's weight is the mean over its tokens.
    """
    sums = np.zeros((2, len(targets)))
    for word, tokens in enumerate(words):
        for column, members in enumerate(targets):
            weight = 0.0
            for i in tokens:
                for j in members:
                    weight += float(attention[i][j]) / len(tokens)
            sums[0 if word in has else 1, column] += weight
    return sums
