"""Servers and browser start once; each test has a page and a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from zlib import crc32

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser.notebook import LiveNotebook, OpenNotebook
from browser.pages import PATIENCE_MS, Watched, chromium, launched, watched
from browser.parity import Desk
from browser.servers import Server, jupyter, marimo

_FURTHER_HOSTS = {"in_notebook7", "in_marimo"}
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in hosts beside JupyterLab are slow: each host starts a server."""
    for item in items:
        if isinstance(item, pytest.Function) and _FURTHER_HOSTS & {*item.fixturenames}:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("no Chromium: install it, or name one in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        instance = launched(playwright)
        yield instance
        instance.close()


@pytest.fixture
def seen(browser: Browser) -> Iterator[Watched]:
    """A fresh page; after the test, nothing has gone out and nothing has failed."""
    with watched(browser) as page:
        yield page
        page.assert_quiet()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory, forks: str) -> Iterator[Server]:
    """JupyterLab and Notebook 7, which are two ways to look at one server."""
    with jupyter(tmp_path_factory.mktemp("lab"), forks) as server:
        yield server


@pytest.fixture(scope="session")
def lab_page(browser: Browser, lab: Server) -> Iterator[Watched]:
    """The page in which notebooks open in JupyterLab, one after the other: loading it takes 5 s."""
    with watched(browser) as page:
        yield page


@pytest.fixture
def in_lab(
    lab: Server, lab_page: Watched, request: pytest.FixtureRequest
) -> Iterator[OpenNotebook]:
    """`in_lab(cells)` opens a notebook of these cells in JupyterLab."""
    lab_page.begin()
    failures = request.session.testsfailed
    yield from _opener(lab, "lab/tree", lab_page, request.node.name)
    if request.session.testsfailed > failures:
        lab_page.page.goto("about:blank")  # the next test is given a page that has no history
    lab_page.assert_quiet()


@pytest.fixture
def in_notebook7(
    lab: Server, seen: Watched, request: pytest.FixtureRequest
) -> Iterator[OpenNotebook]:
    """`in_notebook7(cells)` opens a notebook of these cells in Notebook 7."""
    yield from _opener(lab, "notebooks", seen, request.node.name)


def _opener(server: Server, route: str, seen: Watched, name: str) -> Iterator[OpenNotebook]:
    opened: list[LiveNotebook] = []

    def open_notebook(cells: list[str]) -> LiveNotebook:
        safe = "".join(c if c.isalnum() else "-" for c in name)
        live = LiveNotebook(seen.page, server, route, f"{safe}-{len(opened)}", cells)
        opened.append(live)
        return live

    yield open_notebook
    for live in opened:
        live.close()


@pytest.fixture(scope="session")
def screen_and_paper(browser: Browser) -> Iterator[tuple[Watched, Watched]]:
    with watched(browser, height=1600) as screen, watched(browser) as paper:
        yield screen, paper


@pytest.fixture
def desk(
    screen_and_paper: tuple[Watched, Watched], request: pytest.FixtureRequest
) -> Iterator[Desk]:
    """The pages on which figures are compared, pairwise or, for "whole", at all looks."""
    screen, paper = screen_and_paper
    for page in screen_and_paper:
        page.forget()
    turns = count(crc32(request.node.name.encode()))
    desk = Desk(
        screen.page, paper.page, whole=getattr(request, "param", "pairwise") == "whole", turns=turns
    )
    desk.lay()
    yield desk
    for page in screen_and_paper:
        page.assert_quiet()


@pytest.fixture
def in_marimo(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, forks: str
) -> Iterator[Callable[[str], Server]]:
    """`in_marimo(source)` serves a marimo app."""
    with ExitStack() as stack:
        yield lambda source: stack.enter_context(
            marimo(source, tmp_path_factory.mktemp("marimo"), forks)
        )
