"""Parts of a saved page: the state of each figure and its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Reason why an option is fixed if its other values need a computation.
NEEDS_A_NOTEBOOK = (
    "Other values need a notebook: a saved page shows what was computed when it was saved."
)


@dataclass(frozen=True)
class Holding:
    """Large data of a page, such as the maps of all heads.

    Attributes:
        what: Name of the data in the error about a page that is too large.
        remedy: Advice in this error on how to make the data smaller.
        least: Minimum size of the data in the page, in bytes.
        embed: Function that takes a number of bytes, and returns the data in this size (or in
            `least`) with notes for the caption.
        fixed: Options that the page cannot change because it has only this data, with the reason.
    """

    what: str
    remedy: str
    least: float
    embed: Callable[[float], tuple[Any, list[str]]]
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """Figure on a page.

    Attributes:
        figure: Name of the class, for errors.
        title: Page title.
        label: Name of the figure on a page with several figures.
        state: State of the widget, without the traits that the page computes.
        shapes: Numbers of layers and of heads per layer of each stack that the figure can show.
        shared: Names of the traits that all figures on the page share.
        relations: Relations that the figure can show, "all" first; None without relations.
        own: Small data for the answers of this figure.
        holdings: Large data by name; figures share data of the same name.
        remark: Note for the reader.
        smaller: Smaller data, for a page with only this figure that would be too large.
        children: Names of the figures that the figure draws in its panels, by panel.
        fixed: Options that the page cannot change, with the reason. A shared option is fixed in all
            figures of the page.
        fixed_here: Options that only this figure cannot change, with the reason. The figure keeps
            its value if another figure of the page changes the option.
    """

    figure: str
    title: str
    label: str
    state: dict[str, Any]
    shapes: Mapping[str, tuple[int, int]]
    shared: Sequence[str]
    relations: Sequence[str] | None = None
    own: Mapping[str, Any] = field(default_factory=dict)
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    remark: str = ""
    smaller: Mapping[str, Holding] | None = None
    children: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    fixed_here: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """Linked figures of a page, with their text and notes.

    Attributes:
        parts: Part of each figure, by folder name. All figures start from the selection
            of the first figure.
        text: Input text of the figures.
        notes: Notes for the caption.
    """

    parts: Mapping[str, Part]
    text: str | None = None
    notes: tuple[str, ...] = ()
