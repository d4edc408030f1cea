"""Mentions with an antecedent in a text window, and three simple rules that select it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from attnwidget.text.mentions import Document, Mention

Rule = Callable[[Document, "Anaphor"], int | None]
Number = Literal["singular", "plural"]

_PLURAL = "we us our ours ourselves 's they them 'em their theirs themselves yourselves"
_SINGULAR = (
    "i me my mine myself yourself he him his himself she her hers herself it its itself themself"
)
_FIRST = "i me my mine myself we us our ours ourselves 's"
_SECOND = "you your yours yourself yourselves"
_THIRD = (
    "he him his himself she her hers herself it its itself they them 'em their theirs themselves "
    "themself"
)


def _listed(**words: str) -> dict[str, str]:
    """Return a dict from each word to the name of its list."""
    return {word: value for value, forms in words.items() for word in forms.split()}


_NUMBER = _listed(singular=_SINGULAR, plural=_PLURAL)
_PERSON = _listed(first=_FIRST, second=_SECOND, third=_THIRD)
_GENDER = _listed(
    masculine="he him his himself", feminine="she her hers herself", neuter="it its itself"
)
_NOUN_NUMBER = {"NN": "singular", "NNP": "singular", "NNS": "plural", "NNPS": "plural"}


@dataclass(frozen=True)
class Anaphor:
    """A mention that corefers with an earlier mention of its window.

    Attributes:
        mention: Index of the mention in `document.mentions`.
        antecedents: Indices of the preceding mentions of the same cluster.
        candidates: Indices of all preceding mentions in the window, nearest first.
    """

    mention: int
    antecedents: tuple[int, ...]
    candidates: tuple[int, ...]


def anaphors(document: Document, start: int, end: int) -> list[Anaphor]:
    """Return the mentions to evaluate within words `start` to `end` (exclusive).

    A mention precedes another mention if its first word comes first. A mention is evaluated if a
    preceding mention belongs to the same cluster. If several mentions have the same head word, only
    the longest is evaluated, and the others are neither antecedents nor candidates. The nearest
    mention has the largest start; ties are resolved by the largest end. A span that occurs in
    several clusters belongs to all of them.

    Args:
        document: Document with mentions.
        start: First word of the window.
        end: End of the window, exclusive.

    Example:
        >>> from attnwidget.text.antecedents import anaphors
        >>> from attnwidget.text.mentions import Document
        >>> words = "The captain told his men .".split()
        >>> document = Document.from_spans(words, [(0, 1, "a"), (3, 3, "a"), (3, 4, "b")])
        >>> anaphors(document, 0, 6)
        [Anaphor(mention=1, antecedents=(0,), candidates=(0,))]
    """
    inside = [
        (index, mention)
        for index, mention in enumerate(document.mentions)
        if start <= mention.start and mention.end < end
    ]
    longest: dict[int, tuple[int, Mention]] = {}
    for index, mention in inside:
        previous = longest.get(mention.head)
        if previous is None or len(mention.words) > len(previous[1].words):
            longest[mention.head] = (index, mention)
    clusters = clusters_of_spans(document)
    mentions = []
    for index, mention in sorted(longest.values()):
        preceding = [
            (other.start, other.end, i)
            for i, other in inside
            if other.start < mention.start and other.head != mention.head
        ]
        candidates = tuple(i for *_, i in sorted(preceding, reverse=True))
        own_clusters = clusters[mention.words]
        antecedents = tuple(
            i for i in sorted(candidates) if own_clusters & clusters[document.mentions[i].words]
        )
        if antecedents:
            mentions.append(Anaphor(index, antecedents, candidates))
    return mentions


def clusters_of_spans(document: Document) -> dict[tuple[int, ...], set[str]]:
    """Return the clusters of each span by its words; some corpora put a span in two clusters.

    Args:
        document: Document with mentions.
    """
    clusters: dict[tuple[int, ...], set[str]] = {}
    for mention in document.mentions:
        clusters.setdefault(tuple(mention.words), set()).add(mention.cluster)
    return clusters


def nearest(document: Document, anaphor: Anaphor) -> int | None:
    """Return the index of the nearest preceding mention, or None.

    Args:
        document: Document with mentions.
        anaphor: Mention whose antecedent is searched.
    """
    return anaphor.candidates[0] if anaphor.candidates else None


def head_match(document: Document, anaphor: Anaphor) -> int | None:
    """Return the nearest preceding mention with the same head word, ignoring case, or None.

    Args:
        document: Document with mentions.
        anaphor: Mention whose antecedent is searched.
    """
    return _first(document, anaphor, _same_head)


def rule_based(document: Document, anaphor: Anaphor) -> int | None:
    """Return the nearest mention that passes the first sieve with a match.

    The four sieves are, in this order: same words; same head word; same number, gender and person;
    any mention (Clark et al. 2019, section 4.3, after Lee et al. 2011). An unknown number, gender
    or person agrees with all values.

    Args:
        document: Document with mentions.
        anaphor: Mention whose antecedent is searched.

    Example:
        >>> from attnwidget.text.antecedents import anaphors, nearest, rule_based
        >>> from attnwidget.text.mentions import Document
        >>> words = "John told the men that he slept .".split()
        >>> tags = ["NNP", "VBD", "DT", "NNS", "IN", "PRP", "VBD", "."]
        >>> spans = [(0, 0, "John"), (2, 3, "men"), (5, 5, "John")]
        >>> document = Document.from_spans(words, spans, tags=tags)
        >>> he = anaphors(document, 0, 8)[0]
        >>> nearest(document, he), rule_based(document, he)  # the men; John
        (1, 0)
    """
    for agrees in (_same_words, _same_head, agreement, _any):
        antecedent = _first(document, anaphor, agrees)
        if antecedent is not None:
            return antecedent
    return None


def agreement(document: Document, mention: Mention, other: Mention) -> bool:
    """Return whether the known values of number, person and gender agree.

    For pronouns, all three come from lists of English pronouns. For other mentions, only the number
    is known. It comes from the tag of the head word: NN and NNP are singular, NNS and NNPS plural.

    Args:
        document: Document with mentions.
        mention: First mention.
        other: Second mention.
    """
    return all(
        a is None or b is None or a == b
        for a, b in zip(_features(document, mention), _features(document, other), strict=True)
    )


BASELINES: dict[str, Rule] = {
    "nearest": nearest,
    "head match": head_match,
    "rule-based": rule_based,
}


def _first(
    document: Document, anaphor: Anaphor, agrees: Callable[[Document, Mention, Mention], bool]
) -> int | None:
    """Return the nearest candidate that agrees with the anaphor, or None."""
    mention = document.mentions[anaphor.mention]
    for index in anaphor.candidates:
        if agrees(document, mention, document.mentions[index]):
            return index
    return None


def _same_words(document: Document, mention: Mention, other: Mention) -> bool:
    return _lowered(document, mention.words) == _lowered(document, other.words)


def _same_head(document: Document, mention: Mention, other: Mention) -> bool:
    return _lowered(document, [mention.head]) == _lowered(document, [other.head])


def _any(document: Document, mention: Mention, other: Mention) -> bool:
    return True


def _lowered(document: Document, words: Sequence[int]) -> list[str]:
    return [document.words[word].lower() for word in words]


def _features(document: Document, mention: Mention) -> tuple[str | None, str | None, str | None]:
    """Return number, person and gender of a mention; None for unknown values."""
    if mention.kind == "pronoun":
        word = document.words[mention.head].lower()
        return _NUMBER.get(word), _PERSON.get(word), _GENDER.get(word)
    tag = document.tags[mention.head] if document.tags else ""
    return _NOUN_NUMBER.get(tag), None, None
