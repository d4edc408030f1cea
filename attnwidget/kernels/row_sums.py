"""Sums over the keys of every query, taken while weights are computed, so that no map is whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attnwidget.kernels.cells_at_once import cells_at_once

# Two float32 copies of so many weights stay in a core's cache while they are worked on.
_CELLS_AT_ONCE = 128 * 1024


@dataclass(frozen=True, eq=False)
class RowQuestions:
    """The sums that a pass takes of every query, for one input or for B inputs of one length.

    Attributes:
        columns: Numbers of the keys, float32 [C, K] or [B, C, K]; the sums are means of these
            numbers under the weights. Indicators of a class of tokens give the weight on the class.
        offsets: Offsets from the query, whose weights are wanted.
        distances: Whether the mean signed and absolute distances are wanted.
        smoothings: Smoothings of the wanted entropies; 0 = none.
    """

    columns: Tensor
    offsets: tuple[int, ...] = ()
    distances: bool = False
    smoothings: tuple[float, ...] = ()


def no_columns(real: Tensor) -> Tensor:
    """Return the `columns` of questions without columns for inputs of real tokens, bool [B, n]."""
    return real.new_empty((len(real), 0, real.shape[1]), dtype=torch.float32)


@dataclass(frozen=True, eq=False)
class RowSums:
    """The sums of every query of H heads, float32.

    Attributes:
        questions: The sums that are taken.
        columns: [H, Q, C], sum_j a_ij c_j.
        offsets: [H, Q] by offset, a_(i, i + offset); 0 where there is no such key.
        distances: [H, Q, 2], sum_j a_ij (j - i) and sum_j a_ij |j - i|.
        later: [H, Q], the weight on keys after the query; with distances only.
        entropies: [H, Q] by smoothing, in nats, of p = (1 - smoothing) a + smoothing / K.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.row_sums import RowQuestions, RowSums
        >>> from attnwidget.kernels.streaming import stream_attention
        >>> states = torch.zeros(1, 4, 8)  # equal weights to four keys
        >>> last = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
        >>> sums = RowSums.empty(RowQuestions(last, (-1,), True, (0.0,)), 1, 4)
        >>> _ = stream_attention(states, states, states, scaling=1.0, sums=sums)
        >>> sums.columns[0, :, 0], sums.offsets[-1][0]
        (tensor([0.2500, 0.2500, 0.2500, 0.2500]), tensor([0.0000, 0.2500, 0.2500, 0.2500]))
        >>> sums.distances[0, 0], sums.entropies[0.0][0, 0].exp()
        (tensor([1.5000, 1.5000]), tensor(4.))
    """

    questions: RowQuestions
    columns: Tensor
    offsets: Mapping[int, Tensor]
    distances: Tensor
    later: Tensor
    entropies: Mapping[float, Tensor]

    @classmethod
    def empty(cls, questions: RowQuestions, n_heads: int, n_query: int) -> RowSums:
        """Return sums of 0, which `stream_attention` fills."""
        of_rows = questions.columns.new_zeros(n_heads, n_query)
        return cls(
            questions=questions,
            columns=of_rows[..., None].repeat(1, 1, len(questions.columns)),
            offsets={offset: of_rows.clone() for offset in questions.offsets},
            distances=of_rows[..., None].repeat(1, 1, 2),
            later=of_rows.clone(),
            entropies={smoothing: of_rows.clone() for smoothing in questions.smoothings},
        )

    def add(self, heads: slice, rows: slice, keys: slice, tile: Tile) -> None:
        """Store the sums of some queries of some heads.

        Args:
            heads: The heads of the tile.
            rows: The queries of the tile.
            keys: Its keys; the weights of further keys are 0.
            tile: Weights and scores.
        """
        at = (heads, rows)
        own = self.questions.columns[:, keys].T
        if self.questions.distances:
            own = torch.cat([own, _outside_distances(rows, keys, own)], 1)
        sums = tile.weights @ own  # [h, r, C], and four sums of distances
        self.columns[at] = sums[..., : len(self.questions.columns)]
        if self.questions.distances:
            self._add_distances(at, rows, keys, tile.weights, sums[..., -4:])
        for offset, stored in self.offsets.items():
            stored[at] = _at_offset(tile.weights, rows.start + offset - keys.start)
        n_key = self.questions.columns.shape[1]
        for smoothing, stored in self.entropies.items():
            stored[at] = tile.entropy(smoothing, n_key)

    def _add_distances(
        self, at: tuple[slice, slice], rows: slice, keys: slice, weights: Tensor, outside: Tensor
    ) -> None:
        left, to_left, right, to_right = outside.unbind(-1)
        inside = torch.arange(rows.stop - rows.start, device=weights.device, dtype=weights.dtype)
        to_left = to_left + inside * left
        to_right = to_right - inside * right
        # The square of keys that are queries of the tile too, where distances have both signs.
        first, last = max(rows.start, keys.start), min(rows.stop, keys.stop)
        if first < last:
            square = weights[..., first - keys.start : last - keys.start]
            signed = inside[first - rows.start : last - rows.start] - inside[:, None]
            to_right = to_right + torch.linalg.vecdot(square, signed.clamp(min=0))
            to_left = to_left + torch.linalg.vecdot(square, (-signed).clamp(min=0))
            right = right + torch.linalg.vecdot(square, (signed > 0).to(square.dtype))
        self.distances[at] = torch.stack([to_right - to_left, to_right + to_left], -1)
        self.later[at] = right


@dataclass(frozen=True, eq=False)
class Tile:
    """Weights of some queries of some heads, and the scores from which they follow.

    Attributes:
        weights: [h, r, k], after sinks.
        scores: [h, r, k], before the softmax, the lowest finite number where hidden.
        top: [h, r], the largest score of each query.
        largest: [h, r], its weight.
    """

    weights: Tensor
    scores: Tensor
    top: Tensor
    largest: Tensor

    def entropy(self, smoothing: float, n_key: int) -> Tensor:
        """Return the entropies of the queries over `n_key` keys, in nats, [h, r].

        Without smoothing, the entropy is the log-sum-exp of the scores minus their mean under the
        weights. No logarithm of a weight is computed.
        """
        if not smoothing:
            return self._exact_entropy()
        n_heads, n_rows, n_seen = self.weights.shape
        uniform = torch.tensor(smoothing / n_key, dtype=self.weights.dtype, device="cpu")
        entropies = self.top.new_empty(n_heads, n_rows)
        cells = cells_at_once(self.weights.device, _CELLS_AT_ONCE)
        step = max(1, cells // max(1, n_heads * n_seen))
        for first in range(0, n_rows, step):
            rows = slice(first, first + step)
            # Torch adds a number of the CPU to tensors of every device.
            p = torch.add(uniform, self.weights[:, rows], alpha=1 - smoothing)
            entropies[:, rows] = torch.linalg.vecdot(p, p.log2())
        unseen = (n_key - n_seen) * uniform.double() * uniform.double().log()
        return entropies.mul_(-math.log(2)) - float(unseen)

    def _exact_entropy(self) -> Tensor:
        # A query that sees no key has equal weights, and scores that have no meaning.
        lowest = torch.finfo(torch.float32).min
        sees_keys = self.top > lowest / 2
        total = self.weights.sum(-1)
        expected = torch.linalg.vecdot(self.weights, self.scores) - total * self.top
        entropies = torch.where(sees_keys, -expected, 0) - total * self.largest.log()
        return entropies.masked_fill(self.largest == 0, 0)


def _outside_distances(rows: slice, keys: slice, like: Tensor) -> Tensor:
    """Return, for keys before and after the queries, 1 and the distance to the first query.

    Distances are counted from the tile, because sums of places would lose digits. [k, 4].
    """
    place = torch.arange(keys.start, keys.stop, dtype=torch.long, device=like.device)
    before = place < rows.start
    after = place >= rows.stop
    distance = place - rows.start
    numbers = torch.stack([before, -distance * before, after, distance * after], -1)
    return numbers.to(like.dtype)


def _at_offset(weights: Tensor, first: int) -> Tensor:
    """Return the weights on the diagonal that starts at column `first`; 0 outside of the tile."""
    n_heads, n_rows, n_keys = weights.shape
    column = torch.arange(first, first + n_rows, dtype=torch.long, device=weights.device)
    inside = (column >= 0) & (column < n_keys)
    places = column.clamp(0, n_keys - 1)[:, None].expand(n_heads, -1, -1)
    values = weights.gather(2, places)[..., 0]
    return values.masked_fill(~inside, 0)
