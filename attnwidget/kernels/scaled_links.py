"""Attention weights with some links cut, weakened or strengthened."""

from __future__ import annotations

import torch
from torch import Tensor


def scaled_links(
    weights: Tensor, factors: Tensor, sink: Tensor | None = None, *, keeps_sum: bool = False
) -> Tensor:
    """Multiply weights by factors, and divide each changed row by its new sum.

    This equals a softmax of the scores plus log(factor): a factor of 0 is a score of minus
    infinity. The other keys of a query get the weight of a cut link, in proportion to their
    weights. A row that loses all of its weight is 0. Rows without a factor other than 1 are
    returned unchanged.

    Args:
        weights: Attention weights [..., Q, K].
        factors: Factor of each weight, >= 0, broadcastable to `weights`, with Q rows and K columns.
        sink: Weight of each query on the attention sink, [..., Q, 1]; None = the model has no sink.
            The sink is one more key with the factor 1, so that the sum of the other weights
            changes.
        keeps_sum: Whether the sum of each row stays as it was, so that the sink neither gains nor
            loses weight.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.scaled_links import scaled_links
        >>> scaled_links(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.0, 1, 1]])).tolist()
        [[0.0, 0.5, 0.5]]
        >>> beside_sink, factors = torch.tensor([[0.5, 0.25]]), torch.tensor([[0.0, 1.0]])
        >>> scaled_links(beside_sink, factors, torch.tensor([[0.25]])).tolist()
        [[0.0, 0.5]]
        >>> scaled_links(beside_sink, factors, torch.tensor([[0.25]]), keeps_sum=True).tolist()
        [[0.0, 0.75]]
    """
    is_changed = (factors != 1).any(-1)  # [..., Q]
    rows = is_changed.reshape(-1, is_changed.shape[-1]).any(0).nonzero()[:, 0]
    if not len(rows):
        return weights
    # Scaling rounds, so only touch the rows with a changed link.
    exact = torch.promote_types(weights.dtype, torch.float32)
    former = weights.index_select(-2, rows).to(exact)
    scaled = former * factors.index_select(-2, rows).to(exact)
    new_sum = scaled.sum(-1, keepdim=True)
    total = former.sum(-1, keepdim=True)
    if sink is not None and not keeps_sum:
        sink_rows = sink.index_select(-2, rows).to(exact)
        new_sum, total = new_sum + sink_rows, total + sink_rows
    scaled = scaled * (total / new_sum.where(new_sum > 0, 1))
    scaled = torch.where(is_changed.index_select(-1, rows)[..., None], scaled, former)
    return weights.index_copy(-2, rows, scaled.to(weights.dtype))
