"""Several heads in one view: selection of the heads to draw, and their maps for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.pages.encoding import rounded
from attnwidget.widgets.wire.values import masked_map, to_wire

ARRANGEMENTS = ("one", "beside", "overlay")
#: Maximum number of heads that a reader can tell apart, by arrangement.
MOST_HEADS = {"beside": 12, "overlay": 32}
# Maximum number of cells that a page receives, and the number above which cells are rounded to
# bytes.
_MOST_CELLS = 16_000_000
_EXACT_CELLS = 500_000


def drawn_heads(
    selected: Sequence[Head], arrangement: str, of: str, n_heads: int, cells: int
) -> list[Head]:
    """Return the heads that are drawn together, which include the last selected head.

    Args:
        selected: Selected heads; only heads in the same stack as the last head are drawn with it.
        arrangement: "beside" or "overlay".
        of: "selected", or "layer" for all heads in the layer of the last selected head.
        n_heads: Number of heads in that layer.
        cells: Number of cells in one map between tokens.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.widgets.head_view.several import drawn_heads
        >>> [str(head) for head in drawn_heads([Head(2, 13)], "beside", "layer", 16, 81)]
        ['L2 H12', 'L2 H13', 'L2 H14', 'L2 H15']
    """
    max_heads = max(1, min(MOST_HEADS[arrangement], _MOST_CELLS // max(1, cells)))
    return heads_together(selected, arrangement, of, n_heads, max_heads)


def heads_together(
    selected: Sequence[Head], arrangement: str, of: str, n_heads: int, most: int | None = None
) -> list[Head]:
    """Return at most `most` heads that are drawn together.

    Args:
        selected: Selected heads; only heads in the same stack as the last head are drawn with it.
        arrangement: "one" for the last selected head, "beside" or "overlay".
        of: "selected", or "layer" for all heads in the layer of the last selected head.
        n_heads: Number of heads in that layer.
        most: Maximum number of heads; None = as many as a reader can tell apart.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.widgets.head_view.several import heads_together
        >>> len(heads_together([Head(2, 7)], "overlay", "layer", 12))
        12
    """
    if not selected:
        return []
    last = selected[-1]
    if arrangement == "one":
        return [last]
    most = MOST_HEADS[arrangement] if most is None else most
    if of == "selected":
        return [head for head in selected if head.stack == last.stack][-most:]
    first = last.head - last.head % most
    return [Head(last.layer, h, last.stack) for h in range(first, min(first + most, n_heads))]


def tile_to_wire(attention: Attention, head: Head, quantity: str, unit: str) -> dict[str, Any]:
    """Return the whole map of a head as a tile with single cells, for the page.

    The values are float32 [1, query, key], with NaN if a query may not see a key.
    """
    values = masked_map(attention, quantity, head, unit)
    n_query, n_key = values.shape
    return {
        "heads": [head],
        "stack": head.stack,
        "quantity": quantity,
        "unit": unit,
        "exact": True,
        "asked": None,
        "part": (0, n_query, 0, n_key),
        "step": 1,
        "queries": (0, n_query),
        "keys": (0, n_key),
        "values": to_wire(values[None]),
        "first": None,
        "links": None,
    }


def maps_to_wire(
    attention: Attention, heads: Sequence[Head], quantity: str, unit: str
) -> dict[str, Any]:
    """Return the maps of several heads as one array [heads, query, key], for the page.

    The values are float32, with NaN if a query may not see a key. Many maps are rounded to bytes,
    as in a saved page.
    """
    maps = [masked_map(attention, quantity, head, unit) for head in heads]
    exact = sum(values.size for values in maps) <= _EXACT_CELLS
    if exact:
        values = np.stack(maps)
        maxima = []
    else:
        levels = [rounded(values) for values in maps]
        values = np.stack([level for level, _ in levels])
        maxima = [maximum for _, maximum in levels]
    return {
        "complete": True,
        "stack": heads[0].stack,
        "quantity": quantity,
        "unit": unit,
        "heads": list(heads),
        "exact": exact,
        "maxima": maxima,
        "values": to_wire(values),
    }
