"""The built site, opened from its folder: nothing is fetched, nothing cut off, axe is content."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.axe import AXE, INJECT
from browser.pages import Watched
from browser.settled import wait_until

SITE = Path(__file__).parents[2] / "build" / "docs"
PAGES = [
    "index.html",
    "tutorials/02_what_does_bert_look_at.html",
    "how-to/export-a-figure.html",
    "analyses/distances.html",
    "reference/HeadView.html",
]
# Styles are in the page already; fetching them again is not allowed in pages from a folder.
RUN = """async () => {
  const { violations, incomplete } = await window.axe.run(document, { preload: false });
  // axe leaves it to people whether text in the color of its background is hidden on purpose.
  const unread = incomplete.map((found) => ({
    ...found,
    nodes: found.nodes.filter(({ any }) => any.some((at) => at.data?.messageKey === "equalRatio")),
  }));
  return [...violations, ...unread].flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html}`));
}"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SITE / "index.html").is_file(), reason="the site is not built: run `make docs`"
    ),
]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: run `npm ci` in js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1360])
def test_no_violations_and_nothing_wider_than_the_window(
    seen: Watched, width: int, scheme: str
) -> None:
    page = seen.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for name in PAGES:
        page.goto((SITE / name).as_uri())
        expect(page.locator("h1")).to_be_visible()
        # Attributes of Markdown that were not understood would be read as text.
        expect(page.locator("article p").filter(has_text="{ .")).to_have_count(0)
        page.evaluate(INJECT, AXE.read_text(encoding="utf-8"))
        assert page.evaluate(RUN) == [], name
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_is_live_in_the_theme_of_the_site(seen: Watched, theme: str) -> None:
    page = seen.page
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto((SITE / "how-to" / "compare-heads.html").as_uri())
    frame = page.locator(".live-figure > iframe:visible")
    expect(frame).to_have_count(1)
    expect(frame).to_have_class(f"only-{theme}")
    frame.scroll_into_view_if_needed()
    figure = page.frame_locator(".live-figure > iframe:visible")
    figure.get_by_text("Point at a token").wait_for()
    expect(figure.locator("main > header")).to_be_hidden()
    # The frame is as high as the figure, so that nothing scrolls in it.
    high = "(main) => String(Math.ceil(main.getBoundingClientRect().height))"
    wait_until(
        page,
        lambda: frame.get_attribute("height") == figure.locator("main").evaluate(high),
        "as high as the figure",
    )


def test_every_picture_of_the_analyses_is_there(seen: Watched) -> None:
    pages = sorted((SITE / "analyses").glob("*.html"))
    assert len(pages) >= 15
    for path in pages:
        seen.page.goto(path.as_uri())
        broken = seen.page.evaluate(
            """async () => {
              const pictures = [...document.querySelectorAll("article img")];
              for (const picture of pictures) picture.loading = "eager";
              await Promise.allSettled(pictures.map((picture) => picture.decode()));
              return pictures.filter((p) => !p.naturalWidth || !p.alt).map((p) => p.src);
            }"""
        )
        assert broken == [], path.name


def test_search_works_without_a_server(seen: Watched) -> None:
    page = seen.page
    page.set_viewport_size({"width": 1360, "height": 900})
    page.goto((SITE / "index.html").as_uri())
    page.locator(".md-search__input").fill("coreference")
    found = page.locator(".md-search-result__item a[href*=coreference]")
    expect(found.first).to_be_visible()
