"""Checks of the heads and tokens in calls of decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.capture.tapping.head import Head, HeadName, head_parts

if TYPE_CHECKING:
    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.products import ScoreParts


def head_at(
    attention: Attention,
    layer: int | HeadName | None,
    head: int | HeadName | None,
    stack: str | None,
) -> Head:
    """Return a head of an attention, by layer and head, or by its name instead of one of these.

    Args:
        attention: Attention of one input.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer, or the head itself if `layer` is None.
        stack: Stack of the head; only needed if there are several stacks and the name does not
            include one.

    Raises:
        TypeError: If `attention` is not an attention.
        ValueError: If there is no such stack, layer or head.

    Example:
        >>> from attnwidget import load_model
        >>> head_at(load_model().attend("The cat sat."), 2, 8, None)
        Head(layer=2, head=8, stack='self')
    """
    refuse_no_attention(attention)
    parts = head_parts(layer, head, stack)
    stack_name = parts[2] if len(parts) == 3 else None
    axes = chosen_stack(attention.stacks, stack_name, attention.model_name)
    return attention.head((*parts[:2], axes.name))


def refuse_hidden(row: ScoreParts, query: int, *keys: int) -> None:
    """Raise ValueError for a key that the mask hides from a query.

    Args:
        row: Score parts of this single query.
        query: Index of the query, for the message.
        keys: Indices of the keys.
    """
    for key in keys:
        if row.visible is not None and not bool(row.visible[0, key]):
            raise ValueError(
                f"the mask hides key {key} from query {query}, so its weight is 0: choose a key "
                "that the query sees"
            )
