"""Largest attention weights of word links and of token classes."""

from __future__ import annotations

from torch import Tensor


def largest_link_weights(weights: Tensor, pairs: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    """Return the largest weight in each group of token pairs (Kovaleva et al. 2019, section 4.2).

    Args:
        weights: Attention weights [B, H, n, n].
        pairs: Input in the batch, query and key of each pair, int64 [P, 3].
        groups: Group of each pair, int64 [P].
        n_groups: Number of groups.

    Returns:
        Largest weights [n_groups, H]; 0 for a group without pairs.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.links import largest_link_weights
        >>> weights = torch.tensor([[[[0.2, 0.8], [0.6, 0.4]]]])
        >>> pairs = torch.tensor([[0, 0, 1], [0, 1, 0]])
        >>> largest_link_weights(weights, pairs, torch.tensor([0, 0]), 2)
        tensor([[0.8000],
                [0.0000]])
    """
    item, query, key = pairs.unbind(-1)
    link_weights = weights[item, :, query, key]  # [P, H]
    largest = weights.new_zeros(n_groups, weights.shape[1])
    index = groups[:, None].expand_as(link_weights)
    return largest.scatter_reduce(0, index, link_weights, "amax", include_self=True)


def largest_class_weights(received: Tensor, members: Tensor) -> Tensor:
    """Return the largest weight on a token of each class (Kovaleva et al. 2019, section 4.4).

    Args:
        received: Weight that each token receives, for example the mean over queries, [B, H, n].
        members: Tokens of each class, bool [B, C, n].

    Returns:
        Largest weights [B, H, C]; 0 for a class without members.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.links import largest_class_weights
        >>> members = torch.tensor([[[True, False, True], [False, False, False]]])
        >>> largest_class_weights(torch.tensor([[[0.2, 0.5, 0.3]]]), members)
        tensor([[[0.3000, 0.0000]]])
    """
    return (received[:, :, None] * members[:, None]).amax(-1)
