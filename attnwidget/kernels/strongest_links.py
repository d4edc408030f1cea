"""Search for the strongest links of each head: the largest cells in maps of several inputs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class StrongestLinks(NamedTuple):
    """The k largest cells of each head, largest first.

    Attributes:
        values: Weights [H, k]; 0 if a head has fewer links.
        items: Input of each link, int64 [H, k].
        queries: Attending token of each link, int64 [H, k].
        keys: Attended token of each link, int64 [H, k].
    """

    values: Tensor
    items: Tensor
    queries: Tensor
    keys: Tensor


def strongest_links(values: Tensor, real: Tensor, order: Tensor, k: int) -> StrongestLinks:
    """Return the k largest cells of each head over B inputs.

    Equal cells are sorted by input, then by query, then by key. The k largest cells are in the k
    rows with the largest maxima, so only these rows are searched.

    Args:
        values: Cells, float32 [B, H, n, m], not negative; 0 if there is no link.
        real: Mask of the queries to count, bool [B, n]; False at padding.
        order: Order of the inputs for ties, int64 [B].
        k: Number of links per head.

    Returns:
        The links, [H, min(k, B * n * m)].

    Example:
        >>> import torch
        >>> from attnwidget.kernels.strongest_links import strongest_links
        >>> maps = torch.tensor([[[[0.9, 0.1], [0.3, 0.7]]]])
        >>> real = torch.ones(1, 2, dtype=torch.bool)
        >>> found = strongest_links(maps, real, torch.tensor([0]), 2)
        >>> found.values, found.queries, found.keys
        (tensor([[0.9000, 0.7000]]), tensor([[0, 1]]), tensor([[0, 1]]))
    """
    n_heads, n_rows, n_keys = values.shape[1:]
    largest = values.amax(-1).masked_fill(~real[:, None], 0)  # [B, H, n]
    by_head = largest[order].transpose(0, 1).flatten(1)  # [H, B * n]
    rows = _largest(by_head, min(k, by_head.shape[1]))  # [H, r]
    items = order[rows // n_rows]
    queries = rows % n_rows
    heads = torch.arange(n_heads, dtype=torch.long, device=values.device)[:, None]
    cells = values[items, heads, queries] * real[items, queries][..., None]  # [H, r, m]
    positions = rows[..., None] * n_keys + torch.arange(
        n_keys, dtype=torch.long, device=values.device
    )
    # Sort cells by their position, so that the first of equal cells is selected.
    sorted_rows = rows.argsort(-1)
    cells = cells.gather(1, sorted_rows[..., None].expand_as(cells)).flatten(1)
    positions = positions.gather(1, sorted_rows[..., None].expand_as(positions)).flatten(1)
    columns = _largest(cells, min(k, cells.shape[1]))
    links = positions.gather(1, columns)
    row = links // n_keys
    return StrongestLinks(
        cells.gather(1, columns), order[row // n_rows], row % n_rows, links % n_keys
    )


def _largest(values: Tensor, k: int) -> Tensor:
    """Return the columns of the k largest values in each row; the first of equal values first.

    Args:
        values: Values, float32 [H, N], not negative.
        k: Number of values per row.

    Returns:
        Columns, int64 [H, k].
    """
    # The bits of non-negative floats have the same order as the floats. With the column in the
    # lower bits, no two numbers are equal.
    n_columns = values.shape[1]
    columns = torch.arange(n_columns - 1, -1, -1, dtype=torch.long, device=values.device)
    bits = values.contiguous().view(torch.int32).long() * 2**31 + columns
    return n_columns - 1 - (bits.topk(k, -1).values % 2**31)
