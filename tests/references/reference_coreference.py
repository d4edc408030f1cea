"""Antecedents by the definitions, word for word and slowly: a document is plain lists."""

from __future__ import annotations

import numpy as np

PLURAL = {"we", "us", "our", "ours", "ourselves", "yourselves", "they", "them", "their", "theirs"}
PLURAL |= {"themselves", "'em", "'s"}
SINGULAR = {"i", "me", "my", "mine", "myself", "yourself", "themself"}
MASCULINE = {"he", "him", "his", "himself"}
FEMININE = {"she", "her", "hers", "herself"}
NEUTER = {"it", "its", "itself"}
FIRST = {"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "'s"}
SECOND = {"you", "your", "yours", "yourself", "yourselves"}


def evaluated(mentions, start, end):
    """[(mention, its antecedents, preceding mentions)] of (start, end, cluster, head) tuples."""
    inside = [m for m in mentions if m[0] >= start and m[1] < end]
    found = []
    for m in inside:
        rivals = [o for o in inside if o[3] == m[3]]
        if max(o[1] - o[0] for o in rivals) > m[1] - m[0]:
            continue
        preceding = [o for o in inside if o[0] < m[0] and o[3] != m[3]]
        right = [o for o in preceding if o[2] == m[2]]
        if right:
            found.append((m, right, preceding))
    return found


def nearest(preceding):
    best = None
    for m in preceding:
        if best is None or m[0] > best[0] or (m[0] == best[0] and m[1] > best[1]):
            best = m
    return best


def features(words, tags, m):
    word = words[m[3]].lower()
    if m[0] == m[1] and tags[m[0]] in ("PRP", "PRP$"):
        number = "pl" if word in PLURAL else None
        if word in SINGULAR | MASCULINE | FEMININE | NEUTER:
            number = "sg"
        person = 1 if word in FIRST else 2 if word in SECOND else 3
        if person == 3 and word not in MASCULINE | FEMININE | NEUTER | PLURAL | SINGULAR:
            person = None
        gender = None
        for name, members in (("m", MASCULINE), ("f", FEMININE), ("n", NEUTER)):
            if word in members:
                gender = name
        return [number, person, gender]
    number = {"NN": "sg", "NNP": "sg", "NNS": "pl", "NNPS": "pl"}.get(tags[m[3]])
    return [number, None, None]


def agree(words, tags, a, b):
    for x, y in zip(features(words, tags, a), features(words, tags, b), strict=True):
        if x is not None and y is not None and x != y:
            return False
    return True


def head_match(words, m, preceding):
    same = [o for o in preceding if words[o[3]].lower() == words[m[3]].lower()]
    return nearest(same)


def rule_based(words, tags, m, preceding):
    def text(o):
        return " ".join(words[o[0] : o[1] + 1]).lower()

    sieves = [
        [o for o in preceding if text(o) == text(m)],
        [o for o in preceding if words[o[3]].lower() == words[m[3]].lower()],
        [o for o in preceding if agree(words, tags, m, o)],
        preceding,
    ]
    for passed in sieves:
        if passed:
            return nearest(passed)
    return None


def word_map(attention, groups):
    """[n, n] to [m, m]: sums over the tokens of the word attended to, means over the other's."""
    attention = np.asarray(attention, dtype=np.float64)
    found = np.zeros((len(groups), len(groups)))
    for i, rows in enumerate(groups):
        for j, columns in enumerate(groups):
            found[i, j] = sum(attention[r, c] for r in rows for c in columns) / len(rows)
    return found


def chosen_word(row, own, allowed):
    """The allowed word with the largest weight, the first of equals, and how far the next is."""
    candidates = [j for j in allowed if j != own]
    best = candidates[0]
    for j in candidates:
        if row[j] > row[best]:
            best = j
    others = [row[best] - row[j] for j in candidates if j != best]
    return best, min(others) if others else np.inf
