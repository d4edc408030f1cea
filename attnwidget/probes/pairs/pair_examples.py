"""Pairs of words with a dependency, and equally many pairs without, processed in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Int64Array
from attnwidget.text.treebank import Sentence
from attnwidget.words.relation_results import DIRECTIONS

FARTHEST = 10
"""Largest offset; larger offsets count as this one."""
_SENTENCES = 128
"""Number of sentences in a block."""


@dataclass(frozen=True, eq=False)
class WordPairs:
    """P pairs of words of one sentence, dependencies first.

    Attributes:
        dependents: Dependent word of each pair, from 0, [P]; the first word if there is no
            dependency.
        governors: Other word of each pair, [P].
        related: Whether the first word depends on the second, bool [P].
        relations: Index of the relation, [P]; -1 for no requested relation.
        balanced: Whether there are equally many pairs with and without a dependency.
    """

    dependents: Int64Array
    governors: Int64Array
    related: NDArray[np.bool_]
    relations: Int64Array
    balanced: bool


def dependency_pairs(
    sentence: Sentence, places: Mapping[str, int], random: np.random.Generator
) -> WordPairs:
    """Return all dependencies of a sentence, and equally many ordered word pairs without one.

    Pairs without a dependency in either direction are drawn uniformly without replacement.
    Sentences of one or two words have no pair without a dependency.

    Args:
        sentence: Sentence; the root's dependency is excluded, because it has no second word.
        places: Index of each requested relation.
        random: Generator of the draws.
    """
    m = len(sentence)
    governors = np.array(sentence.governors) - 1
    dependents = np.flatnonzero(governors >= 0)
    free = ~np.eye(m, dtype=bool)
    free[dependents, governors[dependents]] = free[governors[dependents], dependents] = False
    candidates = np.flatnonzero(free)
    balanced = 0 < len(dependents) <= len(candidates)
    drawn_pairs = (
        random.choice(candidates, len(dependents), replace=False) if balanced else candidates[:0]
    )
    kinds = [places.get(sentence.relations[word], -1) for word in dependents]
    return WordPairs(
        dependents=np.concatenate([dependents, drawn_pairs // m]),
        governors=np.concatenate([governors[dependents], drawn_pairs % m]),
        related=np.arange(len(dependents) + len(drawn_pairs)) < len(dependents),
        relations=np.array(kinds + [-1] * len(drawn_pairs), np.int64),
        balanced=balanced,
    )


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Pairs of some sentences together, P.

    Attributes:
        vectors: Features [P, F] by predictor.
        related: Whether the first word depends on the second, bool [P].
        relations: Index of the relation, [P]; -1 for no requested relation.
        balanced: Whether the sentence has equally many pairs with and without a dependency, bool
            [P].
        sentences: Sentence of each pair, [P].
    """

    vectors: dict[str, NDArray[np.float32]]
    related: NDArray[np.bool_]
    relations: Int64Array
    balanced: NDArray[np.bool_]
    sentences: Int64Array

    def is_example(self, task: str) -> NDArray[np.bool_]:
        """Return the pairs of a task, "dependency" or "relation", bool [P]."""
        return self.balanced if task == "dependency" else self.relations >= 0

    def labels(self, task: str) -> Int64Array:
        """Return the true class of each pair, [P]."""
        return self.related.astype(np.int64) if task == "dependency" else self.relations


class PairExamples:
    """Pairs of sentences, with vectors that are computed on demand.

    Args:
        sentences: Sentences with dependency trees (N).
        maps: Maps between words of all heads for each sentence, [H, m + 2, m + 2], with a row and a
            column for special tokens before and after.
        relations: Requested relations, in their order.
        directions: Directions of attention in a vector.
        seed: Seed of the pairs without a dependency; equal sentences get equal pairs.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        maps: Sequence[NDArray[np.floating]],
        relations: Sequence[str],
        directions: tuple[str, ...],
        seed: int,
    ) -> None:
        self._maps = maps
        self._directions = directions
        relation_indices = {name: index for index, name in enumerate(relations)}
        random = np.random.default_rng(seed)
        self.pairs = [
            dependency_pairs(sentence, relation_indices, random) for sentence in sentences
        ]

    def __len__(self) -> int:
        return len(self.pairs)

    def blocks(self, order: Sequence[int]) -> Iterator[PairBlock]:
        """Yield the pairs of some sentences, in this order, one block of sentences at a time."""
        for start in range(0, len(order), _SENTENCES):
            indices = [i for i in order[start : start + _SENTENCES] if len(self.pairs[i].related)]
            if indices:
                yield self._block(indices)

    def _block(self, chosen: Sequence[int]) -> PairBlock:
        sentence_pairs = [self.pairs[i] for i in chosen]
        vectors = [self._vectors(i) for i in chosen]
        offsets = np.concatenate([pairs.governors - pairs.dependents for pairs in sentence_pairs])
        offsets = offsets.clip(-FARTHEST, FARTHEST)
        lengths = [len(pairs.related) for pairs in sentence_pairs]
        return PairBlock(
            vectors={
                "attention": np.concatenate(vectors),
                "offset": np.eye(2 * FARTHEST + 1, dtype=np.float32)[offsets + FARTHEST],
                "distance": np.eye(FARTHEST + 1, dtype=np.float32)[np.abs(offsets)],
            },
            related=np.concatenate([pairs.related for pairs in sentence_pairs]),
            relations=np.concatenate([pairs.relations for pairs in sentence_pairs]),
            balanced=np.repeat([pairs.balanced for pairs in sentence_pairs], lengths),
            sentences=np.repeat(chosen, lengths),
        )

    def _vectors(self, index: int) -> NDArray[np.float32]:
        """Return the vectors of a sentence, [P, D * H], direction by direction."""
        maps = self._maps[index][:, 1:-1, 1:-1]
        pairs_of_sentence = self.pairs[index]
        ends = {
            DIRECTIONS[0]: (pairs_of_sentence.dependents, pairs_of_sentence.governors),
            DIRECTIONS[1]: (pairs_of_sentence.governors, pairs_of_sentence.dependents),
        }
        return np.concatenate(
            [pair_vectors(maps, *ends[direction]) for direction in self._directions], axis=1
        )


def pair_vectors(
    maps: NDArray[np.floating], attending: NDArray[np.int64], attended: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the weights of all heads from one word to another, for P pairs of words.

    Args:
        maps: Attention between words, [H, m, m]; rows attend.
        attending: Index of the attending word of each pair, int64 [P].
        attended: Index of the attended word of each pair, int64 [P].

    Returns:
        Weights, float32 [P, H].

    Example:
        >>> import numpy as np
        >>> from attnwidget.probes.pairs.pair_examples import pair_vectors
        >>> maps = np.array([[[0.9, 0.1], [0.4, 0.6]]])
        >>> pair_vectors(maps, np.array([0, 1]), np.array([1, 0]))
        array([[0.1],
               [0.4]], dtype=float32)
    """
    return maps[:, attending, attended].T.astype(np.float32)
