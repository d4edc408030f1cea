"""Which predicted governors of a batch are right, summed by relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.kernels.governors import GovernorHits, governors_of
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
            for word in _possessors(one):
                possessors[item, word] = True
        # Positions from 0; -1 is the root, which an offset can name, -2 padding.
        self._governors = _padded([one.governors for one in sentences], -1, n_words).to(device) - 1
        self._predicted = GovernorHits(self._governors)
        self._possessors, self._lengths = possessors.to(device), lengths.to(device)
        self._by_clitic = self._possessors.nonzero(as_tuple=True)
        places = torch.arange(1, n_words + 1)
        guesses = [(places + offset).clamp_min(0).minimum(lengths) - 1 for offset in offsets]
        near = self.right(torch.stack(guesses, 1).to(device)[:, None])[:, 0]  # [B, O, m]
        relation = _padded(labels, n_labels, n_words)
        # Words that no sum tells apart are one kind: a head's hits are counted once a kind.
        told = torch.cat([relation[:, None], near.cpu()], 1).transpose(0, 1).flatten(1).numpy()
        kind, example = _kinds(told)
        one_hot = torch.nn.functional.one_hot(torch.from_numpy(kind), len(example))
        self._kinds = one_hot.to(device, torch.float32)  # [B * m, K]
        # What each kind adds to: its relation, of all words and of those an offset is right on.
        relation, offset = told[0, example], told[1:, example]
        counted = np.concatenate([np.ones((1, len(example))), offset])  # [1 + O, K]
        own = np.arange(n_labels)[:, None] == relation  # [R, K]; padding has none
        self._counted = (counted[:, None] * own).astype(np.float32)
        self._hits: list[Tensor] = []

    def add(self, maps: Tensor) -> None:
        """Judge what the word maps [B, H, m, m] of one layer predict; the layers come in order.

        The maps are overwritten.
        """
        text, word = self._by_clitic
        both = governors_of(maps, text.repeat(2), torch.cat([word, word + 1]))
        own, at_clitic = both.tensor_split(2)
        right = self._predicted(maps)  # [B, H, 2, m]
        governor = self._governors[text, word][:, None, None]
        length = self._lengths[text][:, None]
        judged = torch.where(own + 1 < length, at_clitic, own) == governor
        right[text, :, :, word] = judged
        flat = right.permute(1, 2, 0, 3).flatten(2).float()
        self._hits.append(flat @ self._kinds)  # counts, exact in float32 below 2^24

    def right(self, predicted: Tensor) -> Tensor:
        """Bool, like `predicted` [B, ..., m] (positions from 0): where it is the governor.

        A possessor before its clitic is judged by what is predicted for the clitic, unless its own
        prediction is the last word (`probe_relations`).
        """
        axes = (slice(None), *[None] * (predicted.dim() - 2))
        governors, lengths = self._governors[axes], self._lengths[axes]
        at_clitic = predicted.roll(-1, -1) == governors
        judged = self._possessors[axes] & (predicted + 1 < lengths)
        return torch.where(judged, at_clitic, predicted == governors)

    def of_heads(self) -> NDArray[np.int64]:
        """Int64 [L, H, 2, 1 + O, R]: words that heads are right on.

        The first is of all words, the others of those that an offset is right on.
        """
        return self._summed(torch.stack(self._hits).cpu().numpy())

    def of_offsets(self) -> NDArray[np.int64]:
        """Int64 [1 + O, R]: all words, then those that each offset is right on."""
        return self._summed(self._kinds.sum(0).cpu().numpy())

    def _summed(self, counts: NDArray[np.float32]) -> NDArray[np.int64]:
        """Sums [..., 1 + O, R] of the counts of kinds [..., K]."""
        _, n_labels, n_kinds = self._counted.shape
        sums = counts @ self._counted.reshape(-1, n_kinds).T
        return np.rint(sums).astype(np.int64).reshape(*counts.shape[:-1], -1, n_labels)


def _kinds(told: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Equal columns of [N, W] have one kind, int [W]; also where there is one of each kind, [K].

    Columns are compared as one number each, many times faster than entry by entry.
    """
    code, n_codes = np.zeros(told.shape[1], np.int64), 1
    for row in told:
        n_values = int(row.max()) + 1
        if n_codes * n_values >= 2**63:
            found, code = np.unique(code, return_inverse=True)
            n_codes = len(found)
        code, n_codes = code * n_values + row, n_codes * n_values
    _, example, kind = np.unique(code, return_index=True, return_inverse=True)
    return kind, example


def _padded(rows: Iterable[Sequence[int]], filler: int, longest: int) -> Tensor:
    padded = [[*row, *[filler] * (longest - len(row))] for row in rows]
    return torch.from_numpy(np.array(padded))  # a third of the time of torch.tensor


def _possessors(sentence: Sentence) -> list[int]:
    """Words, from 0, that the rule judges by the clitic after them."""
    pairs = zip(sentence.relations, sentence.words[1:], strict=False)
    return [
        i
        for i, (relation, after) in enumerate(pairs)
        if relation in _POSSESSIVES and after in _CLITICS
    ]
