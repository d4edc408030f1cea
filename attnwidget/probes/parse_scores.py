"""How many governors a predictor finds, and what finds some without having learned anything."""

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

# Places that a governor may be away from its word, as Clark et al. tried them (section 4.2).
OFFSETS = range(-3, 3)


@dataclass(frozen=True, eq=False)
class JudgedWords:
    """The words of N sentences in order, W in all.

    Attributes:
        relations: the R relations, the most frequent first.
        relation: int64 [W], the relation of each word.
        sentence: int64 [W], the sentence of each word.
    """

    relations: tuple[str, ...]
    relation: Int64Array
    sentence: Int64Array

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sentence]) -> JudgedWords:
        """The words of sentences."""
        labels = [label for sentence in sentences for label in sentence.relations]
        known, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        lengths = [len(sentence) for sentence in sentences]
        return cls(
            tuple(known[order].tolist()), ranks[places], np.repeat(np.arange(len(lengths)), lengths)
        )

    @cached_property
    def counted(self) -> BoolArray:
        """Bool [W], False at punctuation, which the score leaves out."""
        names = [label.partition(":")[0] != "punct" for label in self.relations]
        return np.array(names)[self.relation]


@dataclass(frozen=True, eq=False)
class ParseScores:
    """The words whose governor a predictor finds.

    Attributes:
        hits: bool [S, W], a row per seed, or a single row for predictors without a random part.
        words: the words.
    """

    hits: BoolArray
    words: JudgedWords

    @property
    def per_seed(self) -> NDArray[np.float64]:
        """The unlabeled attachment score of each seed, [S], without punctuation; 0 to 1."""
        kept = self.hits[:, self.words.counted]
        return kept.mean(1) if kept.size else np.full(len(kept), np.nan)

    @property
    def uas(self) -> float:
        """The unlabeled attachment score without punctuation, the mean over seeds; 0 to 1."""
        return float(self.per_seed.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over seeds; NaN for one."""
        return float(self.per_seed.std(ddof=1)) if len(self.hits) > 1 else float("nan")

    @property
    def uas_with_punctuation(self) -> float:
        """The same over all words."""
        return float(self.hits.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of `uas` over sentences: low and high."""
        n = int(self.words.sentence[-1]) + 1
        sentence_of = self.words.sentence[self.words.counted]
        right = np.bincount(sentence_of, self.hits.mean(0)[self.words.counted], n)
        return bootstrap_ratio_interval(right, np.bincount(sentence_of, minlength=n))

    def by_relation(self) -> dict[str, tuple[int, float]]:
        """The number of words of each relation, and the share with a correct governor."""
        counts = np.bincount(self.words.relation, minlength=len(self.words.relations))
        right = np.bincount(self.words.relation, self.hits.mean(0), len(counts))
        rows = zip(self.words.relations, counts.tolist(), (right / counts).tolist(), strict=True)
        return {name: (n, share) for name, n, share in rows}


def judged(
    words: JudgedWords, governors: Sequence[Sequence[int]], predicted: Iterable[Int64Array]
) -> ParseScores:
    """The hits of predictions, [S, m] a sentence, against governors."""
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
    """The place of `OFFSETS` at which most governors of these sentences are; the larger of equals.

    Punctuation does not count.
    """
    words = JudgedWords.from_sentences(sentences)
    governors = [sentence.governors for sentence in sentences]

    def score(offset: int) -> float:
        guesses = (offset_governors(len(sentence), offset)[None] for sentence in sentences)
        return judged(words, governors, guesses).uas

    return max(OFFSETS, key=lambda offset: (score(offset), offset))


def control_governors(sentence: Sentence) -> tuple[int, ...]:
    """The control task of Hewitt and Liang (2019): a governor drawn once for each word type.

    One of the root, the word itself, the first and the last word of the sentence. A type has the
    same in every sentence; nothing but the type tells which.

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
    # A hash and no random generator: the draw of a type depends on no other type.
    hashed = f"0 {word}".encode("utf-8", "surrogatepass")
    return blake2b(hashed, digest_size=8).digest()[0] % 4
