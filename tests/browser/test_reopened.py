"""A notebook that is reopened without its kernel, and a kernel that ends while the page is open."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from browser.figures import SETUP, GridOnPage
from browser.notebook import LiveNotebook, OpenNotebook
from browser.pages import Watched
from browser.settled import wait_until

pytestmark = pytest.mark.browser

LOST = "Not connected: run the cell again"
BAR = """
from attnwidget.corpus.progress_bar import progress_bar
with progress_bar(2, "segment") as bar:
    bar.update(2)
"""
CELLS = [
    f"{SETUP}grid = HeadGrid(attention, selected=[(3, 5)])\ngrid",
    "view = HeadView(attention, layer=0, head=0)\nlink_figures(grid, view)\nview",
]
SEVERAL = [
    f"{SETUP}view = HeadView(attention, layer=3, head=5)\ndisplay(view)\nHeadGrid(attention)",
    f"view\n{BAR}",
    "display(view)",
]


@pytest.fixture(params=["in_lab", pytest.param("in_notebook7", marks=pytest.mark.slow)])
def open_notebook(request: pytest.FixtureRequest) -> OpenNotebook:
    """`open_notebook(cells)` opens a notebook in JupyterLab, then in Notebook 7."""
    opener: OpenNotebook = request.getfixturevalue(request.param)
    return opener


@pytest.fixture
def there(open_notebook: OpenNotebook, request: pytest.FixtureRequest) -> Watched:
    """The page in which `open_notebook` opens."""
    host = request.node.callspec.params["open_notebook"]
    page: Watched = request.getfixturevalue({"in_lab": "lab_page", "in_notebook7": "seen"}[host])
    return page


def forget(seen: Watched, said: str, count: int) -> None:
    """Jupyter logs, sooner or later, that models are gone; the reader shall not see it."""
    wait_until(seen.page, lambda: len(seen.errors) >= count, f"{count} errors of Jupyter")
    assert all(said in error for error in seen.errors), seen.errors
    seen.errors.clear()


@pytest.mark.slow
def test_a_reopened_notebook_shows_pictures_and_no_error(
    open_notebook: OpenNotebook, there: Watched
) -> None:
    notebook = open_notebook(SEVERAL)
    for cell, live in enumerate((2, 0, 1)):
        notebook.run_cell(cell)
        expect(notebook.output(cell).locator(".attnw-root:visible")).to_have_count(live)
        expect(notebook.output(cell).locator("[data-kept]")).to_have_count(live)
        expect(notebook.output(cell).locator("[data-kept] img:visible")).to_have_count(0)
    notebook.reopen()
    cells = "window.jupyterapp.shell.currentWidget.content.widgets"
    assert there.page.evaluate(f"{cells}.every(cell => cell.model.trusted)")
    for cell, pictures in enumerate((2, 0, 1)):
        output = notebook.output(cell)
        expect(output.locator("[data-kept] img:visible")).to_have_count(pictures)
        expect(output.locator("figcaption:visible")).to_have_count(pictures)
        expect(output).not_to_contain_text("Loading", use_inner_text=True)
        # Nothing but pictures, captions and folded tables, however long one waits.
        there.page.wait_for_timeout(500)
        assert "rror" not in output.inner_text() and "Loading" not in output.inner_text()
    table = notebook.output(2).locator("table")
    expect(table).not_to_be_visible()
    notebook.output(2).locator("summary").click()
    expect(table).to_be_visible()
    # One of each figure.
    forget(there, "widget model not found", 3)
    # Live again, and the picture gone.
    notebook.run_cell(0)
    output = notebook.output(0)
    expect(output.locator(".attnw-root:visible")).to_have_count(2)
    expect(output.locator("[data-kept] img:visible")).to_have_count(0)
    there.errors.clear()


def linked(notebook: LiveNotebook) -> tuple[GridOnPage, list[Locator]]:
    for cell in range(2):
        notebook.run_cell(cell)
    roots = [notebook.output(cell).locator(".attnw-root") for cell in range(2)]
    for root in roots:
        expect(root).to_have_count(1)
    return GridOnPage(notebook.output(0)), roots


@pytest.mark.slow
def test_a_restarted_kernel_is_missed_and_running_again_connects(
    open_notebook: OpenNotebook, there: Watched
) -> None:
    notebook = open_notebook(CELLS)
    grid, roots = linked(notebook)
    grid.click(1, 1)
    expect(roots[1]).to_contain_text("L1 H1")
    expect(roots[0]).to_have_attribute("data-link", "live")
    notebook.restart_kernel()
    for root in roots:
        expect(root).not_to_contain_text(LOST)
    grid.click(2, 2)
    # What was linked says so too: two choices at a time would contradict each other.
    for root in roots:
        expect(root.locator(":scope > .attnw-link")).to_have_text([LOST])
        faded = root.locator(":scope > .attnw-link ~ div").element_handle()
        there.page.wait_for_function("e => Number(getComputedStyle(e).opacity) < 1", arg=faded)
    grid, roots = linked(notebook)
    grid.click(2, 2)
    expect(roots[1]).to_contain_text("L2 H2")
    for cell, root in enumerate(roots):
        expect(root).not_to_contain_text(LOST)
        pictures = notebook.output(cell).locator("[data-kept] img")
        expect(pictures).to_have_count(1)
        expect(pictures).to_be_hidden()


@pytest.mark.slow
def test_a_kernel_that_died_is_missed(in_lab: OpenNotebook, lab_page: Watched) -> None:
    notebook = in_lab(CELLS)
    grid, roots = linked(notebook)
    lab_page.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({ code: 'import os; os._exit(1)' }).done.catch(() => 0); 0"
    )
    lab_page.page.locator(".jp-Dialog button").click()
    grid.click(2, 2)
    for root in roots:
        expect(root.locator(":scope > .attnw-link")).to_have_text([LOST])
    lab_page.errors.clear()


# A call within C keeps all threads of the kernel, here until there is a file.
HOLD = """
import ctypes
def hold():
    wait = "touch '{begun}'; until [ -e '{over}' ]; do sleep 0.05; done"
    ctypes.PyDLL(None).system(wait.encode())
