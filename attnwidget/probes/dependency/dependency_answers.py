"""Predictions of a dependency probe for one sentence, and its description length."""

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
    """Bits to encode the governors of the training sentences (Voita and Titov 2020).

    In the online code, each block of sentences is encoded with the parameters learned from earlier
    blocks. The first block is encoded as if every governor were equally likely.

    Attributes:
        bounds: First sentence of each block, and the end of the last block.
        bits: Bits of each block, by seed, float64 [K, S].
        uniform_bits: Bits of each block if every governor were equally likely, float64 [K].
        n_words: Number of words in all blocks.

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
        """Bits per word in the online code, averaged over seeds; NaN after an interruption."""
        total_bits = self.uniform_bits[0] + self.bits[1:].sum(0)
        return float(total_bits.mean() / self.n_words)

    @property
    def uniform_bits_a_word(self) -> float:
        """Bits per word if every governor were equally likely."""
        return float(self.uniform_bits.sum() / self.n_words)


@dataclass(frozen=True, eq=False)
class ProbePredictions:
    """Predictions of a probe for one sentence of m words.

    Attributes:
        sentence: Sentence with its tree.
        probabilities: Probability of each governor for each word, float64 [m, m + 1]; column 0 is
            the root.
        scores: Logarithms of the probabilities up to a constant per row, float64 [m, m + 1].
        governors: Predicted governors, int64 [m], from 1; 0 for the root.
        votes: Weight times attention of each head and direction, float64 [L, H, 2, m, m + 1], which
            sum to the score; None if the probe does not use attention.

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
    """Vote of every head for one arc: weight times attention.

    The sum of all votes is the score of the arc. A negative vote is evidence against the arc.

    Attributes:
        values: Votes, float64 [L, H, 2], from the dependent to the governor, and back.
        arc: Arc as text, "governor → dependent".
        model_name: Name of the model whose attention the probe uses.

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
        """Votes of both directions together, [L, H]."""
        both: Float64Array = self.values.sum(-1)
        return both

    def heads(self) -> HeadMetrics:
        """Return the votes by direction: float64 [L, H] each."""
        return {f"votes, {name}": self.values[..., i] for i, name in enumerate(DIRECTIONS)}
