"""The relation probe word by word, in plain Python and numpy: what the fast one must agree with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.treebank import Sentence

Array = NDArray[np.float64]


def word_map(weights: Array, groups: Sequence[Sequence[int]], unit: str = "words") -> Array:
    """[n, n] between tokens -> [m, m] between the words whose tokens `groups` lists."""
    words = np.zeros((len(groups), len(groups)))
    for i, attending in enumerate(groups):
        for j, attended in enumerate(groups):
            queries = attending if unit == "words" else attending[:1]
            keys = attended[:1] if unit == "tokens" else attended
            words[i, j] = sum(sum(float(weights[q, k]) for k in keys) for q in queries)
            words[i, j] /= len(queries)
    return words


def governors(words: Array, direction: int) -> list[int]:
    """1-based governor of each word by a word map without special tokens."""
    predicted = []
    for i in range(len(words)):
        row = [words[i, j] if direction == 0 else words[j, i] for j in range(len(words))]
        row[i] = 0.0
        predicted.append(row.index(max(row)) + 1)
    return predicted


def offset_governors(m: int, offset: int) -> list[int]:
    return [min(max(position + offset, 0), m) for position in range(1, m + 1)]


def judged(predicted: Sequence[int], sentence: Sentence, possessive: str | None) -> list[bool]:
    """Whether each prediction is right; a possessor before "'s" by what the "'s" has."""
    m = len(sentence)
    right = []
    for i in range(m):
        answer = predicted[i]
        if possessive == "clark" and sentence.relations[i] in ("poss", "nmod:poss"):
            followed = i + 1 < m and sentence.words[i + 1] in ("'s", "s'")
            if followed and predicted[i] < m:
                answer = predicted[i + 1]
        right.append(answer == sentence.governors[i])
    return right


def count(
    right: Sequence[Sequence[bool]], sentences: Sequence[Sentence]
) -> dict[str, tuple[int, int]]:
    """(right, all) words by relation, with "all" and a pooled row for relations with subtypes."""
    rows: dict[str, tuple[int, int]] = {}
    kinds: dict[str, set[str]] = {}
    for sentence in sentences:
        for relation in sentence.relations:
            kinds.setdefault(relation.split(":")[0], set()).add(relation)
    for sentence, own in zip(sentences, right, strict=True):
        for relation, ok in zip(sentence.relations, own, strict=True):
            base = relation.split(":")[0]
            names = ["all", relation]
            if len(kinds[base]) > 1:
                names.append(f"{base} (all)")
            for name in names:
                hits, total = rows.get(name, (0, 0))
                rows[name] = (hits + ok, total + 1)
    return rows


def best_offset(
    sentences: Sequence[Sentence], relation: str, offsets: Sequence[int], possessive: str | None
) -> tuple[int, int]:
    """(words right, offset); the larger offset of equals."""
    found = []
    for offset in offsets:
        right = [judged(offset_governors(len(s), offset), s, possessive) for s in sentences]
        found.append((count(right, sentences)[relation][0], offset))
    return max(found)


def best_head(
    hits: dict[tuple[int, int, int], int],
) -> tuple[int, tuple[int, int, int]]:
    """(words right, (layer, head, direction)); the later of equals."""
    return max((right, place) for place, right in hits.items())
