"""Changes that the page makes in one figure and that marimo must know of in another figure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from attnwidget import Explorer, HeadGrid, HeadView, link_figures, load_model
from attnwidget.widgets.shared.head_widget import HeadWidget
from fixtures.recording import from_page

pytestmark = pytest.mark.usefixtures("recording")


def asked(figure: HeadWidget) -> list[int]:
    """The numbers that a figure has asked its page to report."""
    contents = [data.get("content") or {} for _, data, _ in figure.comm.sent]
    return [content["changes"] for content in contents if "changes" in content]


def in_anywidget(figure: HeadWidget) -> None:
    """Mark a figure as `mo.ui.anywidget(figure)` does."""
    figure.comm.ui_element_id = "element"


@pytest.fixture
def explorer(recording: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Explorer]:
    with_figures = Explorer(text="The cat sat on the mat.", treebank=False)
    monkeypatch.setitem(sys.modules, "marimo", ModuleType("marimo"))
    yield with_figures
    with_figures.close()


def test_a_choice_in_a_figure_inside_reaches_the_cells_of_the_explorer(explorer: Explorer) -> None:
    in_anywidget(explorer)
    from_page(explorer.grid, {"selected": [[3, 5, "self"]]})
    assert asked(explorer) == [1]
    # What the page reports changes no option, so it asks for nothing.
    from_page(explorer, {"_changes_reported": 1})
    from_page(explorer.view, {"layer": 4})
    assert asked(explorer) == [1, 2]
    # An option that only the figure inside has.
    from_page(explorer.grid, {"sort": "all"})
    assert asked(explorer) == [1, 2, 3]
    assert asked(explorer.grid) == asked(explorer.view) == []


def test_marimo_knows_of_changes_in_the_figure_of_the_message(explorer: Explorer) -> None:
    in_anywidget(explorer)
    from_page(explorer, {"layer": 4})
    from_page(explorer, {"text": "The cat sat."})
    assert explorer.grid.layer == 4
    assert asked(explorer) == []


def test_a_message_that_changes_no_option_asks_for_nothing(explorer: Explorer) -> None:
    in_anywidget(explorer)
    from_page(explorer.grid, {"selected": [list(head) for head in explorer.grid.selected]})
    from_page(explorer.grid, {"_view_count": 1})
    assert asked(explorer) == []


def test_python_code_runs_no_cells(explorer: Explorer) -> None:
    in_anywidget(explorer)
    explorer.grid.selected = [(3, 5)]
    explorer.layer = 2
    assert asked(explorer) == []


def test_hosts_without_cells_that_depend_on_figures_get_no_message(explorer: Explorer) -> None:
    from_page(explorer.grid, {"selected": [[3, 5, "self"]]})
    assert asked(explorer) == []


def test_linked_figures_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = load_model().attend("The cat sat.")
    grid, view, other = HeadGrid(attention), HeadView(attention), HeadView(attention)
    monkeypatch.setitem(sys.modules, "marimo", ModuleType("marimo"))
    for figure in (grid, view, other):
        in_anywidget(figure)
    with link_figures(grid, view):
        from_page(grid, {"selected": [[3, 5, "self"]]})
    assert (asked(grid), asked(view), asked(other)) == ([], [1], [])
