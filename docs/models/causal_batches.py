"""Training batches of the causal model: tokens in a random cycle, and prose with renamed words.

A model that only needs to know its few pages of prose learns them by heart. Renaming words at
random, everywhere in a window alike, leaves one way to predict them: by their earlier occurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

LENGTHS = (64, 128)
"""Tokens of a window; a batch has windows of one length."""
LENGTH_SHARES = (0.6, 0.4)
"""The share of the batches that each length has."""
SHORTEST = 6
"""The fewest tokens of a cycle."""
LONGEST = (24, 60)
"""The most tokens of a cycle, at the beginning of the training and at the end of its first half."""
JUMPS = 0.15
"""The share of the tokens after which a cycle goes on at another place."""
FIRST_SEEN = 0.2
"""The weight of the loss of tokens that nothing predicts; other tokens have 1."""
PROSE = 0.3
"""The share of prose in the batches of the second half."""
RENAMED = 0.3
"""The share of the distinct tokens of a window of prose that get another name."""

Int = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class CausalBatches:
    """Batches of windows that follow cycles of random tokens or are prose.

    Attributes:
        prose: int64 [n], the text as token ids.
        names: int64 [k], the ids that random tokens are drawn from.
        start: The id of the token that begins a text.
        tokens: Number of tokens of a batch.
        generator: The source of all random choices.
    """

    prose: Int
    names: Int
    start: int
    tokens: int
    generator: np.random.Generator

    def draw(self, progress: float) -> tuple[Tensor, Tensor]:
        """Return the next batch: ids, int64 [windows, length], and weights of losses, float32.

        The weights [windows, length - 1] belong to all tokens but the first.

        Args:
            progress: The share of the training that is done. In the first half, all windows follow
                cycles, which become longer. In the second half, a share of PROSE is prose.
        """
        length = int(self.generator.choice(LENGTHS, p=LENGTH_SHARES))
        size = max(2, self.tokens // length)
        ids = np.full((size, length), self.start, np.int64)
        weights = np.ones((size, length - 1), np.float32)
        n_cycles = size if progress < 0.5 else round((1 - PROSE) * size)
        longest = round(np.interp(progress, [0, 0.5], LONGEST))
        for row in range(size):
            if row < n_cycles:
                ids[row, 1:] = self._cycle(length - 1, longest)
                first_seen = np.unique(ids[row, 1:], return_index=True)[1]
                weights[row, first_seen] = FIRST_SEEN
            else:
                ids[row, 1:] = self._renamed(length - 1)
        return torch.from_numpy(ids), torch.from_numpy(weights)

    def _cycle(self, n_tokens: int, longest: int) -> Int:
        """Random tokens in a cycle of fixed successors, from which the window jumps at times.

        Without jumps, a head could find the successor by counting tokens.
        """
        n_names = int(self.generator.integers(SHORTEST, min(longest, n_tokens // 2), endpoint=True))
        names = self.generator.choice(self.names, n_names, replace=False)
        jumps = self.generator.random(n_tokens) < JUMPS
        steps = np.where(jumps, self.generator.integers(n_names, size=n_tokens), 1)
        return names[np.cumsum(steps) % n_names]

    def _renamed(self, n_tokens: int) -> Int:
        """A window of prose in which some tokens are other tokens, the same everywhere."""
        first = self.generator.integers(len(self.prose) - n_tokens + 1)
        kinds, place = np.unique(self.prose[first : first + n_tokens], return_inverse=True)
        renamed = self.generator.random(len(kinds)) < RENAMED
        kinds[renamed] = self.generator.choice(self.names, int(renamed.sum()), replace=False)
        return kinds[place]


def repeated_once(
    names: Int, start: int, *, length: int, n_sequences: int, seed: int = 0
) -> Tensor:
    """Return sequences of `start` and `length` random tokens, twice: [n_sequences, 2 length + 1].

    Example:
        >>> import numpy as np
        >>> from causal_batches import repeated_once
        >>> ids = repeated_once(np.arange(3, 9), 2, length=4, n_sequences=1)
        >>> int(ids[0, 0]), bool((ids[0, 1:5] == ids[0, 5:]).all())
        (2, True)
    """
    generator = np.random.default_rng(seed)
    ids = np.full((n_sequences, 2 * length + 1), start, np.int64)
    for row in ids:
        row[1:] = np.tile(generator.choice(names, length, replace=False), 2)
    return torch.from_numpy(ids)
