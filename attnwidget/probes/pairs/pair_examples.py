"""Pairs of words with a dependency, and equally many pairs without, read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnwidget.kernels.arrays import Int64Array
from attnwidget.text.treebank import Sentence
from attnwidget.words.relation_results import DIRECTIONS

FARTHEST = 10
"""Offsets beyond this are as this one."""
_SENTENCES = 128
"""Sentences that are read at once."""


@dataclass(frozen=True, eq=False)
class WordPairs:
    """P pairs of words of one sentence, dependencies first.

    Attributes:
        dependents: [P], the word, from 0, that depends; of a pair without a dependency the first.
        governors: [P], the other.
        related: bool [P], whether the first depends on the second.
        relations: [P], which relation it is; -1 for none that is asked for.
        balanced: whether there are as many with as without a dependency.
    """

    dependents: Int64Array
    governors: Int64Array
    related: NDArray[np.bool_]
    relations: Int64Array
    balanced: bool


def dependency_pairs(
    sentence: Sentence, places: Mapping[str, int], random: np.random.Generator
) -> WordPairs:
    """All dependencies of a sentence, and as many ordered pairs of words that have none.

    Pairs without a dependency in either direction are drawn uniformly without replacement.
    Sentences of one or two words have no pair without a dependency.

    Args:
        sentence: whose root's dependency is left out: it has no second word.
        places: the number of each relation that is asked for.
        random: draws.
    """
    m = len(sentence)
    governors = np.array(sentence.governors) - 1
    dependents = np.flatnonzero(governors >= 0)
    free = ~np.eye(m, dtype=bool)
    free[dependents, governors[dependents]] = free[governors[dependents], dependents] = False
    candidates = np.flatnonzero(free)
    balanced = 0 < len(dependents) <= len(candidates)
    drawn = (
        random.choice(candidates, len(dependents), replace=False) if balanced else candidates[:0]
    )
    kinds = [places.get(sentence.relations[word], -1) for word in dependents]
    return WordPairs(
        dependents=np.concatenate([dependents, drawn // m]),
        governors=np.concatenate([governors[dependents], drawn % m]),
        related=np.arange(len(dependents) + len(drawn)) < len(dependents),
        relations=np.array(kinds + [-1] * len(drawn), np.int64),
        balanced=balanced,
    )


@dataclass(frozen=True, eq=False)
class PairBlock:
    """The pairs of some sentences together, P.

    Attributes:
        vectors: of each predictor [P, F].
        related: bool [P].
        relations: [P], -1 for none that is asked for.
        balanced: bool [P], whether the sentence has as many pairs with as without a dependency.
        sentences: [P], which sentence each is of.
    """

    vectors: dict[str, NDArray[np.float32]]
    related: NDArray[np.bool_]
    relations: Int64Array
    balanced: NDArray[np.bool_]
    sentences: Int64Array

    def is_example(self, task: str) -> NDArray[np.bool_]:
        """Bool [P], the pairs of a task, "dependency" or "relation"."""
        return self.balanced if task == "dependency" else self.relations >= 0

    def labels(self, task: str) -> Int64Array:
        """[P], what is to be said of each pair."""
        return self.related.astype(np.int64) if task == "dependency" else self.relations


class PairExamples:
    """The pairs of sentences, and their vectors as they are read.

    Args:
        sentences: N sentences.
        maps: of each the maps between words of all heads, [H, m + 2, m + 2], with a row and a
            column for special tokens before and after.
        relations: those that are asked for, in their order.
        directions: who attends to whom in a vector.
        seed: of the pairs without a dependency; the same sentences have the same ones.
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
        places = {name: place for place, name in enumerate(relations)}
        random = np.random.default_rng(seed)
        self.pairs = [dependency_pairs(sentence, places, random) for sentence in sentences]

    def __len__(self) -> int:
        return len(self.pairs)

    def blocks(self, order: Sequence[int]) -> Iterator[PairBlock]:
        """The pairs of some sentences, in this order, a block of sentences at a time."""
        for start in range(0, len(order), _SENTENCES):
            chosen = [i for i in order[start : start + _SENTENCES] if len(self.pairs[i].related)]
            if chosen:
                yield self._block(chosen)

    def _block(self, chosen: Sequence[int]) -> PairBlock:
        of_block = [self.pairs[i] for i in chosen]
        vectors = [self._vectors(i) for i in chosen]
        offsets = np.concatenate([pairs.governors - pairs.dependents for pairs in of_block])
        offsets = offsets.clip(-FARTHEST, FARTHEST)
        lengths = [len(pairs.related) for pairs in of_block]
        return PairBlock(
            vectors={
                "attention": np.concatenate(vectors),
                "offset": np.eye(2 * FARTHEST + 1, dtype=np.float32)[offsets + FARTHEST],
                "distance": np.eye(FARTHEST + 1, dtype=np.float32)[np.abs(offsets)],
            },
            related=np.concatenate([pairs.related for pairs in of_block]),
            relations=np.concatenate([pairs.relations for pairs in of_block]),
            balanced=np.repeat([pairs.balanced for pairs in of_block], lengths),
            sentences=np.repeat(chosen, lengths),
        )

    def _vectors(self, index: int) -> NDArray[np.float32]:
        """[P, D * H] of a sentence, direction by direction."""
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
    """The weights of all heads from one word to another, for P pairs of words.

    `maps` [H, m, m] between words, rows attend; `attending` and `attended` int64 [P], words from 0.
    Returns float32 [P, H].

    Example:
        >>> import numpy as np
        >>> from attnwidget.probes.pairs.pair_examples import pair_vectors
        >>> maps = np.array([[[0.9, 0.1], [0.4, 0.6]]])
        >>> pair_vectors(maps, np.array([0, 1]), np.array([1, 0]))
        array([[0.1],
               [0.4]], dtype=float32)
    """
    return maps[:, attending, attended].T.astype(np.float32)
