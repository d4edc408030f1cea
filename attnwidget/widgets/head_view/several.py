"""Several heads in one view: the drawn heads, and their maps as sent to the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.pages.encoding import rounded
from attnwidget.widgets.wire.values import masked_map, to_wire

ARRANGEMENTS = ("one", "beside", "overlay")
#: Heads that can be told from each other, side by side and in one drawing.
MOST_HEADS = {"beside": 6, "overlay": 32}
# More cells than these are not held on a page, more than those are rounded to bytes.
_MOST_CELLS = 16_000_000
_EXACT_CELLS = 500_000


def drawn_heads(
    selected: Sequence[Head], arrangement: str, of: str, n_heads: int, cells: int
) -> list[Head]:
    """The heads that are drawn together; the last one selected is always among them.

    Args:
        selected: the selected heads; heads in the stack of the last one can be drawn with it.
        arrangement: "beside" or "overlay".
        of: "selected", or "layer" for all heads in the layer of the last selected head.
        n_heads: heads of that layer.
        cells: of one map between tokens.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.widgets.head_view.several import drawn_heads
        >>> [str(head) for head in drawn_heads([Head(2, 7)], "beside", "layer", 12, 81)]
        ['L2 H6', 'L2 H7', 'L2 H8', 'L2 H9', 'L2 H10', 'L2 H11']
    """
    most = max(1, min(MOST_HEADS[arrangement], _MOST_CELLS // max(1, cells)))
    return heads_together(selected, arrangement, of, n_heads, most)


def heads_together(
    selected: Sequence[Head], arrangement: str, of: str, n_heads: int, most: int | None = None
) -> list[Head]:
    """The heads that are drawn together, `most` of them; None = as many as can be told apart.

    For the other arguments see `drawn_heads`; with the arrangement "one" it is the last head.

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
    """Return the whole map of a head as a tile of single cells, float32 [1, query, key].

    NaN where a query may not see a key.
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
    """Return the maps of heads of a stack in one array [heads, query, key].

    They are float32 with NaN where a query may not see a key; many of them are bytes, as a page
    without a kernel holds them.
    """
    maps = [masked_map(attention, quantity, head, unit) for head in heads]
    exact = sum(values.size for values in maps) <= _EXACT_CELLS
    if exact:
        values = np.stack(maps)
        maxima = []
    else:
        levels = [rounded(values) for values in maps]
        values = np.stack([level for level, _ in levels])
        maxima = [most for _, most in levels]
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
