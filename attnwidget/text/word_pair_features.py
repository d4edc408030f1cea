"""Features of word pairs in sentences of a treebank: position, grammar, and equal words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from attnwidget.text.treebank import Sentence

FactorName = Literal["position", "grammar", "same word"]
#: Largest offset with a feature of its own.
REACH = 8


class WordPairs:
    """All pairs (query, key) of words in the same sentence, query by query.

    Attributes:
        sentences: Index of the sentence of each pair, int64 [C].
        queries: Number of the query of each pair over all sentences, int64 [C].

    Example:
        >>> from attnwidget import Sentence
        >>> from attnwidget.text.word_pair_features import WordPairs
        >>> pairs = WordPairs([Sentence(("Cats", "purr"), (2, 0), ("nsubj", "root"))])
        >>> pairs.queries.tolist()
        [0, 0, 1, 1]
        >>> pairs.features(["position"]).shape
        (4, 4)
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        self.sentences = np.repeat(np.arange(len(sentences)), lengths**2)
        self.queries = np.repeat(np.arange(lengths.sum()), np.repeat(lengths, lengths))

    def features(self, factors: Iterable[FactorName]) -> Any:
        """Return indicators of the features of some factors, a sparse array [C, F].

        Only features that occur have a column.

        Args:
            factors: Names of the factors.
        """
        columns: dict[tuple[str, ...], int] = {}
        rows: list[int] = []
        indices: list[int] = []
        names = tuple(factors)
        pair = 0
        for sentence in self._sentences:
            tags = sentence.tags if any(sentence.tags) else sentence.xpos
            words = [word.lower() for word in sentence.words]
            for query in range(len(sentence)):
                for key in range(len(sentence)):
                    for feature in _features(sentence, tags, words, query, key, names):
                        rows.append(pair)
                        indices.append(columns.setdefault(feature, len(columns)))
                    pair += 1
        shape = pair, len(columns)
        return scipy.sparse.csr_array((np.ones(len(rows)), (rows, indices)), shape=shape)


def _features(
    sentence: Sentence,
    tags: Sequence[str],
    words: Sequence[str],
    query: int,
    key: int,
    factors: Sequence[FactorName],
) -> list[tuple[str, ...]]:
    """Return the features of one pair of words."""
    features: list[tuple[str, ...]] = []
    if "position" in factors:
        features.append(("offset", str(max(-REACH, min(REACH, key - query)))))
        if key == 0:
            features.append(("first word",))
    if "grammar" in factors:
        if key == query:
            features.append(("itself", tags[query]))
        else:
            features.append(("parts of speech", tags[query], tags[key]))
        if sentence.governors[query] == key + 1:
            features.append(("governor", sentence.relations[query]))
        if sentence.governors[key] == query + 1:
            features.append(("dependent", sentence.relations[key]))
    if "same word" in factors and key != query and words[key] == words[query]:
        features.append(("same word",))
    return features


def with_shuffled_words(sentences: Iterable[Sentence], seed: int) -> list[Sentence]:
    """Return sentences whose words have the annotations of other words of their sentence.

    Parts of speech, relations and tree move together: only their words change. The words keep their
    order.

    Args:
        sentences: Sentences of a treebank.
        seed: Seed of the random order.

    Example:
        >>> from attnwidget import Sentence
        >>> from attnwidget.text.word_pair_features import with_shuffled_words
        >>> cats = Sentence(("Cats", "purr"), (2, 0), ("nsubj", "root"), ("NOUN", "VERB"))
        >>> shuffled, = with_shuffled_words([cats], seed=1)
        >>> shuffled.words, sorted(shuffled.tags)
        (('Cats', 'purr'), ['NOUN', 'VERB'])
    """
    random = np.random.default_rng(seed)
    return [_reannotated(sentence, random.permutation(len(sentence))) for sentence in sentences]


def _reannotated(sentence: Sentence, order: NDArray[np.int64]) -> Sentence:
    """Return a sentence whose word i has the annotation of word order[i]."""
    places = np.argsort(order)
    governors = [sentence.governors[source] for source in order]
    return replace(
        sentence,
        governors=tuple(
            0 if not governor else int(places[governor - 1]) + 1 for governor in governors
        ),
        relations=tuple(sentence.relations[source] for source in order),
        tags=tuple(sentence.tags[source] for source in order if sentence.tags),
        xpos=tuple(sentence.xpos[source] for source in order if sentence.xpos),
    )
