"""Links of one input that are scaled in some heads, all by position."""

from __future__ import annotations

from dataclasses import dataclass

from attnwidget.capture.tapping.head import Head
from attnwidget.text.link_ends import LinkName


@dataclass(frozen=True)
class LinkEdit:
    """Links of one input with the heads in which they are scaled.

    Attributes:
        links: Pairs (query, key) of positions, as `end_positions` returns them.
        factor: Factor of the weights.
        heads: Heads in which the links are scaled.
        keeps_sum: Whether each row keeps its sum next to an attention sink.
        said: Links in captions.

    Example:
        >>> from attnwidget import load_model
        >>> attention = load_model().attend("The captain said that he left.")
        >>> attention.scaled_links([("he", "captain")], 0, "L1 H3").link_edits[0].links
        (((5,), (2,)),)
    """

    links: tuple[LinkName, ...]
    factor: float
    heads: tuple[Head, ...]
    keeps_sum: bool
    said: str
