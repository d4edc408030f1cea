"""The slider of HeadGrid over a training: live in JupyterLab, and on a saved page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from attnwidget import HeadGrid, load_model
from attnwidget.demo import induction_checkpoints
from attnwidget.metrics import measure_checkpoints
from browser.axe import AXE, complaints
from browser.notebook import OpenNotebook
from browser.overflow import overflowing
from browser.pages import watched

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STEPS = """
from attnwidget import HeadGrid, load_model
from attnwidget.demo import induction_checkpoints
from attnwidget.metrics import measure_checkpoints
training = measure_checkpoints(induction_checkpoints()[::5], n_sequences=1, progress=False)
attention = load_model("attnwidget/induction").attend("the cat sat. the cat sat.")
grid = HeadGrid(attention, metrics=training, metric="induction (random tokens)")
grid
"""


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_slider_and_keys_choose_the_checkpoint(in_lab: OpenNotebook) -> None:
    notebook = in_lab([STEPS])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    slider = root.get_by_role("slider", name="checkpoint")
    expect(slider).to_have_attribute("aria-valuetext", "3000")
    expect(root.locator("[data-caption]")).to_contain_text("checkpoint 3000 (0 to 3000)")
    slider.press("Home")
    notebook.wait_for_value("grid.step", "0")
    expect(root.locator("[data-caption]")).to_contain_text("checkpoint 0 (0 to 3000)")
    root.get_by_role("grid").press(".")
    notebook.wait_for_value("grid.step", "600")
    expect(slider).to_have_attribute("aria-valuetext", "600")
    notebook.run_in_kernel("grid.step = None")
    expect(slider).to_have_attribute("aria-valuetext", "3000")
    assert complaints(notebook.page) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    training = measure_checkpoints(induction_checkpoints()[::5], n_sequences=1, progress=False)
    attention = load_model("attnwidget/induction").attend("the cat sat. the cat sat.")
    grid = HeadGrid(attention, metrics=training, metric="induction (random tokens)", step="600")
    path = tmp_path_factory.mktemp("training") / "grid.html"
    grid.save(path)
    return Path(path).as_uri()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that is offline; nothing may go wrong on it."""
    with watched(browser) as seen:
        seen.page.context.set_offline(True)
        yield seen.page
        seen.assert_quiet()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_page_has_all_checkpoints(page: Page, saved: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(saved)
    root = page.locator(".attnw-root")
    slider = root.get_by_role("slider", name="checkpoint")
    expect(slider).to_have_attribute("aria-valuetext", "600")
    slider.press("End")
    expect(root.locator("[data-caption]")).to_contain_text("checkpoint 3000 (0 to 3000)")
    for width in (480, 900, 1200, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        expect(slider).to_be_visible()
        assert overflowing(root) == [], width
