"""Texts next to the panels of an explorer: progress, notes, errors and buttons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from attnwidget.inputs.advised_error import on_page
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure

Value = TypeVar("Value")


class PanelStatus:
    """Texts next to the panels, by panel. The class is thread-safe."""

    def __init__(self, explorer: ExplorerFigure) -> None:
        self._explorer = explorer
        self._notes: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        self._offers: dict[str, str] = {}

    def measuring(self, shares: Mapping[str, float]) -> None:
        """Show the progress of measurements, 0 to 1, by panel."""
        with self._explorer._lock, self._explorer.together():
            self._explorer.progress = {**self._explorer.progress, **shares}

    def measured(self, *panels: str) -> None:
        """End the measurements of panels."""
        with self._explorer._lock, self._explorer.together():
            self._explorer.progress = _without(self._explorer.progress, panels)

    def waits(self, panel: str) -> bool:
        """Return True if a panel is still being measured."""
        return panel in self._explorer.progress

    def failed(self, panels: Iterable[str], error: Exception) -> None:
        """End the measurements of panels and show the error."""
        unfinished = [panel for panel in panels if self.waits(panel)]
        with self._explorer._lock, self._explorer.together():
            for panel in unfinished:
                self.problem(panel, on_page(error))
            self.measured(*unfinished)

    def problem(self, panel: str, reason: str) -> None:
        """Show the reason why a panel has no figure of the current input."""
        with self._explorer._lock, self._explorer.together():
            self._problems[panel] = reason
            self._explorer._show_beside_panels(problems=self._problems)

    def forget_problems(self, panels: Iterable[str]) -> None:
        """Remove the reasons of panels, for a new input."""
        with self._explorer._lock, self._explorer.together():
            self._problems = _without(self._problems, panels)
            self._explorer._show_beside_panels(problems=self._problems)

    def note(self, notes: Mapping[str, str]) -> None:
        """Show notes next to the names of panels; "" removes a note."""
        with self._explorer._lock, self._explorer.together():
            self._notes.update(notes)
            self._explorer._show_beside_panels(notes=self._notes)

    def offer(self, offers: Mapping[str, str]) -> None:
        """Show buttons with these texts in panels without a figure."""
        with self._explorer._lock, self._explorer.together():
            self._offers.update(offers)
            self._explorer._show_beside_panels(offers=self._offers)

    def offers(self, panel: str) -> bool:
        """Return True if a panel has a button."""
        return panel in self._offers

    def withdraw(self, *panels: str) -> None:
        """Remove the buttons of panels."""
        with self._explorer._lock, self._explorer.together():
            self._offers = _without(self._offers, panels)
            self._explorer._show_beside_panels(offers=self._offers)


def _without(entries: Mapping[str, Value], panels: Iterable[str]) -> dict[str, Value]:
    removed = set(panels)
    return {panel: entry for panel, entry in entries.items() if panel not in removed}
