"""AtlasView live in JupyterLab, and the page of an atlas that opens from a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from attnwidget.demo import demo_atlas
from browser.axe import AXE, complaints
from browser.figures import SETUP
from browser.notebook import OpenNotebook
from browser.overflow import overflowing
from browser.pages import watched

pytestmark = pytest.mark.browser

LINKED = """
from attnwidget import AtlasView, link_figures
from attnwidget.demo import demo_atlas
view, grid = AtlasView(demo_atlas()), HeadGrid(attention)
both = link_figures(view, grid)
view
"""


def row(root: Locator, head: str) -> Locator:
    return root.get_by_role("table", name="heads").get_by_role("button", name=head, exact=True)


@pytest.mark.slow
def test_a_head_is_searched_and_chosen_and_its_card_follows_linked_figures(
    in_lab: OpenNotebook,
) -> None:
    notebook = in_lab([SETUP + LINKED])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    card = root.get_by_role("region", name="card of the head")
    expect(card).to_contain_text("L0 H2 · previous token")
    root.get_by_role("searchbox").fill("determiner")
    expect(root).to_contain_text("search: “determiner”")
    expect(row(root, "L0 H2")).to_have_count(0)
    row(root, "L2 H8").click()
    expect(card).to_contain_text("L2 H8 · determiner to its noun")
    expect(card.get_by_role("table", name="effect on the loss")).to_contain_text("elsewhere")
    notebook.wait_for_value("grid.head[:2]", (2, 8))
    notebook.run_in_kernel("grid.selected = [(1, 4)]")
    expect(card).to_contain_text("preposition to its noun")


@pytest.mark.slow
def test_an_example_opens_in_linked_figures_by_click_and_by_key(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    row(root, "L2 H8").click()
    examples = root.locator(".attnw-atlas-examples").get_by_role("button")
    expect(examples.first).to_have_attribute("aria-pressed", "false")
    examples.nth(1).click()
    notebook.wait_for_value("view.example", 1)
    same = "grid.attention.stacks['self'].query.ids == view.example_link.tokens.ids"
    notebook.wait_for_value(same, True)
    locked = "dict(grid.tokens) == dict(query=view.example_link.query, key=view.example_link.key)"
    notebook.wait_for_value(locked, True)
    expect(examples.nth(1)).to_have_attribute("aria-pressed", "true")
    examples.nth(2).focus()
    notebook.page.keyboard.press("Enter")
    notebook.wait_for_value("view.example", 2)
    notebook.wait_for_value(same, True)
    row(root, "L0 H2").click()
    notebook.wait_for_value("view.example", None)
    root.get_by_role("textbox", name="note").fill("the clearest head")
    row(root, "L2 H8").click()
    notebook.wait_for_value("view.atlas.notes.get((0, 2, 'self'))", "the clearest head")
    expect(root.get_by_role("textbox", name="note")).to_have_value("")
    notebook.run_in_kernel("view.notes[(2, 8)] = 'determiners'")
    expect(root.get_by_role("textbox", name="note")).to_have_value("determiners")


EXPLORED = """
from attnwidget import explore
from attnwidget.demo import demo_atlas
text = "The captain told his men that he would not leave."
explorer = explore(text=text, atlas=demo_atlas(), selected=[(2, 8)], treebank=False)
explorer
"""


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_the_explorer_has_the_card_of_the_shown_head(in_lab: OpenNotebook) -> None:
    notebook = in_lab([EXPLORED])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-ex-root")
    # The strongest link of the head is between other words, of which its name says nothing.
    expect(root).to_contain_text("In L2 H8, “not” looks at “leave”")
    notebook.run_in_kernel("explorer.tokens = [('query', 1)]")
    expect(root).to_contain_text("In L2 H8 (determiner to its noun), “The”")
    root.get_by_role("button", name="more").click()
    root.get_by_role("tab", name="this head").click()
    card = root.get_by_role("region", name="card of the head")
    expect(card).to_contain_text("L2 H8 · determiner to its noun")
    expect(root.get_by_role("table", name="heads")).to_have_count(0)
    in_text = card.get_by_role("list", name="in this text")
    expect(in_text).to_contain_text("the → captain")
    notebook.run_in_kernel("explorer.selected = [(0, 2)]")
    expect(card).to_contain_text("L0 H2 · previous token")
    expect(in_text).to_contain_text("captain → the")
    notebook.run_in_kernel("explorer.text = 'The nurse said that she was late.'")
    expect(in_text).to_contain_text("nurse → the")
    card.locator(".attnw-atlas-examples").get_by_role("button").first.click()
    notebook.wait_for_value("explorer.card.example", 0)
    notebook.wait_for_value(
        "explorer.attention.stacks['self'].query.ids == explorer.card.example_link.tokens.ids", True
    )
    expect(root.get_by_role("textbox").first).not_to_have_value(re.compile("captain"))
    assert complaints(notebook.page) == []


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_the_keyboard_alone_and_axe_in_both_themes(in_lab: OpenNotebook) -> None:
    notebook = in_lab([SETUP + LINKED])
    notebook.run_cell(0)
    root = notebook.output(0).locator(".attnw-root")
    row(root, "L0 H2").focus()
    notebook.page.keyboard.press("ArrowDown")
    expect(row(root, "L2 H8")).to_be_focused()
    notebook.page.keyboard.press("Enter")
    notebook.wait_for_value("view.head[:2]", (2, 8))
    notebook.page.keyboard.press("[")
    notebook.wait_for_value("view.head[:2]", (1, 8))
    notebook.page.keyboard.press("Escape")
    notebook.wait_for_value("view.head[:2]", (2, 8))
    root.get_by_role("button", name="all 39").click()
    notebook.wait_for_value("view.all_scores", True)
    root.get_by_role("combobox", name="examples").select_option("missed")
    notebook.wait_for_value("view.examples", "missed")
    root.get_by_role("button", name="show the keys").click()
    for theme in ("dark", "light"):
        notebook.use_theme(theme)
        expect(root).to_have_attribute("data-theme", theme)
        assert complaints(notebook.page) == []
    assert overflowing(root) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    demo_atlas().save(path)
    return Path(path).as_uri()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that is offline; nothing may go wrong on it."""
    with watched(browser) as seen:
        seen.page.context.set_offline(True)
        yield seen.page
        seen.assert_quiet()


