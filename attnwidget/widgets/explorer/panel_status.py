"""What the page of an explorer says beside its panels: what is measured, notes, errors, offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attnwidget.capture.hub_model.advised_error import on_page
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure


class PanelStatus:
    """What the page says beside the panels, by panel. Any thread may change it."""

    def __init__(self, explorer: ExplorerFigure) -> None:
        self._explorer = explorer

    def measuring(self, shares: Mapping[str, float]) -> None:
        """Show what share of a measurement is done, 0 to 1."""
        with self._explorer._together():
            self._explorer.progress = {**self._explorer.progress, **shares}

    def measured(self, *panels: str) -> None:
        """End the measurements of panels."""
        with self._explorer._together():
            self._explorer.progress = _without(self._explorer.progress, panels)

    def waits(self, panel: str) -> bool:
        """Whether a panel is still being measured."""
        return panel in self._explorer.progress

    def failed(self, panels: Iterable[str], error: Exception) -> None:
        """End the measurements of panels with the reason."""
        waiting = [panel for panel in panels if self.waits(panel)]
        with self._explorer._together():
            for panel in waiting:
                self.problem(panel, on_page(error))
            self.measured(*waiting)

    def problem(self, panel: str, reason: str) -> None:
        """Show why a panel has no figure of the present input."""
        with self._explorer._together():
            self._explorer._problems = {**self._explorer._problems, panel: reason}

    def forget_problems(self, panels: Iterable[str]) -> None:
        """Remove the reasons of panels, which show another input."""
        with self._explorer._together():
            self._explorer._problems = _without(self._explorer._problems, panels)

    def note(self, notes: Mapping[str, str]) -> None:
        """Show a line beside the name of a panel; "" for none."""
        with self._explorer._together():
            self._explorer._notes = {**self._explorer._notes, **notes}

    def note_of(self, panel: str) -> str:
        """The line beside the name of a panel; "" for none."""
        return str(self._explorer._notes.get(panel, ""))

    def offer(self, offers: Mapping[str, str]) -> None:
        """Show a button in a panel without a figure: what it does, in a few words."""
        with self._explorer._together():
            self._explorer._offers = {**self._explorer._offers, **offers}

    def offers(self, panel: str) -> bool:
        """Whether a panel has a button."""
        return panel in self._explorer._offers

    def withdraw(self, *panels: str) -> None:
        """Remove the buttons of panels."""
        with self._explorer._together():
            self._explorer._offers = _without(self._explorer._offers, panels)


def _without(entries: Mapping[str, object], panels: Iterable[str]) -> dict[str, object]:
    gone = set(panels)
    return {panel: entry for panel, entry in entries.items() if panel not in gone}
