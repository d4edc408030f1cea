"""What a dependency probe says: of one sentence, and how many bits governors cost under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.treebank import Sentence

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodeLength:
    """Bits that the governors of the training sentences cost (Voita and Titov 2020).

    The online code: the sentences in blocks, each coded with the parameters learned from earlier
        blocks;
    the first block is coded as if every governor were equally likely.

    Attributes:
        bounds: where blocks begin, and the end of the last, in sentences.
        bits: float64 [K, S], each block's bits, by seed.
        uniform_bits: float64 [K], were every governor equally likely.
        n_words: words of all blocks.
    """

    bounds: tuple[int, ...]
    bits: Floats
    uniform_bits: Floats
    n_words: int

    @property
    def bits_a_word(self) -> float:
        """Bits a word in the online code, the mean over seeds; NaN where training was ended."""
        coded = self.uniform_bits[0] + self.bits[1:].sum(0)
        return float(coded.mean() / self.n_words)

    @property
    def uniform_bits_a_word(self) -> float:
        """Bits a word were every governor equally likely."""
        return float(self.uniform_bits.sum() / self.n_words)


@dataclass(frozen=True, eq=False)
class ProbePredictions:
    """The answers of a probe for one sentence of m words.

    Attributes:
        sentence: the sentence.
        probabilities: float64 [m, m + 1], of each word its governors; column 0 is the root.
        scores: float64 [m, m + 1], their logarithms but for a constant a row.
        governors: int64 [m], what the probe answers, from 1, 0 for the root.
        votes: float64 [L, H, 2, m, m + 1], weight times attention of each head and
            direction, whose sum is the score; None where attention is not read.
    """

    sentence: Sentence
    probabilities: Floats
    scores: Floats
    governors: NDArray[np.int64]
    votes: Floats | None

    def __repr__(self) -> str:
        right = int((self.governors == self.sentence.governors).sum())
        return f"ProbePredictions({right} of {len(self.sentence)} right: {self.sentence.text!r})"
