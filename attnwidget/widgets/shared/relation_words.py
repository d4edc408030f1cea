"""Sentences of a figure, and their words by the relation probe's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.relation_choice import ALL

# Suffix of a relation that is pooled with its subtypes.
_POOLED = " (all)"


def relation_names(sentences: Sequence[Sentence]) -> list[str]:
    """Return the relations of sentences, most frequent first, with pooled subtypes.

    Args:
        sentences: Sentences with annotated relations.

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
    """Return the indices of a relation's words, from 0, without the root."""
    base = relation.removesuffix(_POOLED) if relation.endswith(_POOLED) else None
    pairs = zip(sentence.relations, sentence.governors, strict=True)
    return [
        i
        for i, (label, governor) in enumerate(pairs)
        if governor and (relation in (ALL, label) or label.partition(":")[0] == base)
    ]


def checked_sentences(sentences: object) -> tuple[Sentence, ...]:
    """Return one or several sentences as a tuple.

    Args:
        sentences: Value that the user passed.

    Raises:
        TypeError: If an item is not a sentence.
        ValueError: If there is no sentence.
    """
    items = [sentences] if isinstance(sentences, Sentence) else sentences
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        items = [items]
    sentence_tuple = tuple(items)
    if not sentence_tuple:
        raise ValueError("there are no sentences to show: pass those of a treebank")
    for sentence in sentence_tuple:
        if not isinstance(sentence, Sentence):
            raise TypeError(
                f"'sentences' must be Sentences, got {type(sentence).__name__}: read them with "
                "load_treebank(path), or make one with Sentence.from_lists(...)"
            )
    return sentence_tuple
