"""axe-core finds nothing to complain about in either widget, in either theme."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.axe import AXE, complaints
from browser.figures import LINKED, SETUP, GridOnPage
from browser.notebook import OpenNotebook

pytestmark = pytest.mark.browser


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED, "grid", "view"])
    for cell in range(3):
        notebook.run_cell(cell)
    GridOnPage(notebook.output(1)).click(2, 3)
    roots = notebook.page.locator(".attnw-root")
    expect(roots.nth(1)).to_contain_text("L2 H3")
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(roots.nth(0)).to_have_attribute("data-theme", theme)
        expect(roots.nth(1)).to_have_attribute("data-theme", theme)
        for mode in ("lines", "matrix"):
            notebook.run_in_kernel(f"view.mode = {mode!r}")
            chosen = roots.nth(1).get_by_role("button", name=mode, exact=True)
            expect(chosen).to_have_attribute("aria-pressed", "true")
            assert complaints(notebook.page) == [], (theme, mode)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_labels_of_heads_have_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    labeled = (
        "import numpy as np\n"
        "from attnwidget import HeadScatter\n"
        "positions = np.random.default_rng(0).normal(size=(6, 12, 2))\n"
        "head_scatter = HeadScatter.from_positions(positions, stack='self')\n"
        "circle = link_figures(grid, view, head_scatter)\n"
        "grid.labels = {(1, 3): 'pronoun', (2, 8): 'a label that is longer than its cell'}\n"
        "grid.selected = [(2, 8), (1, 3)]"
    )
    notebook = in_lab([f"{SETUP}{LINKED}{labeled}", "grid", "view", "head_scatter"])
    notebook.run_all()
    roots = notebook.page.locator(".attnw-root")
    expect(roots).to_have_count(3)
    for root in roots.all():
        expect(root).to_contain_text("“pronoun”")
        root.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        for root in roots.all():
            expect(root).to_have_attribute("data-theme", theme)
        for arrangement in ("one", "beside", "overlay"):
            notebook.run_in_kernel(f"view.arrangement = {arrangement!r}")
            assert complaints(notebook.page) == [], (theme, arrangement)


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_predictions_have_no_violations_in_either_theme(in_lab: OpenNotebook) -> None:
    made = "from attnwidget import PredictionView\nview = PredictionView(attention)\nview"
    notebook = in_lab([f"{SETUP}\n{made}"])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    expect(root).to_contain_text("no mask token")
    assert complaints(notebook.page) == []
    notebook.run_in_kernel("view.position = 3; view.disabled = [(1, 8)]; view.wait()")
    expect(root).to_contain_text("after heads were switched off")
    root.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []


@pytest.mark.slow
def test_axe_would_complain(in_lab: OpenNotebook) -> None:
    """The check sees a fault when there is one."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: run `npm ci` in js")
    notebook = in_lab(["1"])
    notebook.output(0).evaluate(
        "(output) => output.insertAdjacentHTML('beforeend', "
        "'<p class=attnw-root><button></button></p>')"
    )
    assert any(line.startswith("button-name") for line in complaints(notebook.page))
