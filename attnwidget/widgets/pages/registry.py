"""The figures there are, each under the name of its folder. Knows where they are, imports none."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from attnwidget.widgets.pages.page_part import Page

#: Each figure's module and style sheet, under the figure's name.
STATIC = Path(__file__).parents[1] / "static"


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        name: of its folder, here and in the pages' code.
        class_name: of its widget.
        label: Name of the figure on a page; "" for a figure that contains others.
    """

    name: str
    class_name: str
    label: str

    @property
    def module(self) -> str:
        """Where its widget is."""
        return f"attnwidget.widgets.{self.name}.widget"

    def load(self) -> Any:
        """Its widget's class."""
        return getattr(import_module(self.module), self.class_name)

    def shows(self, widget: object) -> bool:
        """Whether a widget is one of this kind."""
        return bool(getattr(type(widget), "kind", None) == self.name)


#: In the order of a page that has several.
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
    """The figure of that name.

    Example:
        >>> from attnwidget.widgets.pages.registry import figure
        >>> figure("head_grid").label
        'all heads'
    """
    return next(kind for kind in FIGURES if kind.name == name)


def page_of(widget: object) -> Page:
    """What a page of a widget must hold; `page` of the figure's `page.py` says it.

    Raises:
        TypeError: it is none of the figures.
    """
    for kind in FIGURES:
        if kind.shows(widget):
            page: Page = import_module(f"attnwidget.widgets.{kind.name}.page").page(widget)
            return page
    kinds = ", ".join(kind.class_name for kind in FIGURES)
    raise TypeError(f"a page shows one of {kinds}, got {type(widget).__name__}")
