"""What a figure gives to its page: the state it starts from, and what it is to answer from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Holding:
    """Something large that figures of a page answer from.

    Attributes:
        what: it is called where the page is too large.
        remedy: what makes it smaller.
        least: bytes in the page that it takes at least.
        embed: it, in as many bytes as are given or in `least`, and what the caption says of it.
    """

    what: str
    remedy: str
    least: float
    embed: Callable[[float], tuple[Any, list[str]]]


@dataclass(frozen=True)
class Part:
    """One figure of a page.

    Attributes:
        title: what it shows, for the page's heading.
        state: of the widget, without what the page computes.
        shapes: layers and heads of each stack whose heads it can show.
        relations: those that it can show, all of them first; None for a figure that shows none.
        own: what its own answers are made from beside `holdings`, where that is small.
        holdings: by name; figures that name the same one share it.
        remark: what its reader must know.
        smaller: what to hold instead, on a page of this figure alone without room for more.
    """

    title: str
    state: dict[str, Any]
    shapes: Mapping[str, tuple[int, int]]
    relations: Sequence[str] | None = None
    own: Mapping[str, Any] = field(default_factory=dict)
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    remark: str = ""
    smaller: Mapping[str, Holding] | None = None


@dataclass(frozen=True)
class Page:
    """Linked figures, and what stands beside them.

    Attributes:
        parts: one of a figure, by the name of its folder; the first leads the others.
        text: what they are of, to be read beside them.
        notes: what the caption must say, beside what the page holds.
    """

    parts: Mapping[str, Part]
    text: str | None = None
    notes: tuple[str, ...] = ()
