"""A HeadView of a long input in Chromium: zooming by mouse and keys, locks that are scrolled to."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from attnwidget import Attention, HeadGrid, HeadView
from attnwidget.widgets.pages.write_page import write_page
from browser.pages import PATIENCE_MS, watched
from browser.reader_numbers import in_per_cent
from browser.settled import settle

pytestmark = pytest.mark.browser
IN_SIGHT = re.compile(r"queries (\d+) to (\d+) and keys (\d+) to (\d+) of 300 in sight")


@pytest.fixture(scope="module")
def attention() -> Attention:
    weights = np.random.default_rng(0).dirichlet(np.full(300, 0.1), size=(1, 1, 300))
    return Attention.from_weights(weights.astype(np.float32), [f"t{i}" for i in range(300)])


def in_sight(page: Page) -> tuple[int, ...]:
    """First and last query and key that the caption names, where it names none all."""
    found = IN_SIGHT.search(page.locator(".attnw-caption").text_content() or "")
    return tuple(map(int, found.groups())) if found else (0, 299, 0, 299)


def seen(page: Page, holds: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...]:
    """What is in sight, once it is as it should be."""
    for _ in range(PATIENCE_MS // 50):
        if holds(now := in_sight(page)):
            return now
        page.wait_for_timeout(50)
    raise AssertionError(f"in sight are {in_sight(page)}")


@pytest.mark.slow
def test_a_matrix_is_zoomed_by_mouse_and_keys(
    browser: Browser, attention: Attention, tmp_path: Path
) -> None:
    path = write_page(HeadView(attention, 0, 0), tmp_path / "page.html")
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        canvas = page.locator("canvas.attnw-matrix")
        expect(canvas).to_be_visible()
        settle(page)
        box = canvas.bounding_box()
        layout = canvas.evaluate("canvas => JSON.parse(canvas.dataset.layout)")
        assert box is not None
        left = box["x"] + layout["x0"]
        top = box["y"] + layout["y0"]
        cell = layout["cellWidth"]
        frame = page.locator(".attnw-matrix-figure .attnw-zoom-frame")
        page.mouse.move(left + 100.5 * cell, top + 150.5 * cell)
        page.keyboard.down("Shift")
        page.mouse.down()
        page.mouse.move(left + 130.5 * cell, top + 170.5 * cell, steps=4)
        expect(frame).to_be_visible()
        page.mouse.up()
        page.keyboard.up("Shift")
        now = seen(page, lambda at: at[1] - at[0] < 60)
        assert now[0] <= 150 and now[1] >= 170 and now[2] <= 100 and now[3] >= 130
        expect(page.locator(".attnw-strongest:visible")).to_have_count(0)
        # Nothing beside the matrix has moved.
        settle(page)
        assert canvas.bounding_box() == box

        page.mouse.wheel(0, -240)
        settle(page)
        assert in_sight(page) == now, "a wheel alone scrolls the page"
        page.keyboard.down("Control")
        page.mouse.wheel(0, -120)
        page.keyboard.up("Control")
        nearer = seen(page, lambda at: at[1] - at[0] < now[1] - now[0])

        page.locator(".attnw-matrix-figure").focus()
        page.keyboard.press("Home")
        seen(page, lambda at: at[0] == 0 and at[1] == nearer[1] - nearer[0])
        page.keyboard.press("-")
        seen(page, lambda at: at[1] - at[0] > nearer[1] - nearer[0])
        page.keyboard.press("0")
        seen(page, lambda at: at == (0, 299, 0, 299))
        page.keyboard.press("+")
        seen(page, lambda at: at[1] < 299)
        page.mouse.dblclick(left + 40, top + 40)
        seen(page, lambda at: at == (0, 299, 0, 299))
        expect(page.locator(".attnw-strongest:visible")).to_have_count(0)
        there.assert_quiet()


def test_a_lock_is_in_sight_and_its_strongest_are_gone_to(
    browser: Browser, attention: Attention, tmp_path: Path
) -> None:
    view = HeadView(attention, 0, 0, mode="lines", tokens=[("query", 200)])
    path = write_page(view, tmp_path / "page.html")
    strongest = np.argsort(-attention.weights(0, 0)[200])[:8]
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        expect(page.locator(".attnw-caption")).to_contain_text("tokens 179 to 221 of 300 in sight")
        names = page.locator(".attnw-strongest-go span:first-child")
        expect(names).to_have_text([f"t{i}" for i in strongest])
        names.first.click()
        expect(page.locator("[aria-live]")).to_contain_text(f"t{strongest[0]} ←")
        settle(page)
        found = re.search(
            r"tokens (\d+) to (\d+) of", page.locator(".attnw-caption").text_content() or ""
        )
        assert found and int(found[1]) <= strongest[0] <= int(found[2])
        there.assert_quiet()


RANGE = re.compile(r"color scale, 0 to ([\d.]+\s%), (this head|in sight)")


def color_range(page: Page) -> tuple[str, str]:
    """What the caption says of the colors: whose range, and its end."""
    found = RANGE.search(page.locator(".attnw-caption").text_content() or "")
    assert found
    return found[2], found[1]


@pytest.mark.slow
def test_colors_are_of_what_is_in_sight_and_stay_while_a_hand_moves_the_map(
    browser: Browser, attention: Attention, tmp_path: Path
) -> None:
    weights = attention.weights(0, 0)
    view = HeadView(attention, 0, 0, window=(100, 140, 100, 140), scale="sqrt")
    path = write_page(view, tmp_path / "page.html")
    with watched(browser) as there:
        page = there.page
        page.goto(path.as_uri())
        canvas = page.locator("canvas.attnw-matrix")
        expect(canvas).to_be_visible()
        settle(page)
        bar = page.locator(".attnw-legend:visible")

        def assert_range(of: str, shown: np.ndarray) -> None:
            assert color_range(page) == (of, in_per_cent(shown.max()))
            expect(bar).to_contain_text(of)

        assert_range("in sight", weights[100:140, 100:140])
        box = canvas.bounding_box()
        assert box
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        before = color_range(page)
        legend = bar.text_content()
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] - 60, middle[1] - 60, steps=4)
        settle(page)
        assert bar.text_content() == legend and color_range(page) == before
        page.mouse.up()
        # The caption names the new part before the hand lets go; the colors follow it after that.
        settle(page)
        q0, q1, k0, k1 = seen(page, lambda now: now[:2] != (100, 139))
        assert_range("in sight", weights[q0 : q1 + 1, k0 : k1 + 1])
        page.get_by_role("button", name="zoom out to all").click()
        seen(page, lambda now: now == (0, 299, 0, 299))
        assert_range("this head", weights)


def test_special_tokens_that_take_much_are_shown_and_hidden_in_one_click(
    browser: Browser, tmp_path: Path
) -> None:
    row = [0.5, *[0.2 / 18] * 18, 0.3]
    weights = np.full((1, 1, 20, 20), row, np.float32)
    tokens = ["[CLS]", *(f"w{i}" for i in range(18)), "[SEP]"]
    attention = Attention.from_weights(weights, tokens)
    rests = "80\xa0% of the attention of all heads rests on [CLS] and [SEP]"
    with watched(browser) as there:
        page = there.page
        offer = page.locator(".attnw-offer")
        boxes = [page.get_by_role("checkbox", name=name) for name in ("[CLS]", "[SEP]")]
        page.goto(write_page(HeadView(attention, 0, 0), tmp_path / "view.html").as_uri())
        for said, checked in (
            (f"{rests}, which are hidden: show them", True),
            (f"{rests}: hide them", False),
            (f"{rests}, which are hidden: show them", True),
        ):
            expect(offer).to_have_text(said)
            for box in boxes:
                expect(box).to_be_checked(checked=checked)
            offer.get_by_role("button").click()
        # The page of a grid has the thumbnails of the tokens that were hidden, and no others.
        page.goto(write_page(HeadGrid(attention), tmp_path / "grid.html").as_uri())
        expect(offer).to_have_text(f"{rests}, which are hidden.")
        for box in boxes:
            expect(box).to_be_checked()
            expect(box).to_be_disabled()
