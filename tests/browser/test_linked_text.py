"""Links of a text select heads: on a page without a kernel, and in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from attnwidget import LinkedText, load_model, save_page
from browser.axe import AXE, complaints
from browser.notebook import OpenNotebook
from browser.pages import Watched

pytestmark = pytest.mark.browser

TEXT = "The captain told his men that he would not leave the ship."
LINKS = "[he looks at captain](L1 H3: he -> captain). [Before](L0 H2)."


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
def test_a_link_on_a_page_changes_the_linked_figures(seen: Watched, tmp_path: Path) -> None:
    attention = load_model().attend(TEXT)
    text = LinkedText(attention, LINKS)
    path = save_page(attention, tmp_path / "page.html", linked_text=text, theme="dark")
    seen.page.goto(path.as_uri())
    view = seen.page.locator("section[data-figure=head_view]")
    links = seen.page.locator(".attnw-text-body button")
    expect(links).to_have_count(2)
    first, second = links.all()
    second.click()
    expect(view.locator(".attnw-title")).to_contain_text("L0 H2")
    first.press("Enter")
    expect(view.locator(".attnw-title")).to_contain_text("L1 H3")
    expect(first).to_have_attribute("aria-pressed", "true")
    expect(second).to_have_attribute("aria-pressed", "false")
    assert complaints(seen.page) == []


@pytest.mark.slow
def test_a_link_in_a_notebook_is_known_to_python(in_lab: OpenNotebook) -> None:
    made = (
        "from attnwidget import HeadView, LinkedText, link, load_model\n"
        f"attention = load_model().attend({TEXT!r})\n"
        f"text, view = LinkedText(attention, {LINKS!r}), HeadView(attention)\n"
        "both = link(text, view)\ntext"
    )
    notebook = in_lab([made])
    notebook.run_cell(0)
    notebook.output(0).get_by_role("button", name="he looks at captain").click()
    notebook.wait_for_value("[tuple(head)[:2] for head in view.selected]", [(1, 3)])
    notebook.wait_for_value("view.tokens", [("query", 7), ("key", 2)])
