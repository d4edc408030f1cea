"""How likely each word is another's governor, by attention, words and distances.

The probes of Clark et al. 2019, section 5. Of a sentence of m words, scores are [S, m, m + 1], for
S probes at once: a row a dependent, column 0 the root, column k word k. The softmax of a row is the
distribution; a word itself is among its candidates.
"""

from __future__ import annotations

import torch
from torch import Tensor


def map_scores(maps: Tensor, weights: Tensor, root: Tensor) -> Tensor:
    """The sum over maps and directions of a weight times attention: the attention-only probe.

    A map is read from dependent to governor and, transposed, from governor to dependent. Its column
    of the root is `root[0]` times attention to [CLS] plus `root[1]` times attention to [SEP];
    transposed, attention from them.

    `maps` [C, m + 2, m + 2], rows attend, first [CLS], last [SEP]; `weights` [S, 2, C], the word's
    row first; `root` [S, 2]. Returns [S, m, m + 1].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import map_scores
        >>> maps = torch.arange(16.0).reshape(1, 4, 4)
        >>> map_scores(maps, torch.tensor([[[1.0], [0.0]]]), torch.tensor([[0.0, 1.0]]))
        tensor([[[ 7.,  5.,  6.],
                 [11.,  9., 10.]]])
    """
    summed = (weights @ maps.flatten(1)).unflatten(-1, maps.shape[1:])  # [S, 2, m + 2, m + 2]
    both = (summed[:, 0] + summed[:, 1].mT)[:, 1:-1]
    of_root = both[..., 0] * root[:, :1] + both[..., -1] * root[:, 1:]
    return torch.cat([of_root[..., None], both[..., 1:-1]], -1)


def map_word_scores(
    maps: Tensor, vectors: Tensor, weights: Tensor, bias: Tensor, root: Tensor
) -> Tensor:
    """As `map_scores`, with weights that depend on the two words: attention + GloVe.

    The weight of map k between dependent i and candidate j is weights[k] . (v_i ; v_j) + bias[k];
    both vectors are 0 for the root, so only the bias of the root remains.

    `vectors` [m, d]; `weights` [S, 2, C, 2d]; `bias` [S, 2, C]; the rest as there. Returns
    [S, m, m + 1].

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
    # [S, 2, m, C]: what the dependent's vector gives to the weight, and the candidate's.
    of_dependent, of_candidate = (vectors @ weights[..., part].mT for part in _halves(d))
    # In either direction one of the two words attends; its factor is the same for its whole row.
    attending = torch.stack([of_dependent[:, 0], of_candidate[:, 1]], 1)
    attended = torch.stack([of_candidate[:, 0], of_dependent[:, 1]], 1)
    inner = maps[:, 1:-1, 1:-1]
    by_row = attending.flatten(0, 1).transpose(0, 1) @ inner.transpose(0, 1)  # [m, 2S, m]
    by_column = attended.flatten(0, 1).transpose(0, 1) @ inner.permute(2, 0, 1)  # [m, 2S, m]
    rows, columns = (
        scores.unflatten(1, (n_probes, 2)).permute(1, 2, 0, 3) for scores in (by_row, by_column)
    )
    words = rows[:, 0] + columns[:, 1] + (columns[:, 0] + rows[:, 1]).mT
    return map_scores(maps, bias, root) + torch.nn.functional.pad(words, (1, 0))


def map_votes(maps: Tensor, factors: Tensor, root: Tensor) -> Tensor:
    """The contribution of each map and direction of a probe to the score of each pair of words.

    `maps` as in `map_scores`; `factors` broadcastable to [2, C, m, m + 1], such as weights
    [2, C, 1, 1] or `word_factors`; `root` [2]. Returns [2, C, m, m + 1]; its sum over both is a row
    of `map_scores` or `map_word_scores`.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import map_scores, map_votes
        >>> maps, weights, root = torch.rand(3, 6, 6), torch.rand(2, 3), torch.rand(2)
        >>> votes = map_votes(maps, weights[..., None, None], root)
        >>> torch.allclose(votes.sum((0, 1)), map_scores(maps, weights[None], root[None])[0])
        True
    """
    both = torch.stack([maps, maps.mT])[..., 1:-1, :]
    of_root = both[..., 0] * root[0] + both[..., -1] * root[1]
    return factors * torch.cat([of_root[..., None], both[..., 1:-1]], -1)


def word_factors(vectors: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """The weight of each map and direction between two words: [2, C, m, m + 1] of one probe.

    `vectors` [m, d], `weights` [2, C, 2d], `bias` [2, C], as in `map_word_scores`.
    """
    of_dependent, of_candidate = (
        weights[..., part] @ vectors.mT for part in _halves(vectors.shape[-1])
    )  # [2, C, m]
    pairs = of_dependent[..., None] + of_candidate[..., None, :]
    return torch.nn.functional.pad(pairs, (1, 0)) + bias[..., None, None]


def distance_features(n_words: int, *, like: Tensor) -> Tensor:
    """The eight features of how far candidate j is from dependent i: [m, m + 1, 8].

    max(j - i, 0) / m, max(i - j, 0) / m, whether j - i is 0, -1, 1, -2, 2, and whether the
    candidate is the root, of which the others are 0.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.dependency_scores import distance_features
        >>> distance_features(2, like=torch.zeros(0))[0]
        tensor([[0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 1.0000],
                [0.0000, 0.0000, 1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
                [0.5000, 0.0000, 0.0000, 0.0000, 1.0000, 0.0000, 0.0000, 0.0000]])
    """
    places = torch.arange(n_words, dtype=torch.long, device=like.device)
    after = places - places[:, None]  # [m, m], j - i
    near = [after == offset for offset in (0, -1, 1, -2, 2)]
    far = [after.clamp_min(0) / n_words, (-after).clamp_min(0) / n_words]
    features = like.new_zeros(n_words, n_words + 1, 8)
    features[:, 1:, :7] = torch.stack([*far, *near], -1).to(like)
    features[:, 0, 7] = 1
    return features


def distance_word_scores(
    vectors: Tensor, hidden: Tensor, hidden_bias: Tensor, output: Tensor, output_bias: Tensor
) -> Tensor:
    """One hidden layer (tanh) over distances and the vectors of both words: distances + GloVe.

    Its inputs are a 0 in the place of attention, `distance_features`, v_i and v_j; both vectors are
    0 for the root.

    `vectors` [m, d]; `hidden` [S, h, 9 + 2d], `hidden_bias` and `output` [S, h], `output_bias` [S].
    Returns [S, m, m + 1].

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
    of_dependent, of_candidate = (vectors @ words[..., part].mT for part in _halves(d))  # [S, m, h]
    pairs = of_dependent[:, :, None] + of_candidate[:, None]
    layer = layer + torch.nn.functional.pad(pairs, (0, 0, 1, 0)) + hidden_bias[:, None, None]
    return (layer.tanh() @ output[:, None, :, None])[..., 0] + output_bias[:, None, None]


def _halves(d: int) -> tuple[slice, slice]:
    """The dependent's part and the candidate's of 2d numbers."""
    return slice(0, d), slice(d, 2 * d)
