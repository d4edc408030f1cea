"""The figures of the package by the names of their folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeGuard

from attnwidget.widgets.pages.page_part import Page

#: Folder with the module and the style sheet of each figure, under the name of the figure.
STATIC = Path(__file__).parents[1] / "static"


class HasPage(Protocol):
    """A figure, which knows what its page holds."""

    def page_content(self) -> Page:
        """Return what a page without a kernel holds of the figure."""


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        name: Name of its folder, in Python and in the code of pages.
        class_name: Name of the class of its widget.
        label: Name of the figure on a page; "" for a figure that contains others.
    """

    name: str
    class_name: str
    label: str

    def shows(self, widget: object) -> TypeGuard[HasPage]:
        """Return whether a widget is this figure."""
        return bool(getattr(type(widget), "kind", None) == self.name)


#: The figures, in their order on a page with several figures.
FIGURES = (
    Figure("head_grid", "HeadGrid", "all heads"),
    Figure("head_view", "HeadView", "one head"),
    Figure("token_lens", "TokenLens", "one word"),
    Figure("head_map", "HeadMap", "map of heads"),
    Figure("metric_strip", "MetricStrip", "metrics of the head"),
    Figure("relation_table", "RelationTable", "relations"),
    Figure("dependency_arcs", "DependencyArcs", "dependency arcs"),
    Figure("coreference_view", "CoreferenceView", "coreference"),
    Figure("prediction_view", "PredictionView", "predictions"),
    Figure("link_view", "LinkView", "why it attends"),
    Figure("atlas_view", "AtlasView", "atlas of heads"),
    Figure("explorer", "Explorer", ""),
)


def figure(name: str) -> Figure:
    """Return the figure with this name.

    Example:
        >>> from attnwidget.widgets.pages.registry import figure
        >>> figure("head_grid").label
        'all heads'
    """
    return next(kind for kind in FIGURES if kind.name == name)


def page_of(widget: object) -> Page:
    """Return the data that a page of a widget needs.

    Raises:
        TypeError: The widget is no figure of the package.
    """
    for kind in FIGURES:
        if kind.shows(widget):
            return widget.page_content()
    kinds = ", ".join(kind.class_name for kind in FIGURES)
    raise TypeError(f"a page shows one of {kinds}, got {type(widget).__name__}")
