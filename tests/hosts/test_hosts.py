"""The explorer in other hosts, each in an environment of its own: `make test-hosts`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright

from browser.figures import GridOnPage
from browser.pages import PATIENCE_MS, Watched, chromium, launched, watched
from hosts.start import CELL, SHARE, convert, started

#: The panels that open when their data has been measured, by tab.
LATER = {
    "map of heads": "head_scatter",
    "predictions": "predictions",
    "why": "why",
    "relations": "table",
    "arcs": "arcs",
}
#: Addresses that hosts ask by themselves. The figures need none of them.
OF_HOSTS = ("font-awesome", "fontawesome", "mathjax", "require.js", "html-manager")
#: Voila cannot load the extension of Notebook 7, if both are in an environment.
NOISE = "@jupyter-notebook/lab-extension"
#: Cells of a thumbnail of 17 tokens; most have a color of their own.
SIDE = 17
CELLS = [(row, column) for row in range(SIDE) for column in range(SIDE)]
#: The background of the editor in VS Code.
BACK = {"light": "#ffffff", "dark": "#1f1f1f"}
PICTURES = Path(__file__).parents[2] / "build" / "hosts"
expect.set_options(timeout=PATIENCE_MS)
ANYWIDGET = SHARE / "nbextensions" / "anywidget" / "index.js"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert chromium() is not None, "no Chromium: install it, or name one in the variable CHROMIUM"
    with sync_playwright() as playwright:
        instance = launched(playwright)
        yield instance
        instance.close()


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    with watched(browser, width=1280, height=1800) as seen:
        yield seen


def finish(seen: Watched, host: str) -> None:
    """Keep a picture of the page in build/hosts; nothing has failed, and nothing was fetched.

    The host is still there: some hosts remove widgets with errors when they end.
    """
    PICTURES.mkdir(parents=True, exist_ok=True)
    seen.page.screenshot(path=PICTURES / f"{host}.png")
    errors = [error for error in seen.errors if NOISE not in error]
    assert errors == [], f"errors in the page: {errors}"
    unknown = [url for url in seen.outside if not any(name in url for name in OF_HOSTS)]
    assert unknown == [], f"requests to other machines: {unknown}"


def serve_anywidget(page: Page) -> list[str]:
    """Answer requests for anywidget on a CDN with the installed file; return their addresses."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(path=ANYWIDGET, content_type="text/javascript", headers=headers)

    page.route(lambda url: "/anywidget@" in url, answer)
    return asked


def see_explorer(root: Locator, folder: Path, theme: str = "light") -> None:
    """Use an explorer: grid, click, theme, every panel, and the menu "save"."""
    page = root.page
    expect(root).to_be_visible()
    expect(root).to_have_attribute("data-theme", theme)
    grid = GridOnPage(root)
    colors = {tuple(color) for color in grid.pixels(3, 5, CELLS, SIDE).tolist()}
    assert len(colors) > 20
    grid.click(3, 5)
    title = root.locator(".attnw-ex-title")
    expect(title).to_contain_text("L3 H5")
    root.locator(".attnw-ex-bottom").get_by_role("button", name="more").click()
    for tab, panel in LATER.items():
        root.get_by_role("tab", name=tab).click()
        figure = root.locator(f'[data-panel="{panel}"] .attnw-root')
        expect(figure).to_be_visible()
    root.get_by_role("button", name="edit the text").press("]")
    expect(title).to_contain_text("L4 H5")
    root.get_by_role("tab", name="map of heads").click()
    see_saved_page(root, folder)
    page.evaluate("scrollTo(0, 0)")


def see_saved_page(root: Locator, folder: Path) -> None:
    """Save a figure as a page, and open the page by itself."""
    root.get_by_role("button", name="save", exact=True).first.click()
    with root.page.expect_download() as download:
        root.get_by_role("menuitem", name="page").first.click()
    path = folder / "saved.html"
    download.value.save_as(path)
    saved = root.page.context.new_page()
    saved.goto(path.as_uri())
    GridOnPage(saved.locator("body"))
    saved.close()


