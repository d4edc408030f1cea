"""Which predicted governors of a batch are right, summed by relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.kernels.governors import governor_hits, predicted_governors
from attnwidget.text.treebank import Sentence

# "poss" of Stanford Dependencies and its successor in Universal Dependencies, and the clitics that
# the code of Clark et al. looks for after such a word.
_POSSESSIVES = ("poss", "nmod:poss")
_CLITICS = ("'s", "s'")


class JudgedBatch:
    """B sentences of a treebank, and how often every head and fixed offset is right on them.

    Args:
        sentences: the sentences, of m words at most.
        labels: the relation of each word of each, as numbers from 0.
        n_labels: how many relations there are, R.
        offsets: O places that a governor may be after its word; cut to the root and the last word.
        by_clitic: judge possessors before "'s" as Clark et al.'s code does.
        n_words: m, as predictions are padded.
        device: where predictions are.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        labels: Sequence[Sequence[int]],
        *,
        n_labels: int,
        offsets: Sequence[int],
        by_clitic: bool,
        n_words: int,
        device: torch.device,
    ) -> None:
        lengths = torch.tensor([len(one) for one in sentences])[:, None]
        possessors = torch.zeros(len(sentences), n_words, dtype=torch.bool)
        for item, one in enumerate(sentences) if by_clitic else ():
            possessors[item, _possessors(one)] = True
        # In these sentences a prediction counts for other words than its own.
        self._with_possessors = possessors.any(-1).nonzero()[:, 0].to(device)
        # Positions from 0; -1 is the root, which an offset can name, -2 padding.
        self._governors = _padded([one.governors for one in sentences], -1, n_words).to(device) - 1
        self._possessors, self._lengths = possessors.to(device), lengths.to(device)
        places = torch.arange(1, n_words + 1)
        guesses = [(places + offset).clamp_min(0).minimum(lengths) - 1 for offset in offsets]
        near = self.right(torch.stack(guesses, 1).to(device)[:, None])[:, 0]  # [B, O, m]
        relation = _padded(labels, n_labels, n_words)
        # Words that no sum tells apart are one kind: a head's hits are counted once a kind.
        told = torch.cat([relation[:, None], near.cpu()], 1).transpose(1, 2).flatten(0, 1)
        kinds, kind = np.unique(told.numpy(), axis=0, return_inverse=True)
        self._n_labels = n_labels
        # Kinds are sorted by relation; padding, the last of them, is in no sum.
        self._relations, self._starts = np.unique(kinds[:, 0], return_index=True)
        self._counted = np.concatenate([np.ones((len(kinds), 1)), kinds[:, 1:]], 1).T  # [1 + O, K]
        one_hot = torch.nn.functional.one_hot(torch.from_numpy(kind.reshape(-1)), len(kinds))
        self._kinds = one_hot.to(device, torch.float32)  # [B * m, K]
        self._hits: list[Tensor] = []

    def add(self, maps: Tensor) -> None:
        """Judge what the word maps [B, H, m, m] of one layer predict; the layers come in order.

        The maps are overwritten.
        """
        items = self._with_possessors
        judged = self.right(predicted_governors(maps[items]), items)
        right = governor_hits(maps, self._governors)  # [B, H, 2, m]
        right[items] = judged
        flat = right.permute(1, 2, 0, 3).flatten(2).float()
        self._hits.append(flat @ self._kinds)  # counts, exact in float32 below 2^24

    def right(self, predicted: Tensor, items: Tensor | slice = slice(None)) -> Tensor:
        """Bool, like `predicted` [B, ..., m] (positions from 0): where it is the governor.

        A possessor before its clitic is judged by what is predicted for the clitic, unless its own
        prediction is the last word (`probe_relations`). `items` says which sentences they are of.
        """
        axes = (slice(None), *[None] * (predicted.dim() - 2))
        governors, lengths = self._governors[items][axes], self._lengths[items][axes]
        at_clitic = predicted.roll(-1, -1) == governors
        judged = self._possessors[items][axes] & (predicted + 1 < lengths)
        return torch.where(judged, at_clitic, predicted == governors)

    def of_heads(self) -> NDArray[np.int64]:
        """Int64 [L, H, 2, 1 + O, R]: words that heads are right on.

        The first is of all words, the others of those that an offset is right on.
        """
        return self._summed(torch.stack(self._hits).double().cpu().numpy())

    def of_offsets(self) -> NDArray[np.int64]:
        """Int64 [1 + O, R]: all words, then those that each offset is right on."""
        return self._summed(self._kinds.sum(0).double().cpu().numpy())

    def _summed(self, counts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Sums [..., 1 + O, R] of the counts of kinds [..., K]."""
        of_relations = np.add.reduceat(counts[..., None, :] * self._counted, self._starts, axis=-1)
        sums = np.zeros((*of_relations.shape[:-1], self._n_labels + 1), np.int64)
        sums[..., self._relations] = np.rint(of_relations)
        return sums[..., :-1]


def _padded(rows: Iterable[Sequence[int]], filler: int, longest: int) -> Tensor:
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def _possessors(sentence: Sentence) -> list[int]:
    """Words, from 0, that the rule judges by the clitic after them."""
    pairs = zip(sentence.relations, sentence.words[1:], strict=False)
    return [
        i
        for i, (relation, after) in enumerate(pairs)
        if relation in _POSSESSIVES and after in _CLITICS
    ]
