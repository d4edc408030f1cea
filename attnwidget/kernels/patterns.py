"""Which of five patterns an attention map shows, by scores that can be read off the map."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

VERTICAL = "vertical"
DIAGONAL = "diagonal"
BOTH = "vertical + diagonal"
BLOCK = "block"
OTHER = "heterogeneous"
PATTERNS = (VERTICAL, DIAGONAL, BOTH, BLOCK, OTHER)

# Chosen on maps labeled by eye; another sample of labels gave the agreement that tests hold.
VERTICAL_FROM = 0.2
DIAGONAL_FROM = 0.125
BLOCK_FROM = 0.2
# A column counts as a stripe from this multiple of its even share on.
_STRIPE = 1.5
_WIDEST = 3


class PatternScores(NamedTuple):
    """Return the strength of each pattern, [B, H] each, from 0 (absent) to 1 (pure).

    Attributes:
        vertical: share of all attention that columns have above 1.5 times their even share.
        diagonal: attention within 1, 2 or 3 tokens of the query (the largest of the three) beyond
            the prediction of columns and sentences, as a share of the unpredicted attention.
        block: attention within the query's sentence beyond the prediction of columns alone, as a
            share of the unpredicted attention; 0 if there is one sentence.
    """

    vertical: Tensor
    diagonal: Tensor
    block: Tensor


def pattern_scores(
    weights: Tensor,
    *,
    row_weights: Tensor | None = None,
    segments: Tensor | None = None,
    causal: bool = False,
) -> PatternScores:
    """Scores of the patterns of Kovaleva et al. 2019 (section 4.1) by this project's own rules.

    Their classifier, a convolutional network, and its labels were not published, and this code does
    not reproduce it. A column is predicted by its mean received attention, relative to an even
    spread over the visible keys of each query; a sentence by the mean attention that its tokens
    keep inside the sentence.

    Args:
        weights: [B, H, n, n], columns of padding 0.
        row_weights: [B, n], 1 / tokens of the input, 0 at padding on the right; None = no padding.
        segments: [B, n], 0 and 1: the sentence of each token; None = one sentence.
        causal: queries see no later token; sentences are not looked at, as the first cannot see the
            second.

    Below about 8 tokens patterns cannot be told apart.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.patterns import pattern_scores
        >>> scores = pattern_scores(torch.eye(20)[None, None])
        >>> [round(float(score), 2) for score in scores]
        [0.0, 1.0, 0.0]
    """
    batch, _, n, _ = weights.shape
    if row_weights is None:
        row_weights = weights.new_full((batch, n), 1 / n)
    real = row_weights > 0
    places = torch.arange(1, n + 1, dtype=torch.long, device=weights.device)
    length = real.sum(-1, keepdim=True)  # [B, 1]
    sees = (places.expand(batch, n) if causal else length.expand(batch, n)).to(weights)
    # Rows that see a column: all, or those from the diagonal down.
    seen_by = (length - places + 1).clamp_min(1) if causal else length
    share = torch.einsum("bi,bhij->bhj", row_weights, weights)
    even = row_weights / sees  # what an even spread gives, by row
    even = even.flip(-1).cumsum(-1).flip(-1) if causal else even.sum(-1, keepdim=True)
    # Few causal queries see the last columns: less than 1 / n of all attention is no stripe.
    even = torch.maximum(even, 1 / length.to(weights))
    excess = (share - _STRIPE * even[:, None]).clamp_min(0)
    vertical = (excess * real[:, None]).sum(-1) / (1 - _STRIPE / length.to(weights)).clamp_min(1e-6)

    # Return the weight of each column relative to an even spread, over the rows that see the
    # column: [B, H, n].
    columns = torch.einsum("bi,bhij->bhj", sees * real, weights) / seen_by[:, None]
    columns = columns * real[:, None]
    total = columns.cumsum(-1) if causal else columns.sum(-1, keepdim=True)
    explained = _Explained(columns, total.clamp_min(1e-12), weights, row_weights, segments, causal)
    diagonal = torch.zeros_like(vertical)
    near = torch.zeros_like(vertical)
    expected = torch.zeros_like(vertical)
    for width in range(_WIDEST + 1):
        for offset in {-width, width}:
            if abs(offset) < n:
                near = near + _on_diagonal(weights, row_weights, offset)
                expected = expected + explained.on_diagonal(offset)
        if width:
            diagonal = torch.maximum(diagonal, _share_of_rest(near, expected))
    return PatternScores(vertical, diagonal, explained.block)


def classify(scores: PatternScores) -> Tensor:
    """The pattern of each map as an index into `PATTERNS`: int64 [B, H].

    Diagonal from 0.125 on, and then "vertical + diagonal" if vertical is 0.2 or more; else block
    from 0.2 on, vertical from 0.2 on, in this order; else heterogeneous.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.patterns import PATTERNS, classify, pattern_scores
        >>> to_first = torch.zeros(20, 20)
        >>> to_first[:, 0] = 1
        >>> PATTERNS[classify(pattern_scores(to_first[None, None]))]
        'vertical'
    """
    vertical = scores.vertical >= VERTICAL_FROM
    patterns = torch.where(vertical, PATTERNS.index(VERTICAL), PATTERNS.index(OTHER))
    patterns = torch.where(scores.block >= BLOCK_FROM, PATTERNS.index(BLOCK), patterns)
    near = torch.where(vertical, PATTERNS.index(BOTH), PATTERNS.index(DIAGONAL))
    return torch.where(scores.diagonal >= DIAGONAL_FROM, near, patterns)


class _Explained:
    """The map that columns and sentences alone would make, as far as it is asked for.

    The entry (i, j) is columns[j] / total[i], rescaled so that the tokens of a sentence keep as
    much attention inside the sentence as in the map.
    """

    def __init__(
        self,
        columns: Tensor,
        total: Tensor,
        weights: Tensor,
        row_weights: Tensor,
        segments: Tensor | None,
        causal: bool,
    ) -> None:
        self._columns = columns
        self._total = total
        self._rows = row_weights
        self._second = None if segments is None or causal else (segments > 0) & (row_weights > 0)
        self.block = torch.zeros_like(columns[..., 0])
        if self._second is None:
            return
        second = self._second.to(weights)  # [B, n]
        first = (row_weights > 0).to(weights) - second
        rows = row_weights.sum(-1, keepdim=True)
        inside = []
        expected = []
        self._same = []
        self._other = []
        for sentence in (first, second):
            within = sentence * row_weights
            share = within.sum(-1, keepdim=True) / rows  # of the queries, [B, 1]
            kept = torch.einsum("bi,bhij,bj->bh", within, weights, sentence)
            usual = (columns * sentence[:, None]).sum(-1) / total[..., 0]
            inside.append(kept)
            expected.append(share * usual)
            kept = kept / share.clamp_min(1e-12)
            self._same.append(kept / usual.clamp_min(1e-12))
            self._other.append((1 - kept).clamp_min(0) / (1 - usual).clamp_min(1e-12))
        pairs = (second.sum(-1, keepdim=True) > 0).to(weights)
        self.block = _share_of_rest(inside[0] + inside[1], expected[0] + expected[1]) * pairs

    def on_diagonal(self, offset: int) -> Tensor:
        """[B, H]: mean over queries of the entry `offset` places from the query."""
        n = self._columns.shape[-1]
        rows, keys = _ends(n, offset)
        total = self._total if self._total.shape[-1] == 1 else self._total[..., rows]
        value = self._columns[..., keys] / total  # [B, H, n - |offset|]
        if self._total.shape[-1] > 1 and offset > 0:
            value = torch.zeros_like(value)  # a causal query sees no later token
        if self._second is not None:
            query = self._second[:, None, rows]
            key = self._second[:, None, keys]
            same = torch.where(query, self._same[1][..., None], self._same[0][..., None])
            other = torch.where(query, self._other[1][..., None], self._other[0][..., None])
            value = value * torch.where(query == key, same, other)
        return (value * self._rows[:, None, rows]).sum(-1)


def _on_diagonal(weights: Tensor, row_weights: Tensor, offset: int) -> Tensor:
    rows, _ = _ends(weights.shape[-1], offset)
    return (weights.diagonal(offset, -2, -1) * row_weights[:, None, rows]).sum(-1)


def _ends(n: int, offset: int) -> tuple[slice, slice]:
    """Rows and columns of the diagonal that is `offset` to the right of the main one."""
    rows = slice(max(0, -offset), n - max(0, offset))
    return rows, slice(rows.start + offset, rows.stop + offset)


def _share_of_rest(pattern: Tensor, expected: Tensor) -> Tensor:
    """What was found above expectation, of all that could be; 0 where nothing could."""
    rest = 1 - expected
    return torch.where(rest > 1e-4, (pattern - expected) / rest.clamp_min(1e-4), 0)
