"""Outputs of heads at a token: weighted values through the output projection, bias apart."""

from __future__ import annotations

import torch
from torch import Tensor


def source_outputs(weights: Tensor, value: Tensor, projection: Tensor) -> Tensor:
    """Return the output of a head, split by source token: a_j v_j W_O.

    Args:
        weights: Attention weights of one query, [K].
        value: Values without their bias, [K, Dv].
        projection: The head's share of the output projection, [Dv, d].

    Returns:
        One vector per source token, [K, d]. Their sum is the output of the head.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.head_outputs import source_outputs
        >>> value = torch.tensor([[1.0], [3.0]])
        >>> source_outputs(torch.tensor([0.25, 0.75]), value, torch.tensor([[2.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [4.5000, 0.0000]])
    """
    return weights[:, None] * value @ projection


def head_outputs(weights: Tensor, value: Tensor, projections: Tensor) -> Tensor:
    """Return the output of every head of a layer at a query: the sum of a_j v_j W_O.

    Args:
        weights: Attention weights of one query, [H, K].
        value: Values without their bias, [Hkv, K, Dv]; H is a multiple of Hkv.
        projections: The shares of the heads in the output projection, [H, Dv, d].

    Returns:
        One vector per head, [H, d].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.head_outputs import head_outputs
        >>> weights = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
        >>> head_outputs(weights, torch.tensor([[[1.0], [3.0]]]), torch.ones(2, 1, 1))
        tensor([[2.5000],
                [1.0000]])
    """
    groups = len(weights) // len(value)
    summed = weights[:, None] @ value.repeat_interleave(groups, 0)  # [H, 1, Dv]
    return (summed @ projections)[:, 0]


def layer_bias(
    row_sums: Tensor, value_bias: Tensor, projections: Tensor, output_bias: Tensor
) -> Tensor:
    """Return the part of a layer's attention output that comes from biases.

    The weights of a query sum to 1, so the bias of the values reaches every query as b_V W_O. With
    attention sinks they sum to less, and the bias reaches the query in this share.

    Args:
        row_sums: Sum of the weights of each head, [H].
        value_bias: Bias of the values of each head, [H, Dv].
        projections: The shares of the heads in the output projection, [H, Dv, d].
        output_bias: Bias of the output projection, [d].

    Returns:
        One vector, [d]. With `head_outputs` it sums to the output of the layer's attention.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.head_outputs import layer_bias
        >>> projections = torch.full((1, 1, 1), 2.0)
        >>> layer_bias(torch.ones(1), torch.tensor([[3.0]]), projections, torch.ones(1))
        tensor([7.])
    """
    return torch.einsum("h,hv,hvd->d", row_sums, value_bias, projections) + output_bias
