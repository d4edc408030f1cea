"""What stays of a figure whose cell runs again: with Python's references to it, and without."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances as open_widgets
from traitlets.config import Config

from attnwidget import Attention, AttentionModel, HeadGrid, options
from fixtures.recording import from_page, on_page, updates

pytestmark = pytest.mark.usefixtures("recording")

RUNS = 50
VIEW = "application/vnd.jupyter.widget-view+json"


class Publisher(DisplayPublisher):
    """A publisher that keeps the outputs of the cell that runs."""

    def publish(self, data: Any, metadata: Any = None, **how: Any) -> None:  # type: ignore[override]
        self.__dict__.setdefault("outputs", []).append(data)


class Notebook:
    """Cells that run as in a host that tells the kernel which cell a request belongs to."""

    def __init__(self, shell: InteractiveShell, **names: Any) -> None:
        self._shell = shell
        self._n_requests = 0
        self.parent: dict[str, Any] = {}
        shell.user_ns.update(names)

    @property
    def names(self) -> dict[str, Any]:
        return self._shell.user_ns

    def run(self, cell: str | None, code: str) -> list[Any]:
        """Run a cell, and return its outputs; None is a cell of a host that names none."""
        self._n_requests += 1
        metadata = {} if cell is None else {"cellId": cell}
        header = {"msg_id": str(self._n_requests)}
        self.parent = {"header": header, "metadata": metadata}
        outputs: list[Any] = []
        self._shell.display_pub.outputs = outputs
        ran = self._shell.run_cell(code, store_history=True)
        ran.raise_error()
        return outputs


@pytest.fixture(scope="module")
def attention() -> Attention:
    """Given maps, which need no model."""
    weights = np.random.default_rng(0).dirichlet(np.ones(6), size=(3, 4, 6))
    return Attention.from_weights(weights, list("abcdef"))


@pytest.fixture(autouse=True)
def no_pictures() -> Iterator[None]:
    options.static_fallback = False
    yield
    options.static_fallback = True


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, attention: Attention) -> Iterator[Notebook]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    monkeypatch.setattr(shell, "display_pub", Publisher(shell=shell))
    notebook = Notebook(shell, attention=attention)
    monkeypatch.setattr(shell, "get_parent", lambda: notebook.parent, raising=False)
    notebook.run(None, "import ipywidgets\nfrom attnwidget import *")
    yield notebook
    InteractiveShell.clear_instance()


def live_grids() -> list[HeadGrid]:
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is HeadGrid]


@pytest.mark.parametrize(
    ("code", "n_held"),
    [
        ("HeadGrid(attention)", RUNS),
        ("grid = HeadGrid(attention)\ngrid", RUNS),
        ("display(HeadGrid(attention))", 1),
        ("display(HeadGrid(attention), display_id='grid')", 1),
        ("grid = HeadGrid(attention)\ndisplay(grid)", 1),
        ("grid = HeadGrid(attention)", 1),
    ],
)
def test_a_cell_that_runs_again_leaves_one_figure_open(
    notebook: Notebook, code: str, n_held: int
) -> None:
    """The history of outputs refers to every last line; all other figures are freed."""
    before = len(open_widgets), len(live_grids())
    n_connected = sum(grid.comm is not None for grid in live_grids())
    for _ in range(RUNS):
        notebook.run("cell", code)
    assert len(open_widgets) - before[0] == 2, "a figure and its layout"
    assert len(live_grids()) - before[1] == n_held
    assert sum(grid.comm is not None for grid in live_grids()) - n_connected == 1


def test_a_suspended_figure_releases_what_was_computed_for_the_page(notebook: Notebook) -> None:
    notebook.run("cell", "grid = HeadGrid(attention)\nold = grid\ngrid")
    old = notebook.names["old"]
    sizes = [len(repr(old._trait_values.get(name))) for name in old._plan.order]
    notebook.run("cell", "grid = HeadGrid(attention)\ngrid")
    assert old._is_suspended and old.comm is None
    assert sum(sizes) > 1000 and not set(old._plan.order) & set(old._trait_values)


def test_a_suspended_figure_answers_in_python(notebook: Notebook) -> None:
    notebook.run(
        "cell", "old, view = HeadGrid(attention), HeadView(attention)\nlink_figures(old, view)\nold"
    )
    old = notebook.names["old"]
    view = notebook.names["view"]
    notebook.run("other", "view")
    notebook.run("cell", "HeadGrid(attention)")
    assert old._is_suspended and not view._is_suspended
    old.selected = [(2, 1)]
    assert view.selected == old.selected and old.layer == 2
    view.selected = [(1, 3)]
    assert old.selected == view.selected
    assert on_page(old, "stacks") == on_page(HeadGrid(old.attention), "stacks")
    assert old._is_suspended


@pytest.mark.parametrize("again", ["old", "display(old)", "ipywidgets.HBox([old])"])
def test_a_suspended_figure_returns_when_it_is_displayed(notebook: Notebook, again: str) -> None:
    notebook.run("cell", "old = HeadGrid(attention, selected=[(2, 1)], scale='sqrt')\nold")
    old = notebook.names["old"]
    shown = old.get_state()
    notebook.run("cell", "HeadGrid(attention)")
    old.layer = 1
    notebook.run("another", again)
    assert not old._is_suspended and open_widgets[old.model_id] is old
    (opened,) = (data for kind, data, _ in old.comm.sent if kind == "comm_open")
    assert opened["state"]["selected"] == [(1, 1, "self")] and opened["state"]["scale"] == "sqrt"
    assert opened["state"].keys() == shown.keys()
    # It answers its page.
    from_page(old, {"selected": [[0, 2, "self"]]})
    assert old.layer == 0 and updates(old)


def test_a_suspended_figure_can_be_saved_and_closed(notebook: Notebook) -> None:
    notebook.run("cell", "old = HeadGrid(attention)\nold")
    old = notebook.names["old"]
    caption = old.caption
    notebook.run("cell", "HeadGrid(attention)")
    assert old._is_suspended and old.caption == caption
    notebook.run("cell", "old")
    notebook.run("cell", "HeadGrid(attention)")
    assert old._is_suspended
    old.close()
    assert not old._is_suspended and old.comm is None
    assert notebook.run("another", "display(old)") == [{"text/plain": repr(old)}]


STAYS = {
    "displayed again": ("fig", "fig"),
    "displayed by another cell": ("fig", "None"),
    "in a box": ("fig", "None"),
    "in an output": ("with out: display(fig)", "with out: display(HeadGrid(attention))"),
    "of a host that names no cells": ("fig", "HeadGrid(attention)"),
    "with a link of the page": ("fig", "None"),
}


@pytest.mark.parametrize("why", STAYS)
def test_a_figure_that_a_page_still_shows_stays(notebook: Notebook, why: str) -> None:
    first, second = STAYS[why]
    cell = None if "names no cells" in why else "cell"
    notebook.run("made", "fig = HeadGrid(attention)\nout = ipywidgets.Output()\nout")
    # An Output knows its cell by the request, as in a kernel.
    notebook.names["out"].msg_id = ""
    if why == "in an output":
        notebook.names["out"].msg_id = "3"
    notebook.run(cell, first)
    notebook.names["out"].msg_id = ""
    further = {
        "displayed by another cell": "fig",
        "in a box": "box = ipywidgets.VBox([ipywidgets.HBox([fig])])\nbox",
        "with a link of the page": "slider = ipywidgets.IntSlider()\n"
        "ipywidgets.jslink((fig, 'layer'), (slider, 'value'))",
    }
    if why in further:
        notebook.run("further", further[why])
    figure = notebook.names["fig"]
    notebook.run(cell, second)
    assert not figure._is_suspended and figure.comm is not None
    if why == "displayed by another cell":
        notebook.run("further", "None")
        assert figure._is_suspended
    if why == "in a box":
        notebook.names["box"].children[0].close()
        notebook.run("cell", "fig")
        notebook.run("cell", "None")
        assert figure._is_suspended


def test_a_figure_that_an_update_replaces_leaves_with_its_cell(notebook: Notebook) -> None:
    """Jupyter hides an output if a figure that it showed before is closed."""
    notebook.run("cell", "old = HeadGrid(attention)\nhandle = display(old, display_id=True)")
    notebook.run("other", "new = HeadGrid(attention)\nhandle.update(new)")
    notebook.run("other", "newer = HeadGrid(attention)\nhandle.update(newer)")
    names = notebook.names
    assert [names[name]._is_suspended for name in ("old", "new", "newer")] == [False] * 3
    notebook.run("cell", "None")
    assert [names[name]._is_suspended for name in ("old", "new", "newer")] == [True] * 3


def test_the_figures_of_a_suspended_explorer_are_suspended(
    notebook: Notebook, model: AttentionModel
) -> None:
    notebook.names["model"] = model
    before = len(open_widgets)
    code = "explorer = explore(model, 'The cat sat.', treebank=False)\nexplorer"
    notebook.run("cell", code)
    old = notebook.names["explorer"]
    notebook.run("grid", "explorer.grid")
    notebook.run("cell", code)
    assert old._is_suspended and old.view._is_suspended and not old.grid._is_suspended
    # A suspended explorer is used as any other, and its new figures do not open.
    old.text = "The cat sat on the mat."
    assert len(old.view.attention.tokens) == 9 and old.wait(60)
    assert old.why._is_suspended and old.head_scatter._is_suspended
    notebook.run("grid", "None")
    assert old.grid._is_suspended
    opened = len(open_widgets) - before
    notebook.run("again", "old = Out[2]\nold")
    assert notebook.names["old"] is old
    assert not any(figure._is_suspended for figure in (old, *old.children.values()))
    assert len(open_widgets) - before == opened + 2 * (1 + len(old.children))
    assert on_page(old, "shown")["text"] == "The cat sat on the mat."
    notebook.run("again", "None")
    assert len(open_widgets) - before == opened
    old.close()


def test_a_figure_whose_cell_runs_again_computes_no_further(
    notebook: Notebook, model: AttentionModel
) -> None:
    notebook.names["model"] = model
    notebook.run("cell", "explorer = explore(model, 'The cat sat.', treebank=False)\nexplorer")
    old = notebook.names["explorer"]
    reached = threading.Event()
    go_on = threading.Event()
    steps = []

    def job() -> Iterator[None]:
        for step in range(3):
            steps.append(step)
            reached.set()
            assert go_on.wait(60)
            yield None

    old._background.add("card", job())
    old._background.start()
    assert reached.wait(60)
    notebook.run("cell", "None")
    go_on.set()
    old._background._thread.join(60)
    assert steps == [0]
    notebook.run("again", "explorer")
    assert old.wait(60) and steps == [0, 1, 2] and old.head_scatter is not None
    old.close()


EXPLORER = (
    "explorer = explore(model, 'The captain told his men a story.', treebank=False)\n"
    "explorer.wait()\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(("last", "most_objects"), [("explorer", 4000), ("display(explorer)", 50)])
def test_the_memory_of_an_explorer_whose_cell_runs_fifty_times(
    notebook: Notebook, model: AttentionModel, last: str, most_objects: int
) -> None:
    """The history of outputs refers to suspended explorers, which have their attention."""
    notebook.names["model"] = model

    def run(count: int) -> tuple[int, int, float]:
        for _ in range(count):
            notebook.run("cell", EXPLORER + last)
        gc.collect()
        resident = psutil.Process().memory_info().rss / 1e6
        return len(open_widgets), len(gc.get_objects()), resident

    n_open, n_objects, resident = run(5)
    n_open_later, n_objects_later, resident_later = run(RUNS - 5)
    assert n_open_later == n_open and threading.active_count() < 20
    per_run = (n_objects_later - n_objects) / (RUNS - 5)
    assert per_run < most_objects, "objects that stay of each run"
    assert (resident_later - resident) / (RUNS - 5) < 15, "megabytes of the process"
