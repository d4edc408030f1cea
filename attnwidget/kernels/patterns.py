"""Classification of attention maps into five patterns with scores computed from the map."""

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

# These thresholds were selected on manually labeled maps. A test checks the agreement with another
# sample of labels.
VERTICAL_FROM = 0.2
DIAGONAL_FROM = 0.125
BLOCK_FROM = 0.2
# A column counts as a stripe if its attention is at least this multiple of its even share.
_STRIPE = 1.5
_WIDEST = 3


class PatternScores(NamedTuple):
    """Strength of each pattern, [B, H] each, from 0 (absent) to 1 (pure).

    Attributes:
        vertical: Share of all attention that exceeds 1.5 times the even share of a column.
        diagonal: Attention within 1, 2 or 3 tokens of the query (the largest of the three) beyond
            the prediction from columns and sentences, as a share of the unpredicted attention.
        block: Attention within the query's sentence beyond the prediction from columns, as a share
            of the unpredicted attention; 0 if there is one sentence.
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
    """Return scores for the patterns of Kovaleva et al. 2019 (section 4.1), by our own rules.

    The classifier of the paper, a convolutional network, and its labels were not published, and
    this code does not reproduce it. The prediction for a column is its mean received attention,
    relative to an even spread over the visible keys of each query. The prediction for a sentence is
    the mean attention from its tokens to the same sentence.

    Below about 8 tokens, the patterns cannot be distinguished.

    Args:
        weights: Attention weights [B, H, n, n]; 0 in padding columns.
        row_weights: 1 / number of tokens in the input, 0 at padding on the right, [B, n]; None = no
            padding.
        segments: Sentence of each token, 0 or 1, [B, n]; None = one sentence.
        causal: Whether queries see no later token. Sentences are then ignored, because the first
            sentence cannot see the second.

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
    positions = torch.arange(1, n + 1, dtype=torch.long, device=weights.device)
    length = real.sum(-1, keepdim=True)  # [B, 1]
    n_visible = (positions.expand(batch, n) if causal else length.expand(batch, n)).to(weights)
    # Number of rows that see each column: all rows, or the rows from the diagonal down.
    n_seeing_rows = (length - positions + 1).clamp_min(1) if causal else length
    share = torch.einsum("bi,bhij->bhj", row_weights, weights)
    # Weight of each row in an even spread.
    even = row_weights / n_visible
    even = even.flip(-1).cumsum(-1).flip(-1) if causal else even.sum(-1, keepdim=True)
    # Only a few causal queries see the last columns, so a stripe needs at least 1 / n of all
    # attention.
    even = torch.maximum(even, 1 / length.to(weights))
    excess = (share - _STRIPE * even[:, None]).clamp_min(0)
    vertical = (excess * real[:, None]).sum(-1) / (1 - _STRIPE / length.to(weights)).clamp_min(1e-6)

    # Weight of each column relative to an even spread, over the rows that see it, [B, H, n].
    columns = torch.einsum("bi,bhij->bhj", n_visible * real, weights) / n_seeing_rows[:, None]
    columns = columns * real[:, None]
    total = columns.cumsum(-1) if causal else columns.sum(-1, keepdim=True)
    prediction = _Explained(columns, total.clamp_min(1e-12), weights, row_weights, segments, causal)
    diagonal = torch.zeros_like(vertical)
    near = torch.zeros_like(vertical)
    expected = torch.zeros_like(vertical)
    for width in range(_WIDEST + 1):
        for offset in {-width, width}:
            if abs(offset) < n:
                near = near + _on_diagonal(weights, row_weights, offset)
                expected = expected + prediction.on_diagonal(offset)
        if width:
            diagonal = torch.maximum(diagonal, _share_of_rest(near, expected))
    return PatternScores(vertical, diagonal, prediction.block)


