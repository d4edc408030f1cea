"""Record of the cells that display figures, and suspension of figures whose cell runs again.

ipywidgets keeps every open widget in memory, because a page may show it. Without suspension, each
run of a cell that makes an explorer would add another explorer to the kernel's memory, although a
run clears the outputs of the previous run. Jupyter tells the kernel which cell a request belongs
to. After a run of a cell, the figures that only its earlier runs displayed are suspended: they
leave the page, and ipywidgets forgets them. A suspended figure without references is freed. A
figure in a variable or in the output history (`Out`) keeps its options, links and attention, and
returns to the page when a cell displays it again.

A figure stays open if it is also displayed by another cell, or part of an open widget, as in an
`HBox`. Figures in an `ipywidgets.Output`, captured figures, and figures of hosts that do not name
cells stay open too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ipywidgets import Output as OutputWidget
from ipywidgets import Widget
from ipywidgets.widgets import widget as open_widgets

from attnwidget.corpus.notebook_outputs import Output


class Figure(Protocol):
    """The part of a `HeadWidget` that this module calls."""

    def _suspend(self) -> None:
        """Leave the page, and release what was computed for it."""

    def _parts(self) -> Iterable[Figure]:
        """Return the figures inside the figure."""


@dataclass(frozen=True)
class CellRun:
    """Run of a notebook cell.

    Attributes:
        cell: Identifier of the cell.
        request: Identifier of the request that ran the cell.
    """

    cell: str
    request: str


class DisplayedFigures:
    """Cell runs whose outputs show each figure."""

    def __init__(self) -> None:
        self._runs: WeakKeyDictionary[Figure, set[CellRun]] = WeakKeyDictionary()
        # Run that made each named output.
        self._run_of_output: dict[str, CellRun] = {}
        # Figures that no cell has displayed yet.
        self._undisplayed: WeakKeyDictionary[Figure, CellRun] = WeakKeyDictionary()

    def add_made(self, figure: Figure) -> None:
        """Record that the running cell has made a figure."""
        if (run := _running_cell()) is not None:
            self._undisplayed[figure] = run

    def add(self, figure: Figure, output: Output) -> None:
        """Record that the running cell displays a figure."""
        self._undisplayed.pop(figure, None)
        run = self._run_of_output.get(output.name) if output.is_update else _running_cell()
        if run is None:
            return
        if output.name:
            self._run_of_output[output.name] = run
        self._runs.setdefault(figure, set()).add(run)

    def end_run(self, run: CellRun) -> None:
        """Suspend the figures that only earlier runs of a cell displayed."""

        def is_cleared(other: CellRun) -> bool:
            return other.cell == run.cell and other != run

        for name in [
            name for name, run_of_output in self._run_of_output.items() if is_cleared(run_of_output)
        ]:
            del self._run_of_output[name]
        replaced = [
            figure
            for figure, run_of_output in self._undisplayed.items()
            if is_cleared(run_of_output)
        ]
        for figure in replaced:
            del self._undisplayed[figure]
        for figure, runs in list(self._runs.items()):
            remaining_runs = {other for other in runs if not is_cleared(other)}
            self._runs[figure] = remaining_runs
            if not remaining_runs:
                del self._runs[figure]
                replaced.append(figure)
        if replaced:
            self._suspend(replaced, _open_holders())

    def _suspend(
        self, figures: Iterable[Figure], holders: Mapping[Figure, Sequence[Widget]]
    ) -> None:
        """Suspend the figures that no page shows, and the figures inside them."""
        for figure in figures:
            is_held = any(holder.comm is not None for holder in holders.get(figure, ()))
            if figure not in self._runs and not is_held:
                figure._suspend()
                self._suspend(figure._parts(), holders)


#: Displayed figures of this process.
displayed_figures = DisplayedFigures()


def _running_cell() -> CellRun | None:
    """Return the cell run to which this thread's outputs belong; None if it is unknown."""
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if not hasattr(shell, "get_parent") or isinstance(shell.display_pub, CapturingDisplayPublisher):
        return None
    parent: Mapping[str, Any] = shell.get_parent() or {}
    cell = parent.get("metadata", {}).get("cellId")
    if not cell:
        return None
    run = CellRun(cell, parent["header"]["msg_id"])
    if any(
        isinstance(widget, OutputWidget) and widget.msg_id == run.request
        for widget in list(open_widgets._instances.values())
    ):
        return None
    shell.events.register("post_run_cell", _end_run)
    return run


def _end_run(result: object) -> None:
    """Suspend the figures that the latest cell run replaces; IPython calls this after each cell."""
    if (run := _running_cell()) is not None:
        displayed_figures.end_run(run)


def _open_holders() -> dict[Any, list[Widget]]:
    """Return the open widgets that contain or link each widget."""
    holders: dict[Any, list[Widget]] = {}
    for widget in list(open_widgets._instances.values()):
        for name in widget.keys:
            for part in _widgets_in(widget._trait_values.get(name)):
                holders.setdefault(part, []).append(widget)
    return holders


def _widgets_in(value: Any) -> Iterator[Widget]:
    if isinstance(value, Widget):
        yield value
    elif isinstance(value, Mapping):
        yield from _widgets_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _widgets_in(part)