"""


def start(notebook: LiveNotebook, cell: int) -> None:
    """Run a cell without waiting for its end."""
    notebook.page.evaluate(
        f"window.jupyterapp.shell.currentWidget.content.activeCellIndex = {cell};"
        "window.jupyterapp.commands.execute('notebook:run-cell'); 0"
    )


def test_a_busy_kernel_is_waited_for(in_notebook7: OpenNotebook, tmp_path: Path) -> None:
    notebook = in_notebook7([*CELLS, "hold()"])
    grid, roots = linked(notebook)
    begun = tmp_path / "begun"
    over = tmp_path / "over"
    notebook.run_in_kernel(HOLD.format(begun=begun, over=over))
    start(notebook, 2)
    wait_until(notebook.page, begun.exists, "held")
    try:
        grid.click(2, 2)
        expect(roots[0].locator(":scope > .attnw-link")).to_have_text("Waiting for the kernel")
    finally:
        over.touch()
    expect(roots[1]).to_contain_text("L2 H2")
    expect(roots[0]).not_to_contain_text("kernel")


@pytest.mark.slow
def test_long_work_shows_a_notice_until_it_is_done(in_lab: OpenNotebook, tmp_path: Path) -> None:
    done = tmp_path / "done"
    notebook = in_lab(
        [
            "from attnwidget.corpus.progress_bar import said_when_slow\nimport os, time",
            "with said_when_slow('Reading the text …'):\n"
            f"    while not os.path.exists({str(done)!r}):\n"
            "        time.sleep(0.05)",
        ]
    )
    notebook.run_cell(0)
    start(notebook, 1)
    expect(notebook.output(1)).to_contain_text("Reading the text …")
    done.touch()
    expect(notebook.output(1)).not_to_contain_text("Reading")
