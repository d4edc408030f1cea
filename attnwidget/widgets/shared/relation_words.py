"""Sentences that a figure shows, and their words by the names that the relation probe gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.relation_choice import ALL

# What stands after a relation that is taken together with its subtypes.
_POOLED = " (all)"


def relation_names(sentences: Sequence[Sentence]) -> list[str]:
    """Relations of sentences, most frequent first; those with subtypes also all together.

    Example:
        >>> from attnwidget.text.treebank import Sentence
        >>> from attnwidget.widgets.shared.relation_words import relation_names
        >>> words, relations = ["my", "old", "cat"], ["nmod:poss", "nmod", "root"]
        >>> relation_names([Sentence.from_lists(words, [3, 3, 0], relations)])
        ['nmod (all)', 'nmod', 'nmod:poss', 'root']
    """
    counts = Counter(label for sentence in sentences for label in sentence.relations)
    bases: dict[str, list[str]] = {}
    for label in counts:
        bases.setdefault(label.partition(":")[0], []).append(label)
    pooled = {
        base + _POOLED: sum(counts[label] for label in subtypes)
        for base, subtypes in bases.items()
        if len(subtypes) > 1
    }
    counts.update(pooled)
    return sorted(counts, key=lambda name: (-counts[name], name))


def words_of_relation(sentence: Sentence, relation: str) -> list[int]:
    """Words of a relation, from 0, without the root."""
    base = relation.removesuffix(_POOLED) if relation.endswith(_POOLED) else None
    pairs = zip(sentence.relations, sentence.governors, strict=True)
    return [
        i
        for i, (label, governor) in enumerate(pairs)
        if governor and (relation in (ALL, label) or label.partition(":")[0] == base)
    ]


def checked_sentences(sentences: object) -> tuple[Sentence, ...]:
    """Sentences, or one; TypeError for anything else, ValueError where there are none."""
    given = [sentences] if isinstance(sentences, Sentence) else sentences
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        given = [given]
    listed = tuple(given)
    if not listed:
        raise ValueError("there are no sentences to show: pass those of a treebank")
    for sentence in listed:
        if not isinstance(sentence, Sentence):
            raise TypeError(
                f"'sentences' are Sentences, got {type(sentence).__name__}: read them with "
                "load_treebank(path), or make one with Sentence.from_lists(...)"
            )
    return listed
