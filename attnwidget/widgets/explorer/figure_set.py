"""The figures of an explorer and their links."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.panels import DETAILS
from attnwidget.widgets.shared.attention_widget import AttentionWidget
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.linking import FigureLink, link


class FigureSet:
    """The figures that an explorer has, by panel.

    Args:
        explorer: The explorer.
        pending: Options of figures that do not exist yet, by panel.
    """

    def __init__(self, explorer: ExplorerFigure, pending: Mapping[str, Mapping[str, Any]]) -> None:
        self._explorer = explorer
        #: Options that a figure cannot take yet, by panel.
        self.pending = {name: dict(options) for name, options in pending.items()}
        # By panel. A figure that is not linked shows an input that was shown before.
        self._links: dict[str, FigureLink] = {}

    def of_attention(self) -> list[AttentionWidget]:
        """The linked figures of the shown attention."""
        linked = [figure for name, figure in self._explorer.children.items() if name in self._links]
        return [figure for figure in linked if isinstance(figure, AttentionWidget)]

    def adopt(self, name: str, figure: HeadWidget) -> None:
        """Add a new figure: link it, and set its waiting options."""
        setattr(self._explorer, name, figure)
        self.link(name)
        self.restore(name)
        if self._explorer.is_suspended:
            figure.suspend()

    def link(self, name: str) -> None:
        """Link a figure with the explorer."""
        self._links[name] = link(self._explorer, getattr(self._explorer, name))

    def unlink(self, name: str) -> None:
        """End the link of a figure."""
        self._links.pop(name).unlink()

    def is_linked(self, name: str) -> bool:
        """Whether a figure is linked with the explorer."""
        return name in self._links

    def restore(self, name: str) -> None:
        """Set the waiting options of a figure that it can take now.

        Raises:
            ValueError: The figure has no such option.
        """
        figure = getattr(self._explorer, name)
        waiting = self.pending.get(name, {})
        last = figure.trait_names(set_last=True)
        without_metrics = name == "grid" and not figure.metrics
        needing = figure.trait_names(needs_metrics=True) if without_metrics else ()
        for option in sorted(waiting, key=last.__contains__):
            if not figure.has_trait(option):
                raise ValueError(
                    f"{type(figure).__name__} has no option {option!r}, which waits for it"
                )
            if option not in needing:
                setattr(figure, option, waiting.pop(option))

    def hand_on(self, figure: AttentionWidget) -> None:
        """Show the attention of the explorer in a figure, with the same heads switched off."""
        explorer = self._explorer
        with figure._lock, figure.together(), figure.hold_trait_notifications():
            figure.disabled = explorer.disabled
            figure.method = explorer.method
            figure.attention = explorer.attention

    def let_closed_tabs_wait(self) -> None:
        """Let figures in closed tabs answer changes later; see `answer`.

        The predictions are unlinked instead, because they ask the model.
        """
        for name, figure in self._explorer.children.items():
            if name in DETAILS and name not in (self._explorer.tab, "predictions"):
                figure.answer_when_read()

    def answer(self, name: str) -> None:
        """Let a figure answer changes that it has not answered yet, and all later changes."""
        figure: HeadWidget | None = getattr(self._explorer, name)
        if figure is not None:
            # The figure shows the reason if it has no answer.
            with self._explorer._lock, self._explorer.together(), suppress(Exception):
                figure.answer_changes()

    def give(self, name: str, value: Any) -> None:
        """Set a trait of the explorer and of its figures.

        While a figure passes its selection on, links give it no other trait back.
        """
        setattr(self._explorer, name, value)
        for figure in self.of_attention():
            if figure.takes(name):
                setattr(figure, name, figure.fitting(name, getattr(self._explorer, name)))

    def close(self) -> None:
        """End all links, and free all figures."""
        for figure_link in self._links.values():
            figure_link.unlink()
        self._links = {}
        for figure in self._explorer.children.values():
            figure.close()