def classify(scores: PatternScores) -> Tensor:
    """Return the pattern of each map as an index into `PATTERNS`, int64 [B, H].

    A map is diagonal if this score is at least 0.125, and "vertical + diagonal" if the vertical
    score is also at least 0.2. Otherwise it is block if this score is at least 0.2, vertical if
    this score is at least 0.2, or else heterogeneous.

    Args:
        scores: Result of `pattern_scores`.

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


def plainness(weights: Tensor, scores: PatternScores, *, causal: bool = False) -> Tensor:
    """Return how plainly a map shows each pattern, [5, B, H] in the order of `PATTERNS`.

    The plainness of "vertical" and "block" is their score minus the larger one of the other two
    scores. That of "diagonal" is its score minus the vertical score: a diagonal stays within its
    sentence, so it has a block score too. That of "vertical + diagonal" is the smaller one of these
    two scores. A plainly heterogeneous map is uneven, but not by position: its plainness is its
    unevenness minus the largest score. Unevenness is the mean share of a row's attention above the
    even share. A plainness is at most 1, and negative if another pattern is stronger.

    Args:
        weights: Attention weights [B, H, n, n], without padding.
        scores: Result of `pattern_scores` for the same maps.
        causal: Whether queries see no later token.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.patterns import PATTERNS, pattern_scores, plainness
        >>> weights = torch.eye(20)[None, None]
        >>> plain = plainness(weights, pattern_scores(weights))
        >>> PATTERNS[plain[:, 0, 0].argmax()], round(plain[1, 0, 0].item(), 2)
        ('diagonal', 1.0)
    """
    vertical, diagonal, block = scores
    n = weights.shape[-1]
    visible = torch.arange(1, n + 1, dtype=torch.long, device=weights.device)
    n_visible = visible if causal else torch.full_like(visible, n)
    above = (weights - 1 / n_visible.to(weights)[:, None]).clamp_min(0).sum(-1)
    by_pattern = {
        VERTICAL: vertical - torch.maximum(diagonal, block),
        DIAGONAL: diagonal - vertical,
        BOTH: torch.minimum(vertical, diagonal),
        BLOCK: block - torch.maximum(vertical, diagonal),
        OTHER: above.mean(-1) - torch.maximum(torch.maximum(vertical, diagonal), block),
    }
    return torch.stack([by_pattern[name] for name in PATTERNS])


class _Explained:
    """Prediction of a map from its columns and sentences, computed on request.

    The entry (i, j) is columns[j] / total[i], rescaled so that the tokens of a sentence attend to
    the sentence as much as in the map.
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
            share = within.sum(-1, keepdim=True) / rows  # share of the queries, [B, 1]
            inside_attention = torch.einsum("bi,bhij,bj->bh", within, weights, sentence)
            predicted = (columns * sentence[:, None]).sum(-1) / total[..., 0]
            inside.append(inside_attention)
            expected.append(share * predicted)
            inside_attention = inside_attention / share.clamp_min(1e-12)
            self._same.append(inside_attention / predicted.clamp_min(1e-12))
            self._other.append(
                (1 - inside_attention).clamp_min(0) / (1 - predicted).clamp_min(1e-12)
            )
        pairs = (second.sum(-1, keepdim=True) > 0).to(weights)
        self.block = _share_of_rest(inside[0] + inside[1], expected[0] + expected[1]) * pairs

    def on_diagonal(self, offset: int) -> Tensor:
        """Return the predicted entry at an offset from the query, averaged over queries, [B, H]."""
        n = self._columns.shape[-1]
        rows, keys = _ends(n, offset)
        total = self._total if self._total.shape[-1] == 1 else self._total[..., rows]
        value = self._columns[..., keys] / total  # [B, H, n - |offset|]
        if self._total.shape[-1] > 1 and offset > 0:
            # A causal query sees no later token.
            value = torch.zeros_like(value)
        if self._second is not None:
            query = self._second[:, None, rows]
            key = self._second[:, None, keys]
            same = torch.where(query, self._same[1][..., None], self._same[0][..., None])
            other = torch.where(query, self._other[1][..., None], self._other[0][..., None])
            value = value * torch.where(query == key, same, other)
        return (value * self._rows[:, None, rows]).sum(-1)


def _on_diagonal(weights: Tensor, row_weights: Tensor, offset: int) -> Tensor:
    """Return the weight at an offset from the query, averaged over queries, [B, H]."""
    rows, _ = _ends(weights.shape[-1], offset)
    return (weights.diagonal(offset, -2, -1) * row_weights[:, None, rows]).sum(-1)


def _ends(n: int, offset: int) -> tuple[slice, slice]:
    """Return the rows and columns of the diagonal that is `offset` right of the main diagonal."""
    rows = slice(max(0, -offset), n - max(0, offset))
    return rows, slice(rows.start + offset, rows.stop + offset)


def _share_of_rest(pattern: Tensor, expected: Tensor) -> Tensor:
    """Return the attention above expectation as a share of the largest possible excess, or 0."""
    rest = 1 - expected
    return torch.where(rest > 1e-4, (pattern - expected) / rest.clamp_min(1e-4), 0)
