"""The largest attention weight of a link between words, and to a class of tokens."""

from __future__ import annotations

from torch import Tensor


def largest_link_weights(weights: Tensor, pairs: Tensor, groups: Tensor, n_groups: int) -> Tensor:
    """The largest weight among each group's pairs of tokens (Kovaleva et al. 2019, section 4.2).

    `weights` [B, H, n, n]; `pairs` int64 [P, 3], each an input of the batch, a query and a key;
    `groups` int64 [P], the group of each pair. Returns [n_groups, H], 0 for a group without pairs.

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
    """The largest weight that a token of each class receives (Kovaleva et al. 2019, section 4.4).

    `received` [B, H, n], such as the mean over queries; `members` bool [B, C, n]. Returns
    [B, H, C], 0 for a class without members.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.links import largest_class_weights
        >>> members = torch.tensor([[[True, False, True], [False, False, False]]])
        >>> largest_class_weights(torch.tensor([[[0.2, 0.5, 0.3]]]), members)
        tensor([[[0.3000, 0.0000]]])
    """
    return (received[:, :, None] * members[:, None]).amax(-1)
