"""What a dependency probe says: of one sentence, and how many bits governors cost under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.results import HeadHeatMap, HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.treebank import Sentence
from attnwidget.words.relation_results import DIRECTIONS

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class CodeLength:
    """Bits that the governors of the training sentences cost (Voita and Titov 2020).

    In the online code, each block of sentences is coded with the parameters learned from earlier
    blocks. The first block is coded as if every governor were equally likely.

    Attributes:
        bounds: where blocks begin, and the end of the last, in sentences.
        bits: float64 [K, S], each block's bits, by seed.
        uniform_bits: float64 [K], were every governor equally likely.
        n_words: words of all blocks.

    Example:
        >>> import numpy as np
        >>> from attnwidget.results import CodeLength
        >>> code = CodeLength((0, 10, 20), np.array([[80.0], [40.0]]), np.array([80.0, 90.0]), 40)
        >>> code.bits_a_word, code.uniform_bits_a_word
        (3.0, 4.25)
    """

    bounds: tuple[int, ...]
    bits: Float64Array
    uniform_bits: Float64Array
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

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> predicted = demo_probe().predictions(demo_treebank()[94])
        >>> predicted
        ProbePredictions(8 of 15 right: 'Sorry, I missed your call, my phone was in my other coat.')
        >>> predicted.probabilities.shape, predicted.governors.shape
        ((15, 16), (15,))
    """

    sentence: Sentence
    probabilities: Float64Array
    scores: Float64Array
    governors: NDArray[np.int64]
    votes: Float64Array | None

    def __repr__(self) -> str:
        right = int((self.governors == self.sentence.governors).sum())
        return f"ProbePredictions({right} of {len(self.sentence)} right: {self.sentence.text!r})"


@dataclass(frozen=True, eq=False, repr=False)
class HeadVotes(HeadResult):
    """The vote of every head for one arc: weight times attention.

    The sum of all votes is the score of the arc. A negative vote speaks against the arc.

    Attributes:
        values: float64 [L, H, 2], from the dependent to the governor, and back.
        arc: the arc as text, "governor → dependent".
        model_name: the model whose attention the probe reads.

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> votes = demo_probe().votes(demo_treebank()[94], 1, 2)
        >>> votes.arc, votes.values.shape
        (', → Sorry', (6, 12, 2))
    """

    values: Float64Array
    arc: str

    figure = HeadHeatMap("_both", "Votes of heads for {self.arc}", "vote", "{self.model_name}")

    @property
    def _both(self) -> Float64Array:
        """The votes of both directions together, [L, H]."""
        both: Float64Array = self.values.sum(-1)
        return both

    def heads(self) -> HeadMetrics:
        """Votes by direction: float64 [L, H] each."""
        return {f"votes, {name}": self.values[..., i] for i, name in enumerate(DIRECTIONS)}
