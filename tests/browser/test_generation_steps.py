"""The slider over generated tokens: by keyboard and mouse, live and on a saved page, axe."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from attnwidget import load_model
from attnwidget.widgets.explorer.explore import explore
from browser.axe import AXE, complaints
from browser.notebook import OpenNotebook
from browser.overflow import nested_scrolling, overflowing
from browser.pages import Watched
from browser.reader_numbers import in_per_cent
from browser.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PROMPT = "He had been with them in the night. He had been with"
LIVE = f"""
from attnwidget import HeadGrid, HeadView, link_figures, load_model
model = load_model("attnwidget/induction")
attention = model.generate({PROMPT!r}, max_new_tokens=8)
view, grid = HeadView(attention, 1, 1), HeadGrid(attention)
both = link_figures(view, grid)
first = attention.n_prompt - 1
view
"""


def slider(root: Locator) -> Locator:
    return root.get_by_role("slider", name="generated token")


def test_view_and_grid_follow_the_slider(in_lab: OpenNotebook) -> None:
    notebook = in_lab([LIVE, "grid"])
    notebook.run_all()
    root = notebook.output(0).locator(".attnw-root")
    caption = notebook.output(1).locator(".attnw-grid-caption")
    answers = root.get_by_role("list", name="the chosen token and its rivals").get_by_role(
        "listitem"
    )
    expect(root).to_contain_text("Move the slider")
    slider(root).focus()
    for _ in range(2):
        notebook.page.keyboard.press("ArrowRight")
    notebook.wait_for_value("view.tokens[0][1] - first", 1)
    expect(answers).to_have_count(5)
    expect(answers.first).to_have_text(f"in {in_per_cent(0.454)}", use_inner_text=True)
    expect(caption).to_contain_text("where “them” looks")
    settle(root)
    box = slider(root).bounding_box()
    assert box is not None
    slider(root).click(position={"x": box["width"] - 4, "y": box["height"] / 2})
    notebook.wait_for_value("grid.tokens[0][1] - first", 7)
    expect(root.locator(".attnw-steps output")).to_have_text("8 of 8")
    notebook.run_in_kernel("grid.tokens = [('query', first)]")
    expect(answers.first).to_contain_text("them")
    expect(slider(root)).to_have_value("1")
    for theme in ("dark", "light") if AXE.is_file() else ():
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []


@pytest.mark.parametrize("width", [480, 1200])
def test_a_saved_explorer_has_the_slider(seen: Watched, tmp_path: Path, width: int) -> None:
    model = load_model("attnwidget/induction")
    explorer = explore(model, PROMPT, max_new_tokens=8, treebank=False, selected=[(1, 1)])
    page = explorer.save(tmp_path / "page.html")
    explorer.close()
    seen.page.set_viewport_size({"width": width, "height": 1000})
    seen.page.goto(page.as_uri())
    root = seen.page.locator("body")
    expect(slider(root)).to_be_visible()
    settle(root)
    track, count = slider(root).bounding_box(), root.locator(".attnw-steps output").bounding_box()
    assert track is not None
    assert count is not None
    # The number of the token stands beside the slider, and not below it.
    assert count["y"] < track["y"] + track["height"]
    assert count["x"] >= track["x"] + track["width"]
    slider(root).focus()
    seen.page.keyboard.press("Home")
    expect(root.locator(".attnw-steps")).to_contain_text("Move the slider")
    for _ in range(3):
        seen.page.keyboard.press("ArrowRight")
    expect(root.locator(".attnw-answers li").first).to_contain_text("the")
    expect(root.locator("[data-caption]").filter(has_text="generated token 3 of 8")).to_have_count(
        1
    )
    for part in root.locator(".attnw-root").all():
        assert overflowing(part) == [] and nested_scrolling(part) == []
