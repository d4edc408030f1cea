"""How much of a head's scores is explained by the offset between query and key alone."""

from __future__ import annotations

import torch
from torch import Tensor

from attnwidget.kernels.score_parts import centred_rows

# The smallest weight that float32 holds: weights below it count as this one.
_SMALLEST = 2.0**-149


def offset_sums(weights: Tensor, real: Tensor, reach: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sums of which `explained_by_offset` makes the share, over some inputs.

    Scores are read from weights: within a row, log weights are scores up to a constant.

    Args:
        weights: [B, H, n, n]; a cell that is 0 in all heads is masked.
        real: Bool [B, n], False at padding.
        reach: Offsets beyond `reach` tokens count as `reach`.

    Returns:
        float64 sums over all rows: products of row-centred indicators of offsets [O, O], their
        products with row-centred scores [H, O], and squares of these scores [H]. O is
        2 * reach + 1.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[[[0.5, 0.5], [0.2, 0.8]]]])
        >>> [tuple(s.shape) for s in offset_sums(weights, torch.ones(1, 2, dtype=torch.bool), 3)]
        [(7, 7), (1, 7), (1,)]
    """
    n = weights.shape[-1]
    visible = (weights.amax(1) > 0) & real[:, :, None] & real[:, None, :]  # [B, n, n]
    scores = centred_rows(weights.clamp(min=_SMALLEST).log(), visible[:, None])
    place = torch.arange(n, dtype=torch.long, device=weights.device)
    offsets = (place[None] - place[:, None]).clamp(-reach, reach) + reach  # [n, n]
    size = 2 * reach + 1
    seen = visible.double()
    counts = seen.new_zeros(*seen.shape[:2], size)
    counts = counts.scatter_add_(-1, offsets.expand_as(seen), seen).flatten(0, 1)  # rows, O
    keys = counts.sum(-1, keepdim=True).clamp(min=1)
    design = torch.diag(counts.sum(0)) - (counts / keys).T @ counts
    summed = scores.sum(0, dtype=torch.float64).flatten(1)  # [H, n * n]
    responses = summed.new_zeros(len(summed), size)
    responses.scatter_add_(-1, offsets.flatten().expand_as(summed), summed)
    squares = torch.linalg.vector_norm(scores, dim=(0, 2, 3), dtype=torch.float64).square()
    return design, responses, squares


def explained_by_offset(design: Tensor, responses: Tensor, squares: Tensor) -> Tensor:
    """Return the share of the variance of row-centred scores that the offset explains, [H].

    The scores are fitted by s_ij = m_i + p(j - i) in the sense of least squares, with any number
    m_i for each query and p for each offset. The share is 1 for a head whose weights depend on the
    offset alone.

    Args:
        design: [O, O] of `offset_sums`.
        responses: [H, O].
        squares: [H].

    Returns:
        float64 [H] from 0 to 1; NaN for a head whose scores do not vary.

    Example:
        >>> import torch
        >>> place = torch.arange(6.0)
        >>> near = torch.softmax(-(place[:, None] - place).abs(), -1)[None, None]
        >>> sums = offset_sums(near, torch.ones(1, 6, dtype=torch.bool), 5)
        >>> explained_by_offset(*sums).round(decimals=4)
        tensor([1.], dtype=torch.float64)
    """
    fitted = torch.linalg.pinv(design, hermitian=True, rtol=1e-9) @ responses.T  # [O, H]
    explained = (responses.T * fitted).sum(0)
    share = explained / squares
    return torch.where(squares > 0, share.clamp(0, 1), torch.nan)
