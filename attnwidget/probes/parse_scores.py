"""Governor accuracies of predictors, and predictors without any learning as baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import BoolArray, Int64Array
from attnwidget.kernels.significance import bootstrap_ratio_interval
from attnwidget.text.treebank import Sentence

# Offsets from a word to its governor that Clark et al. tried (section 4.2).
OFFSETS = range(-3, 3)


@dataclass(frozen=True, eq=False)
class JudgedWords:
    """Words of N sentences in order, W in all.

    Attributes:
        relations: Relations (R), most frequent first.
        relation: Relation of each word, int64 [W].
        sentence: Sentence of each word, int64 [W].
    """

    relations: tuple[str, ...]
    relation: Int64Array
    sentence: Int64Array

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sentence]) -> JudgedWords:
        """Return the words of sentences."""
        labels = [label for sentence in sentences for label in sentence.relations]
        distinct, label_indices, counts = np.unique(labels, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        lengths = [len(sentence) for sentence in sentences]
        return cls(
            tuple(distinct[order].tolist()),
            ranks[label_indices],
            np.repeat(np.arange(len(lengths)), lengths),
        )

    @cached_property
    def counted(self) -> BoolArray:
        """Whether each word counts in the score, bool [W]; False for punctuation."""
        names = [label.partition(":")[0] != "punct" for label in self.relations]
        return np.array(names)[self.relation]


@dataclass(frozen=True, eq=False)
class ParseScores:
    """Words for which a predictor finds the governor.

    Attributes:
        hits: Whether each governor is correct, bool [S, W], one row per seed, or a single row for
            predictors without randomness.
        words: Judged words.
    """

    hits: BoolArray
    words: JudgedWords

    @property
    def per_seed(self) -> NDArray[np.float64]:
        """Unlabeled attachment score of each seed without punctuation, [S]; 0 to 1."""
        counted_hits = self.hits[:, self.words.counted]
        return counted_hits.mean(1) if counted_hits.size else np.full(len(counted_hits), np.nan)

    @property
    def uas(self) -> float:
        """Unlabeled attachment score without punctuation, averaged over seeds; 0 to 1."""
        return float(self.per_seed.mean())

    @property
    def spread(self) -> float:
        """Standard deviation over seeds; NaN for a single seed."""
        return float(self.per_seed.std(ddof=1)) if len(self.hits) > 1 else float("nan")

    @property
    def uas_with_punctuation(self) -> float:
        """Unlabeled attachment score over all words, averaged over seeds."""
        return float(self.hits.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of `uas` over sentences: low and high."""
        n = int(self.words.sentence[-1]) + 1
        sentence_of = self.words.sentence[self.words.counted]
        right = np.bincount(sentence_of, self.hits.mean(0)[self.words.counted], n)
        return bootstrap_ratio_interval(right, np.bincount(sentence_of, minlength=n))

    def by_relation(self) -> dict[str, tuple[int, float]]:
        """Return the number of words of each relation, and the share with a correct governor."""
        counts = np.bincount(self.words.relation, minlength=len(self.words.relations))
        right = np.bincount(self.words.relation, self.hits.mean(0), len(counts))
        rows = zip(self.words.relations, counts.tolist(), (right / counts).tolist(), strict=True)
        return {name: (n, share) for name, n, share in rows}


def judged(
    words: JudgedWords, governors: Sequence[Sequence[int]], predicted: Iterable[Int64Array]
) -> ParseScores:
    """Return the scores of predicted governors, [S, m] per sentence, against the true governors."""
    hits = [guess == np.asarray(truth) for guess, truth in zip(predicted, governors, strict=True)]
    return ParseScores(np.concatenate(hits, 1), words)


def offset_governors(n_words: int, offset: int) -> Int64Array:
    """Return the governor of each word at a fixed offset, clipped to 0 and the last word.

    Example:
        >>> from attnwidget.probes.parse_scores import offset_governors
        >>> offset_governors(4, 1).tolist(), offset_governors(4, -2).tolist()
        ([2, 3, 4, 4], [0, 0, 1, 2])
    """
    return np.clip(np.arange(1, n_words + 1) + offset, 0, n_words)


def best_offset(sentences: Sequence[Sentence]) -> int:
    """Return the offset in `OFFSETS` at which most governors are; the larger one if tied.

    Punctuation does not count.
    """
    words = JudgedWords.from_sentences(sentences)
    governors = [sentence.governors for sentence in sentences]

    def score(offset: int) -> float:
        guesses = (offset_governors(len(sentence), offset)[None] for sentence in sentences)
        return judged(words, governors, guesses).uas

    return max(OFFSETS, key=lambda offset: (score(offset), offset))


def control_governors(sentence: Sentence) -> tuple[int, ...]:
    """Return random governors for the control task of Hewitt and Liang (2019).

    Each word type gets one of the root, the word itself, the first and the last word of the
    sentence. A type has the same choice in every sentence, which only the type determines.

    Example:
        >>> from attnwidget.probes.parse_scores import control_governors
        >>> from attnwidget.text.treebank import Sentence
        >>> cats = Sentence.from_lists("Cats eat cats fish".split(), [2, 0, 4, 2], ["dep"] * 4)
        >>> control_governors(cats)
        (4, 4, 1, 4)
    """
    m = len(sentence)
    choices: list[Callable[[int], int]] = [lambda i: 0, lambda i: i, lambda i: 1, lambda i: m]
    return tuple(choices[_draw(word)](i) for i, word in enumerate(sentence.words, 1))


def _draw(word: str) -> int:
    # Use a hash instead of a random generator, so that the choice of a type depends on no other
    # type.
    hashed = f"0 {word}".encode("utf-8", "surrogatepass")
    return blake2b(hashed, digest_size=8).digest()[0] % 4
