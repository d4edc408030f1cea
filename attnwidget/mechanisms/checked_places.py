"""Heads and tokens that a decomposition is asked about, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.tapping.head import Head

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.products import ScoreParts


def head_at(attention: Attention, layer: int, head: int, stack: str | None) -> Head:
    """Return a head of an attention; `stack` is needed only if there are several.

    Raises:
        TypeError: No attention.
        ValueError: There is no such stack, layer or head.

    Example:
        >>> from attnwidget import load_model
        >>> head_at(load_model().attend("The cat sat."), 2, 8, None)
        Head(layer=2, head=8, stack='self')
    """
    refuse_no_attention(attention)
    axes = chosen_stack(attention.stacks, stack, attention.model_name)
    return attention.head((layer, head, axes.name))


def refuse_hidden(row: ScoreParts, query: int, *keys: int) -> None:
    """Raise ValueError for a key that the mask hides from a query.

    Args:
        row: The parts of the scores of this query alone.
        query: Place of the query, for the message.
        keys: Places of the keys.
    """
    for key in keys:
        if row.visible is not None and not bool(row.visible[0, key]):
            raise ValueError(
                f"the mask hides key {key} from query {query}, so its weight is 0: choose a key "
                "that the query sees"
            )
