"""Scores for the governor of each word, from attention, word vectors and distances.

These are the probes of Clark et al. 2019, section 5. For a sentence with m words and S probes,
scores are [S, m, m + 1]: a row for each dependent, column 0 for the root, and column k for word k.
The softmax of a row is the distribution over governors; a word itself is among its candidates.
"""

from __future__ import annotations

import torch
from torch import Tensor


def map_scores(maps: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    """Return the scores of the attention-only probe: weighted sums of maps in both directions.

    Each map is used in the direction from dependent to governor and, transposed, from governor to
    dependent. The score of the root is `root[0]` times the attention to [CLS] plus `root[1]` times
    the attention to [SEP]; in the transposed map, the attention from these tokens.

    Args:
        maps: Attention maps [C, m + 2, m + 2], rows attend; the first token is [CLS], the last
            [SEP].
        weights: Weight of each map, [S, 2, C]; first dependent to governor, then the reverse.
        root: Weights of [CLS] and [SEP] for the root, [S, 2].

    Returns:
        Scores [S, m, m + 1].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import map_scores
        >>> maps = torch.arange(16.0).reshape(1, 4, 4)
        >>> map_scores(maps, torch.tensor([[[1.0], [0.0]]]), torch.tensor([[0.0, 1.0]]))
        tensor([[[ 7.,  5.,  6.],
                 [11.,  9., 10.]]])
    """
    weighted_maps = (weights @ maps.flatten(1)).unflatten(
        -1, maps.shape[1:]
    )  # [S, 2, m + 2, m + 2]
    both = (weighted_maps[:, 0] + weighted_maps[:, 1].mT)[:, 1:-1]
    root_scores = both[..., 0] * root[:, :1] + both[..., -1] * root[:, 1:]
    return torch.cat([root_scores[..., None], both[..., 1:-1]], -1)


def map_word_scores(
    maps: Tensor, vectors: Tensor, weights: Tensor, bias: Tensor, root: Tensor
) -> Tensor:
    """Return the scores of the attention + GloVe probe, whose weights depend on the two words.

    The weight of map k between dependent i and candidate j is weights[k] . (v_i ; v_j) + bias[k].
    For the root, both vectors are 0, so only the bias remains.

    Args:
        maps: Attention maps, as in `map_scores`.
        vectors: Word vectors [m, d].
        weights: Weights of both word vectors for each map, [S, 2, C, 2d].
        bias: Bias of each map, [S, 2, C].
        root: Weights of [CLS] and [SEP] for the root, [S, 2].

    Returns:
        Scores [S, m, m + 1].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import map_scores, map_word_scores
        >>> maps, bias, root = torch.rand(3, 6, 6), torch.rand(1, 2, 3), torch.ones(1, 2)
        >>> scores = map_word_scores(maps, torch.rand(4, 5), torch.zeros(1, 2, 3, 10), bias, root)
        >>> torch.allclose(scores, map_scores(maps, bias, root))
        True
    """
    n_probes = len(weights)
    d = vectors.shape[-1]
    # Parts of the map weights from the dependent's and the candidate's vector, [S, 2, m, C] each.
    dependent_part, candidate_part = (vectors @ weights[..., part].mT for part in _halves(d))
    # In each direction, one of the two words attends, and its factor is the same for its whole row.
    attending = torch.stack([dependent_part[:, 0], candidate_part[:, 1]], 1)
    attended = torch.stack([candidate_part[:, 0], dependent_part[:, 1]], 1)
    inner = maps[:, 1:-1, 1:-1]
    by_row = attending.flatten(0, 1).transpose(0, 1) @ inner.transpose(0, 1)  # [m, 2S, m]
    by_column = attended.flatten(0, 1).transpose(0, 1) @ inner.permute(2, 0, 1)  # [m, 2S, m]
    rows, columns = (
        scores.unflatten(1, (n_probes, 2)).permute(1, 2, 0, 3) for scores in (by_row, by_column)
    )
    words = rows[:, 0] + columns[:, 1] + (columns[:, 0] + rows[:, 1]).mT
    return map_scores(maps, bias, root) + torch.nn.functional.pad(words, (1, 0))


def map_votes(maps: Tensor, factors: Tensor, root: Tensor) -> Tensor:
    """Return the contribution of each map and direction of one probe to each score.

    Args:
        maps: Attention maps, as in `map_scores`.
        factors: Weight of each map and direction, broadcastable to [2, C, m, m + 1], for example
            weights [2, C, 1, 1] or the result of `word_factors`.
        root: Weights of [CLS] and [SEP] for the root, [2].

    Returns:
        Contributions [2, C, m, m + 1]. Their sum over directions and maps is the score of one probe
        in `map_scores` or `map_word_scores`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import map_scores, map_votes
        >>> maps, weights, root = torch.rand(3, 6, 6), torch.rand(2, 3), torch.rand(2)
        >>> votes = map_votes(maps, weights[..., None, None], root)
        >>> torch.allclose(votes.sum((0, 1)), map_scores(maps, weights[None], root[None])[0])
        True
    """
    both = torch.stack([maps, maps.mT])[..., 1:-1, :]
    root_votes = both[..., 0] * root[0] + both[..., -1] * root[1]
    return factors * torch.cat([root_votes[..., None], both[..., 1:-1]], -1)


def word_factors(vectors: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """Return the weight of each map and direction between two words, for one probe.

    Args:
        vectors: Word vectors [m, d].
        weights: Weights of both word vectors for each map, [2, C, 2d].
        bias: Bias of each map, [2, C].

    Returns:
        Weights [2, C, m, m + 1], as in `map_word_scores`.
    """
    dependent_part, candidate_part = (
        weights[..., part] @ vectors.mT for part in _halves(vectors.shape[-1])
    )  # [2, C, m]
    pairs = dependent_part[..., None] + candidate_part[..., None, :]
    return torch.nn.functional.pad(pairs, (1, 0)) + bias[..., None, None]


def distance_features(n_words: int, *, like: Tensor) -> Tensor:
    """Return eight features for the distance of candidate j from dependent i, [m, m + 1, 8].

    The features are max(j - i, 0) / m, max(i - j, 0) / m, whether j - i is 0, -1, 1, -2 or 2, and
    whether the candidate is the root. All other features of the root are 0.

    Args:
        n_words: Number of words, m.
        like: Tensor that determines dtype and device.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import distance_features
        >>> distance_features(2, like=torch.zeros(0))[0]
        tensor([[0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 1.0000],
                [0.0000, 0.0000, 1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
                [0.5000, 0.0000, 0.0000, 0.0000, 1.0000, 0.0000, 0.0000, 0.0000]])
    """
    positions = torch.arange(n_words, dtype=torch.long, device=like.device)
    difference = positions - positions[:, None]  # [m, m], j - i
    near = [difference == offset for offset in (0, -1, 1, -2, 2)]
    far = [difference.clamp_min(0) / n_words, (-difference).clamp_min(0) / n_words]
    features = like.new_zeros(n_words, n_words + 1, 8)
    features[:, 1:, :7] = torch.stack([*far, *near], -1).to(like)
    features[:, 0, 7] = 1
    return features


def distance_word_scores(
    vectors: Tensor, hidden: Tensor, hidden_bias: Tensor, output: Tensor, output_bias: Tensor
) -> Tensor:
    """Return the scores of the distances + GloVe probe, which has one hidden layer (tanh).

    The inputs of the layer are a 0 instead of attention, `distance_features`, v_i and v_j. For the
    root, both vectors are 0.

    Args:
        vectors: Word vectors [m, d].
        hidden: Weights of the hidden layer, [S, h, 9 + 2d].
        hidden_bias: Bias of the hidden layer, [S, h].
        output: Weights of the output, [S, h].
        output_bias: Bias of the output, [S].

    Returns:
        Scores [S, m, m + 1].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import distance_word_scores
        >>> one = torch.ones(1, 4)
        >>> distance_word_scores(torch.ones(2, 3), torch.ones(1, 4, 15), 0 * one, one, one[:, 0])
        tensor([[[4.0464, 5.0000, 5.0000],
                 [4.0464, 5.0000, 5.0000]]])
    """
    m, d = vectors.shape
    near = hidden[..., 1:9]
    words = hidden[..., 9:]
    layer = distance_features(m, like=vectors) @ near.mT[:, None]  # [S, m, m + 1, h]
    dependent_part, candidate_part = (
        vectors @ words[..., part].mT for part in _halves(d)
    )  # [S, m, h]
    pairs = dependent_part[:, :, None] + candidate_part[:, None]
    layer = layer + torch.nn.functional.pad(pairs, (0, 0, 1, 0)) + hidden_bias[:, None, None]
    return (layer.tanh() @ output[:, None, :, None])[..., 0] + output_bias[:, None, None]


def _halves(d: int) -> tuple[slice, slice]:
    """Return the slices of 2d numbers for the dependent and for the candidate."""
    return slice(0, d), slice(d, 2 * d)