@pytest.mark.parametrize("host", ["panel", "shiny", "solara", "voila"])
def test_app(host: str, seen: Watched, tmp_path: Path) -> None:
    asked = serve_anywidget(seen.page)
    with started(host, tmp_path) as server:
        seen.page.goto(server.url)
        see_explorer(seen.page.locator(".attnw-ex-root"), tmp_path)
        finish(seen, host)
    # The documentation says which host asks a CDN.
    assert bool(asked) == (host == "panel"), asked


def test_streamlit(seen: Watched, tmp_path: Path) -> None:
    with started("streamlit", tmp_path) as server:
        seen.page.goto(server.url)
        frame = seen.page.frame_locator("iframe").first
        grid = frame.locator("canvas.attnw-grid")
        expect(grid).to_be_visible()
        GridOnPage(frame.locator("body")).click(3, 5)
        expect(frame.locator("body")).to_contain_text("L3 H5")
        finish(seen, "streamlit")


def test_jupyterhub(seen: Watched, tmp_path: Path) -> None:
    page = seen.page
    with started("jupyterhub", tmp_path) as server:
        page.goto(server.url)
        page.fill("input[name=username]", "reader")
        page.fill("input[name=password]", "any")
        page.click("input[type=submit], button[type=submit]")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        expect(page.get_by_text("(ipykernel) | Idle")).to_be_visible()
        page.get_by_role("button", name="Run this cell and advance").click()
        see_explorer(page.locator(".jp-OutputArea .attnw-ex-root"), tmp_path)
        finish(seen, "jupyterhub")


def test_nbconvert(seen: Watched, tmp_path: Path) -> None:
    seen.page.goto(convert(tmp_path).as_uri())
    picture = seen.page.locator(".jp-OutputArea img, .jp-OutputArea svg").first
    expect(picture).to_be_visible()
    finish(seen, "nbconvert")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_widget_manager_of_vscode(theme: str, seen: Watched, tmp_path: Path) -> None:
    page = seen.page
    with started("vscode", tmp_path) as server:
        page.goto(server.url)
        page.evaluate("theme => { document.body.className = `vscode-${theme}` }", theme)
        page.evaluate("background => { document.body.style.background = background }", BACK[theme])
        page.evaluate("code => window.run(code)", CELL)
        root = page.locator(".attnw-ex-root")
        see_explorer(root, tmp_path, theme)
        # The picture for a saved notebook is in the page, and the live view hides it.
        picture = page.locator("#outputs img")
        expect(picture).to_have_count(1)
        expect(picture).to_be_hidden()
        finish(seen, f"vscode-{theme}")


def test_jupyterlite(seen: Watched, tmp_path: Path) -> None:
    page = seen.page
    with started("lite", tmp_path) as server:
        page.goto(server.url)
        # The page calls its kernel idle before it has one.
        kernel = page.locator(".jp-Notebook-ExecutionIndicator")
        expect(kernel).not_to_have_attribute("data-status", "idle")
        expect(kernel).to_have_attribute("data-status", "idle")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        roots = page.locator(".jp-OutputArea-output .attnw-root")
        expect(roots.first).to_be_visible()
        expect(roots).to_have_count(5)
        expect(page.locator(".jp-OutputArea-output[data-mime-type*=error]")).to_have_count(0)
        expect(page.get_by_text("cannot be drawn")).to_have_count(0)
        grid, view, words = roots.nth(0), roots.nth(1), roots.nth(2)
        GridOnPage(grid).click(1, 5)
        expect(view).to_contain_text("L1 H5")
        expect(words).to_contain_text("L1 H5")
        # None reaches Python, and comes back: the figure has no metric, and no error.
        measured = roots.nth(3)
        measured.locator("[data-control=metric]").select_option(label="none")
        expect(measured).not_to_contain_text("bars: attention to [SEP]")
        expect(measured.get_by_role("alert")).to_be_hidden()
        see_saved_page(grid, tmp_path)
        finish(seen, "jupyterlite")
