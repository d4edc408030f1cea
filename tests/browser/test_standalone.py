"""The page that save_page writes: opened from the disk, with no server and no network."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from attnwidget import Attention, load_model, save_page
from browser.figures import GridOnPage, color_scale, inked
from browser.pages import Watched
from browser.reader_numbers import in_per_cent

pytestmark = pytest.mark.browser

TEXT = "The captain told his men that he would not leave the ship."


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model().attend(TEXT)


@pytest.mark.slow
def test_draws_selects_and_follows(attention: Attention, seen: Watched, tmp_path: Path) -> None:
    page = save_page(attention, tmp_path / "attention.html")
    seen.page.context.set_offline(True)
    seen.page.goto(page.as_uri())
    grid = GridOnPage(seen.page.locator("body"))
    values = inked(attention)
    for layer, head in [(1, 3), (3, 5), (5, 11)]:
        grid.assert_drawn(layer, head, values[layer, head].tolist(), "light")
    view = seen.page.locator(".attnw-root", has_not=seen.page.locator("canvas.attnw-grid"))
    expect(view).to_contain_text("L0 H0")
    grid.click(3, 5)
    expect(view).to_contain_text("L3 H5")
    seen.page.keyboard.press("]")
    expect(view).to_contain_text("L4 H5")


@pytest.mark.slow
def test_a_long_text_is_pooled_as_in_the_kernel(seen: Watched, tmp_path: Path) -> None:
    # Cells of 64 to an axis share their border rows at 100 tokens.
    weights = np.random.default_rng(5).dirichlet(np.full(100, 0.05), size=(2, 3, 100))
    long = Attention.from_weights(weights.astype("f4"), [f"t{i}" for i in range(100)])
    seen.page.goto(save_page(long, tmp_path / "long.html").as_uri())
    grid = GridOnPage(seen.page.locator("body"))
    for layer, head in [(0, 1), (1, 2)]:
        values = inked(long)[layer, head].tolist()
        grid.assert_drawn(layer, head, values, "light")


@pytest.mark.slow
def test_none_is_drawn_where_every_token_is_hidden(seen: Watched, tmp_path: Path) -> None:
    every = Attention.from_weights(np.full((1, 2, 2, 2), 0.5, "f4"), ["[CLS]", "[SEP]"])
    page = save_page(every, tmp_path / "none.html", hidden=["cls"])
    seen.page.goto(page.as_uri())
    body = seen.page.locator("body")
    cells = [(0, 0)]
    shades = color_scale("light")
    assert (
        GridOnPage(body).pixels(0, 1, cells, 1)[0] == shades[inked(every, ["cls"])[0, 1, 0, 0]]
    ).all()
    page = save_page(every, tmp_path / "none.html", hidden=["cls", "sep"])
    seen.page.goto(page.as_uri())
    expect(body.locator(".attnw-grid-caption")).to_contain_text("[CLS], [SEP] hidden")
    expect(body.locator(".attnw-grid-caption")).to_contain_text("Every token is hidden")
    # What is drawn in place of a map has none of its colors.
    assert not (GridOnPage(body).pixels(0, 1, cells, 1)[0] == shades).all(-1).any()


@pytest.mark.slow
def test_follows_the_reader_s_dark_theme(
    attention: Attention, seen: Watched, tmp_path: Path
) -> None:
    page = save_page(attention, tmp_path / "attention.html")
    seen.page.emulate_media(color_scheme="dark")
    seen.page.goto(page.as_uri())
    grid = GridOnPage(seen.page.locator("body"))
    expect(seen.page.locator(".attnw-root").first).to_have_attribute("data-theme", "dark")
    values = inked(attention)[3, 5].tolist()
    grid.assert_drawn(3, 5, values, "dark")


def test_its_weights_are_those_of_the_kernel(
    attention: Attention, seen: Watched, tmp_path: Path
) -> None:
    page = save_page(attention, tmp_path / "attention.html")
    seen.page.goto(page.as_uri())
    view = seen.page.locator(".attnw-root", has_not=seen.page.locator("canvas.attnw-grid"))
    largest = attention.weights()[0, 0, 1:-1, 1:-1].max()
    figure = view.locator(".attnw-lines-figure")
    expect(figure).to_have_attribute("aria-label", re.compile(re.escape(in_per_cent(largest))))
    expect(view).not_to_contain_text("rounded")
    figure.focus()
    # Readers see punctuation in quotes.
    words = [token if token.isalnum() else f"“{token}”" for token in attention.tokens]
    for query in range(1, len(words) - 1):
        row = attention.weights()[0, 0, query]
        keys = sorted(range(1, len(words) - 1), key=lambda key: -row[key])[:3]
        shares = [f"{words[key]} {in_per_cent(row[key])}" for key in keys]
        figure.press("ArrowDown" if query > 1 else "Home")
        said = f"{words[query]} → {' · '.join(shares)}"
        expect(view.locator(".attnw-readout")).to_have_text(said)


def test_refuses_a_page_over_the_limit(attention: Attention, tmp_path: Path) -> None:
    maps = np.ones((1, 1, 8, 8), dtype=np.float32) / 8
    small = Attention.from_weights(maps, [f"t{i}" for i in range(8)])
    with pytest.raises(ValueError, match="limit_mb"):
        save_page(small, tmp_path / "large.html", limit_mb=1e-6)
    assert not (tmp_path / "large.html").exists()
