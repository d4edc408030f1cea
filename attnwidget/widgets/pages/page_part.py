"""The parts of a saved page: the state of each figure, and the answers that it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Why an option is fixed whose other values need another computation.
NEEDS_A_NOTEBOOK = (
    "Other values need a notebook: a saved page shows what was computed when it was saved."
)


@dataclass(frozen=True)
class Holding:
    """Large data of a page, such as the maps of all heads.

    Attributes:
        what: Its name in the error for a page that is too large.
        remedy: Advice in this error on how to make the data smaller.
        least: The smallest number of bytes that the data takes in the page.
        embed: Takes a number of bytes; returns the data in this size (or in `least`), and notes for
            the caption.
        fixed: The options that the page cannot change because it holds no more than this data,
            with the reason.
    """

    what: str
    remedy: str
    least: float
    embed: Callable[[float], tuple[Any, list[str]]]
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One figure of a page.

    Attributes:
        figure: Name of the class, for errors.
        title: The heading of the page.
        label: Name of the figure on a page with several figures.
        state: The state of the widget, without the traits that the page computes.
        shapes: Layers and heads per layer of each stack that the figure can show.
        shared: Names of the traits that all figures of the page share.
        relations: The relations that the figure can show, "all" first; None without relations.
        own: Small data for the answers of this figure.
        holdings: Large data by name; figures with the same name share it.
        remark: A remark for the reader.
        smaller: Smaller data to hold if a page of this figure alone is too large.
        children: Names of the figures that the figure draws in its panels, by panel.
        fixed: The options that the page cannot change, with the reason. An option that figures
            share is fixed in all figures of the page.
        fixed_here: The same for this figure only: it keeps its value when another figure of the
            page changes the option.
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
    """The linked figures of a page, their text and their notes.

    Attributes:
        parts: The part of each figure, by the name of its folder. All figures start from the
            selection of the first one.
        text: The text that the figures show.
        notes: Notes for the caption.
    """

    parts: Mapping[str, Part]
    text: str | None = None
    notes: tuple[str, ...] = ()
