"""Scores of predicted distances and depths against trees (Hewitt and Manning 2019, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.minimum_spanning_tree import spanning_edges
from attnwidget.kernels.rank_correlation import spearman
from attnwidget.kernels.significance import bootstrap_weights, few_differ, percentile_interval
from attnwidget.kernels.tree_distances import tree_depths, tree_distances
from attnwidget.text.treebank import Sentence

Edges = set[tuple[int, int]]
Punctuation = Literal["xpos", "upos", "relation"]

MEASURES = ("UUAS", "DSpr", "root accuracy", "NSpr")
LENGTHS = range(5, 51)
"""Sentence lengths in words over which correlations are averaged."""
_PENN_PUNCTUATION = frozenset(["''", ",", ".", ":", "``", "-LRB-", "-RRB-"])
# The last eight tags are from later treebanks of the same family: English Web Treebank, OntoNotes.
_PENN_WORDS = frozenset(
    [
        "CC",
        "CD",
        "DT",
        "EX",
        "FW",
        "IN",
        "JJ",
        "JJR",
        "JJS",
        "LS",
        "MD",
        "NN",
        "NNS",
        "NNP",
        "NNPS",
        "PDT",
        "POS",
        "PRP",
        "PRP$",
        "RB",
        "RBR",
        "RBS",
        "RP",
        "SYM",
        "TO",
        "UH",
        "VB",
        "VBD",
        "VBG",
        "VBN",
        "VBP",
        "VBZ",
        "WDT",
        "WP",
        "WP$",
        "WRB",
        "$",
        "#",
        "(",
        ")",
        "-LSB-",
        "-RSB-",
        "-LCB-",
        "-RCB-",
        "ADD",
        "AFX",
        "BES",
        "GW",
        "HVS",
        "HYPH",
        "NFP",
        "XX",
    ]
)


def punctuation_rule(sentences: Sequence[Sentence]) -> Punctuation:
    """Return the annotation that identifies punctuation in all of these sentences.

    "xpos" if all of the treebank's own tags belong to the Penn Treebank's family, as in the paper;
    otherwise "upos", the universal tag PUNCT; without tags "relation", the relation punct.
    """
    if all(
        sentence.xpos and {*sentence.xpos} <= _PENN_WORDS | _PENN_PUNCTUATION
        for sentence in sentences
    ):
        return "xpos"
    return (
        "upos"
        if all(sentence.tags and all(sentence.tags) for sentence in sentences)
        else "relation"
    )


def usable_rule(rule: Punctuation, sentences: Sequence[Sentence]) -> Punctuation:
    """Return a probe's rule for punctuation if these sentences have its annotation.

    Otherwise, return the rule of the sentences.
    """
    annotated = {
        "xpos": all(sentence.xpos for sentence in sentences),
        "upos": all(sentence.tags and all(sentence.tags) for sentence in sentences),
        "relation": True,
    }
    return rule if annotated[rule] else punctuation_rule(sentences)


def is_punctuation(sentence: Sentence, rule: Punctuation) -> NDArray[np.bool_]:
    """Return whether each word is punctuation by the rule, bool [m]."""
    if rule == "xpos":
        return np.array([tag in _PENN_PUNCTUATION for tag in sentence.xpos])
    labels = sentence.tags if rule == "upos" else sentence.relations
    return np.array([label.partition(":")[0] in ("PUNCT", "punct") for label in labels])


@dataclass(frozen=True, eq=False)
class GoldTree:
    """Annotated tree with which predictions for a sentence are compared.

    Attributes:
        distances: Number of edges between words, int64 [m, m].
        depths: Number of edges from the root word, int64 [m].
        kept: Words other than punctuation, bool [m].
        edges: Edges of the minimum spanning tree of the distances between these words.
    """

    distances: NDArray[np.int64]
    depths: NDArray[np.int64]
    kept: NDArray[np.bool_]
    edges: Edges

    @classmethod
    def from_sentence(cls, sentence: Sentence, rule: Punctuation) -> GoldTree:
        """Return the tree of a sentence, with punctuation identified by the rule."""
        distances = tree_distances(sentence.governors)
        is_word = ~is_punctuation(sentence, rule)
        edges = spanning_edges(distances, is_word)
        return cls(distances, tree_depths(sentence.governors), is_word, edges)

    def root_of(self, depths: NDArray[np.floating | np.integer]) -> int:
        """Return the word with the smallest depth, except punctuation; the first one if tied.

        If all words are punctuation, return the one with the smallest depth. `depths` is [m].
        """
        candidates = self.kept if self.kept.any() else ~self.kept
        return int(np.argmin(np.where(candidates, depths, np.inf)))


class TreeScores:
    """Score sums over N sentences for L layers, and the resulting estimates.

    Args:
        trees: Trees of the sentences.
        n_layers: Number of layers L.
    """

    def __init__(self, trees: Sequence[GoldTree], n_layers: int) -> None:
        self._trees = trees
        self._lengths = np.array([len(tree.depths) for tree in trees])
        # The arrays hold the contribution of each sentence to each measure, [4, L, N], and its
        # weight, [4, N].
        self._sums = np.zeros((len(MEASURES), n_layers, len(trees)))
        has_counted_length = np.isin(self._lengths, LENGTHS).astype(float)
        edges = np.array([float(len(tree.edges)) for tree in trees])
        self._counts = np.stack(
            [edges, has_counted_length, np.ones(len(trees)), has_counted_length]
        )

    def add(self, index: int, distances: Float64Array, depths: Float64Array) -> None:
        """Score the predictions for a sentence: distances [L, m, m] and depths [L, m].

        A prediction that is the same for all words has a correlation of 0.
        """
        tree = self._trees[index]
        sums = self._sums[:, :, index]
        for layer, layer_distances in enumerate(distances):
            sums[0, layer] = len(tree.edges & spanning_edges(layer_distances, tree.kept))
            sums[2, layer] = tree.depths[tree.root_of(depths[layer])] == 0
        if self._counts[1, index]:
            sums[1] = np.nan_to_num(spearman(distances, tree.distances)).mean(-1)
            sums[3] = np.nan_to_num(spearman(depths, tree.depths))

    def estimates(self, draws: int = 1000) -> Float64Array:
        """Return value, low and high end of the interval for each of `MEASURES`, float64 [3, 4, L].

        UUAS is the number of shared edges / gold edges over all sentences; correlations are means
        over the sentences of one length, then over lengths. Intervals are 95 % bootstrap intervals
        over sentences (`percentile_interval`), NaN with fewer than six. NaN if no sentence counts.
        """
        weights = bootstrap_weights(len(self._trees), draws)
        return np.stack([self._estimate(i, weights) for i in range(len(MEASURES))], axis=1)

    def _estimate(self, measure: int, weights: Float64Array) -> Float64Array:
        """Return one measure, [3, L], for sentence weights [1 + draws, N] whose first row is 1."""
        sums = self._sums[measure]
        counts = self._counts[measure]
        if not counts.any():
            return np.full((3, len(sums)), np.nan)
        by_length = MEASURES[measure] in ("DSpr", "NSpr")
        lengths = self._lengths if by_length else np.zeros_like(self._lengths)
        members = lengths == np.unique(lengths[counts > 0])[:, None]  # [G, N]
        amounts = weights @ (members * counts).T  # [1 + draws, G]
        totals = np.stack(
            [weights @ (members * sums_of_layer).T for sums_of_layer in sums]
        )  # [L, 1 + draws, G]
        shares = np.divide(totals, amounts, out=np.zeros_like(totals), where=amounts > 0)
        with np.errstate(invalid="ignore"):  # A draw may have no sentence that counts.
            means = shares.sum(-1) / (amounts > 0).sum(-1)
        # Correlations are not shares.
        rare = None if by_length else few_differ(sums, counts)
        return percentile_interval(means, int((counts > 0).sum()), rare=rare)

    def mean_with(self, others: Sequence[TreeScores]) -> TreeScores:
        """Return the mean over several seeds, sentence by sentence."""
        mean = TreeScores(self._trees, self._sums.shape[1])
        mean._sums = np.mean([self._sums, *(other._sums for other in others)], axis=0)
        return mean


def chain_scores(trees: Sequence[GoldTree]) -> TreeScores:
    """Return the scores of a baseline in which each word depends on the word before.

    This is the paper's Linear baseline. Distances are those in the sentence, and the first word is
    the root.
    """
    scores = TreeScores(trees, 1)
    for index, tree in enumerate(trees):
        positions = np.arange(len(tree.depths), dtype=float)
        scores.add(index, np.abs(positions[:, None] - positions)[None], positions[None])
    return scores
