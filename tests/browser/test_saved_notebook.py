"""A notebook that was run and saved, read where its kernel is not: the figure is still seen."""

from __future__ import annotations

import base64
import copy
import io
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, expect
from traitlets.config import Config

from browser.figures import SETUP
from browser.pages import Watched
from browser.servers import Server
from fixtures import forked_python

if TYPE_CHECKING:
    from nbformat import NotebookNode

pytestmark = pytest.mark.browser

VIEW = "application/vnd.jupyter.widget-view+json"
# What nbconvert's own pages ask for, whatever is in the notebook.
NBCONVERT = (
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/",
    "https://cdnjs.cloudflare.com/ajax/libs/mathjax/",
    "https://unpkg.com/@jupyter-widgets/html-manager@",
)
WITHOUT_SCRIPTS = ["text/html", "image/png", "text/plain"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory, forks: str) -> NotebookNode:
    """A grid and a view with one head selected, run by nbclient, which saves the state."""
    import nbclient  # here: it reads longer than most tests take
    import nbformat

    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(f"{SETUP}HeadGrid(attention, selected=[(3, 5)])"),
            nbformat.v4.new_code_cell("HeadView(attention, layer=3, head=5, mode='matrix')"),
            nbformat.v4.new_code_cell("HeadView(attention, layer=3, head=5).static()"),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(Path.cwd())}})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in forked_python.kernelspec(
            tmp_path_factory.mktemp("kernels"), forks
        ).items():
            patch.setenv(name, value)
        client.execute()
    return notebook


def without_state(notebook: NotebookNode) -> NotebookNode:
    without = copy.deepcopy(notebook)
    without.metadata.pop("widgets", None)
    return without


def page_of(notebook: NotebookNode, folder: Path, **config: object) -> Path:
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter(config=Config(config)).from_notebook_node(notebook)
    page = folder / "notebook.html"
    page.write_text(html, "utf-8")
    return page


def assert_shown(output: Locator, alt: str) -> None:
    """The picture is there with its pixels, its text and its table."""
    picture = output.locator("img")
    expect(picture).to_have_count(1)
    expect(picture).to_be_visible()
    expect(picture).to_have_attribute("alt", alt)
    picture.evaluate("(picture) => picture.decode()")
    # As the page shows it, not as the file has it.
    shot = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
    dark = (shot < 110).mean()
    light = (shot > 200).mean()
    assert min(shot.shape) > 100 and 0.003 < dark < 0.6 and light > 0.3, (shot.shape, dark, light)
    expect(output.locator("figcaption")).to_be_visible()
    expect(output.locator("figcaption")).to_have_text(alt)
    table = output.locator("table")
    expect(table).not_to_be_visible()
    output.locator("summary").click()
    expect(table).to_be_visible()
    assert table.locator("tbody th[scope=row]").count() >= 1
    assert output.locator("script").count() == 0


def alt_texts(notebook: NotebookNode) -> list[str]:
    return [cell.outputs[0].metadata["image/png"]["alt"] for cell in notebook.cells]


@pytest.mark.slow
def test_what_a_notebook_file_holds(executed: NotebookNode) -> None:
    for cell, head in zip(executed.cells, ("L3 H5", "L3 H5", "L3 H5"), strict=True):
        output = cell.outputs[0]
        assert head in output.metadata["image/png"]["alt"]
        with Image.open(io.BytesIO(base64.b64decode(output.data["image/png"]))) as png:
            assert png.width >= output.metadata["image/png"]["width"]
        # Twice the picture, and the table.
        assert len(output.data["image/png"]) + len(output.data["text/html"]) < 600_000
    for cell, views in zip(executed.cells, (1, 1, 0), strict=True):
        assert [VIEW in output.data for output in cell.outputs] == [False] + [True] * views


@pytest.mark.slow
def test_untrusted_in_jupyterlab(lab: Server, seen: Watched, executed: NotebookNode) -> None:
    # This server has never run it, and so does not trust it.
    file = lab.root / "from-elsewhere.ipynb"
    file.write_text(json.dumps(without_state(executed)), "utf-8")
    seen.page.goto(f"{lab.url}/lab/tree/from-elsewhere.ipynb?reset")
    cells = seen.page.locator(".jp-Notebook .jp-Cell")
    cells.first.wait_for()
    expect(cells).to_have_count(3)
    assert seen.page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.widgets.every(c => !c.model.trusted)"
    )
    for k, alt in enumerate(alt_texts(executed)):
        output = cells.nth(k).locator(".jp-OutputArea")
        assert_shown(output, alt)
    shutil.rmtree(lab.root / ".ipynb_checkpoints", ignore_errors=True)


@pytest.mark.slow
def test_nbconvert_without_state(executed: NotebookNode, seen: Watched, tmp_path: Path) -> None:
    page = page_of(without_state(executed), tmp_path)
    seen.page.goto(page.as_uri())
    outputs = seen.page.locator(".jp-OutputArea")
    for k, alt in enumerate(alt_texts(executed)):
        assert_shown(outputs.nth(k), alt)
    # nbconvert's own page asks for these scripts, which the figures do not need.
    seen.outside[:] = [url for url in seen.outside if not url.startswith(NBCONVERT)]


@pytest.mark.slow
def test_nbconvert_with_state_and_without_scripts(
    executed: NotebookNode, seen: Watched, tmp_path: Path
) -> None:
    """With the state saved nbconvert prefers the live view, whose scripts are on a CDN."""
    assert "widgets" in executed.metadata
    page = page_of(executed, tmp_path, NbConvertBase={"display_data_priority": WITHOUT_SCRIPTS})
    seen.page.goto(page.as_uri())
    outputs = seen.page.locator(".jp-OutputArea")
    for k, alt in enumerate(alt_texts(executed)):
        assert_shown(outputs.nth(k), alt)
    seen.outside[:] = [url for url in seen.outside if not url.startswith(NBCONVERT)]
