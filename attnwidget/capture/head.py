"""The name of one attention head."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """One attention head: 0-based layer and head, and the stack of layers it belongs to.

    `stack` is "self" in models with one stack; "encoder", "decoder" or "cross" in encoder-decoders.

    Example:
        >>> from attnwidget import Head
        >>> head = Head(7, 9)
        >>> str(head), head.paper_name
        ('L7 H9', '8-10')
    """

    layer: int
    head: int
    stack: str = "self"

    @property
    def paper_name(self) -> str:
        """The 1-based name printed in papers, "layer-head"."""
        return f"{self.layer + 1}-{self.head + 1}"

    def __str__(self) -> str:
        name = f"L{self.layer} H{self.head}"
        return name if self.stack == "self" else f"{self.stack} {name}"