@pytest.mark.slow
def test_a_saved_atlas_searches_sorts_and_opens_the_card_of_its_anchor(
    page: Page, saved: str
) -> None:
    page.goto(f"{saved}#L1H3")
    root = page.locator(".attnw-root")
    card = root.get_by_role("region", name="card of the head")
    expect(card).to_contain_text("L1 H3 · pronoun to its person")
    row(root, "L2 H8").click()
    expect(card).to_contain_text("determiner to its noun")
    expect(page).to_have_url(f"{saved}#L2H8")
    expect(card.get_by_role("link", name=re.compile("L2 H8"))).to_have_attribute("href", "#L2H8")
    example = card.locator(".attnw-atlas-examples").get_by_role("button").first
    example.click()
    expect(example).to_have_attribute("aria-pressed", "true")
    root.get_by_role("button", name="head", exact=True).click()
    first = root.get_by_role("table", name="heads").locator("tbody th").first
    expect(first).to_have_text("L0 H0")
    root.get_by_role("searchbox").fill("primary")
    expect(root).to_contain_text(re.compile(r"\d of 72 heads · search: “primary”"))
    page.evaluate("location.hash = '#L0H2'")
    expect(card).to_contain_text("previous token")
    expect(row(root, "L0 H2")).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_atlas_fits_all_widths(page: Page, saved: str, theme: str) -> None:
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(f"{saved}#L2H8")
    root = page.locator(".attnw-root")
    expect(root).to_have_attribute("data-theme", theme)
    for width in (480, 900, 1200, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        expect(root.locator(".attnw-atlas-examples canvas").first).to_be_visible()
        assert overflowing(root) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints(page) == [], width
