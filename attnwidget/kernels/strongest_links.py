"""The strongest links of every head: the largest cells of its maps over several inputs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class StrongestLinks(NamedTuple):
    """The k largest cells of each head, the largest first.

    Attributes:
        values: [H, k]; 0 if a head has fewer links.
        items: The input of each link, int64 [H, k], like the following places.
        queries: The attending token.
        keys: The attended token.
    """

    values: Tensor
    items: Tensor
    queries: Tensor
    keys: Tensor


def strongest_links(values: Tensor, real: Tensor, order: Tensor, k: int) -> StrongestLinks:
    """Return the k largest cells of each head over B inputs.

    Equal cells are sorted by input, then by query, then by key. A large cell makes the largest
    value of its row large, so only the k rows with the largest values are searched.

    Args:
        values: Cells, float32 [B, H, n, m], none negative; 0 where there is no link.
        real: False at queries that do not count, such as padding, bool [B, n].
        order: The inputs in the order that decides between equal cells, int64 [B].
        k: Number of links of each head.

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
    places = rows[..., None] * n_keys + torch.arange(n_keys, dtype=torch.long, device=values.device)
    # Cells in the order of their places, so that the first of equal cells is found.
    sorted_rows = rows.argsort(-1)
    cells = cells.gather(1, sorted_rows[..., None].expand_as(cells)).flatten(1)
    places = places.gather(1, sorted_rows[..., None].expand_as(places)).flatten(1)
    found = _largest(cells, min(k, cells.shape[1]))
    links = places.gather(1, found)
    row = links // n_keys
    return StrongestLinks(
        cells.gather(1, found), order[row // n_rows], row % n_rows, links % n_keys
    )


def _largest(values: Tensor, k: int) -> Tensor:
    """Return the columns of the k largest values of each row; the first of equals comes first.

    `values` float32 [H, N], none negative. Returns int64 [H, k].
    """
    # The bits of floats that are not negative have the order of the floats. With the column in the
    # lower bits, no two numbers are equal.
    n_columns = values.shape[1]
    columns = torch.arange(n_columns - 1, -1, -1, dtype=torch.long, device=values.device)
    bits = values.contiguous().view(torch.int32).long() * 2**31 + columns
    return n_columns - 1 - (bits.topk(k, -1).values % 2**31)
