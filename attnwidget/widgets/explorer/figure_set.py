"""Figures of an explorer and their links."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.panels import DETAILS
from attnwidget.widgets.shared.attention_widget import AttentionWidget
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.linking import FigureLink, link_figures


class FigureSet:
    """Figures of an explorer, by panel.

    Args:
        explorer: Explorer that contains the figures.
    """

    def __init__(self, explorer: ExplorerFigure) -> None:
        self._explorer = explorer
        # Links by panel. A figure without a link still shows a previous input.
        self._links: dict[str, FigureLink] = {}

    def of_attention(self) -> list[AttentionWidget]:
        """Return the linked figures that show the current attention."""
        linked = [figure for name, figure in self._explorer.children.items() if name in self._links]
        return [figure for figure in linked if isinstance(figure, AttentionWidget)]

    def adopt(self, name: str, figure: HeadWidget) -> None:
        """Add a new figure and link it."""
        setattr(self._explorer, name, figure)
        self.link(name)
        if self._explorer._is_suspended:
            figure._suspend()

    def link(self, name: str) -> None:
        """Link a figure with the explorer."""
        self._links[name] = link_figures(self._explorer, getattr(self._explorer, name))

    def unlink(self, name: str) -> None:
        """End the link of a figure."""
        self._links.pop(name).unlink()

    def is_linked(self, name: str) -> bool:
        """Return True if a figure is linked with the explorer."""
        return name in self._links

    def hand_on(self, figure: AttentionWidget) -> None:
        """Show the explorer's attention in a figure, with the same heads disabled."""
        explorer = self._explorer
        with figure._lock, figure.together(), figure.hold_trait_notifications():
            figure.disabled = explorer.disabled
            figure.method = explorer.method
            figure.attention = explorer.attention

    def let_closed_tabs_wait(self) -> None:
        """Delay the updates of figures in closed tabs until `answer` is called.

        Predictions are unlinked instead, because they run the model.
        """
        for name, figure in self._explorer.children.items():
            if name in DETAILS and name not in (self._explorer.tab, "predictions"):
                figure._answer_when_read()

    def answer(self, name: str) -> None:
        """Update a figure after delayed changes, and from now on after every change."""
        figure: HeadWidget | None = getattr(self._explorer, name)
        if figure is not None:
            # Ignore errors here, because the figure shows them.
            with self._explorer._lock, self._explorer.together(), suppress(Exception):
                figure._answer_changes()

    def give(self, name: str, value: Any) -> None:
        """Set a trait of the explorer and its figures.

        Links would not set the trait while a figure forwards its selection, so set it directly.
        """
        setattr(self._explorer, name, value)
        for figure in self.of_attention():
            if figure._takes(name):
                setattr(figure, name, figure._fitting(name, getattr(self._explorer, name)))

    def close(self) -> None:
        """End all links and close all figures."""
        for figure_link in self._links.values():
            figure_link.unlink()
        self._links = {}
        for figure in self._explorer.children.values():
            figure.close()
