"""What an answer needs: the strip of all heads under the answers, and the bars at the words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from attnwidget import PredictionView, explore, load_model
from browser.axe import AXE, complaints
from browser.figures import GridOnPage
from browser.notebook import LiveNotebook
from browser.overflow import overflowing
from browser.pages import Watched, watched
from browser.servers import Server
from browser.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TEXT = "The captain told his men that he would not leave the ship."
HE, CAPTAIN = 7, 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an explorer with the kept word "he" and the effects of all heads."""
    explorer = explore(text=TEXT, treebank=False)
    explorer.wait()
    path = explorer.save(tmp_path_factory.mktemp("strip") / "explorer.html")
    explorer.close()
    return Path(path)


@pytest.fixture(scope="module")
def changes() -> dict[str, float]:
    """The change of "he" without each head."""
    view = PredictionView(load_model().attend(TEXT), position=HE)
    view.wait()
    assert view.effects is not None
    found = {
        f"L{layer} H{head}": float(view.effects[layer, head])
        for layer in range(6)
        for head in range(12)
    }
    view.close()
    return found


@pytest.fixture
def root(saved: Path, seen: Watched) -> Iterator[Locator]:
    seen.page.set_viewport_size({"width": 1100, "height": 900})
    seen.page.goto(saved.as_uri())
    shown = seen.page.locator(".attnw-ex-root")
    GridOnPage(shown)
    yield shown
    seen.assert_quiet()


def strip(root: Locator) -> Locator:
    return root.get_by_role("slider")


def middle(root: Locator, layer: int, head: int) -> dict[str, float]:
    """The middle of a head's bar, of 6 layers with 12 heads and 4 pixels between layers."""
    box = strip(root).bounding_box()
    assert box is not None
    pitch = (box["width"] - 5 * 4) / 72
    return {"x": (12 * layer + head + 0.5) * pitch + 4 * layer, "y": box["height"] / 2}


def test_pointing_shows_a_head_with_its_sentence_and_a_click_selects_it(
    root: Locator, changes: dict[str, float]
) -> None:
    worst = min(changes, key=lambda name: changes[name])
    layer, head = (int(part[1:]) for part in worst.split())
    line = root.locator(".attnw-ex-look")
    title = root.locator(".attnw-ex-right h4")
    expect(title).to_contain_text("L1 H3")
    strip(root).hover(position=middle(root, layer, head))
    expect(line).to_contain_text(f"In {worst}")
    expect(line).to_contain_text("Without this head: he 36")
    expect(title).to_contain_text(worst)
    expect(strip(root)).to_have_attribute(
        "aria-valuetext", f"{worst} off: he 73\u00a0% → {100 * (0.726 + changes[worst]):.0f}\u00a0%"
    )
    root.page.mouse.move(5, 5)
    expect(line).to_contain_text("In L1 H3")
    strip(root).click(position=middle(root, layer, head))
    root.page.mouse.move(5, 5)
    expect(title).to_contain_text(worst)
    expect(line).to_contain_text(f"In {worst}")


def test_the_keyboard_reaches_every_head_and_the_pair_hides_the_strip(root: Locator) -> None:
    title = root.locator(".attnw-ex-right h4")
    keyboard = root.page.keyboard
    strip(root).focus()
    keyboard.press("ArrowRight")
    keyboard.press("PageUp")
    expect(title).to_contain_text("L2 H4")
    keyboard.press("Enter")
    strip(root).blur()
    expect(title).to_contain_text("L2 H4")
    words = root.get_by_role("toolbar").get_by_role("button")
    words.nth(CAPTAIN).click()
    expect(strip(root)).to_have_count(0)
    words.nth(CAPTAIN).press("Escape")
    expect(strip(root)).to_be_visible()


def test_nothing_moves_while_another_word_is_pointed_at(root: Locator) -> None:
    bottom = root.locator(".attnw-ex-bottom")
    before = bottom.bounding_box()
    root.get_by_role("toolbar").get_by_role("button").nth(4).hover()
    expect(root.locator(".attnw-ex-guess")).to_contain_text("Click the word")
    settle(root)
    assert bottom.bounding_box() == before


def test_it_fits_and_has_no_faults_in_both_themes_and_forced_colors(root: Locator) -> None:
    for scheme in ("light", "dark"):
        root.page.emulate_media(color_scheme=scheme)
        expect(root).to_have_attribute("data-theme", scheme)
        for width in (395, 480, 750, 1100):
            root.page.set_viewport_size({"width": width, "height": 900})
            settle(root)
            assert overflowing(root) == [], (scheme, width)
            box, outer = strip(root).bounding_box(), root.bounding_box()
            assert box is not None and outer is not None
            assert box["x"] + box["width"] <= outer["x"] + outer["width"], (scheme, width)
        assert not AXE.is_file() or complaints(root.page) == []
    root.page.emulate_media(color_scheme="light", forced_colors="active")
    settle(root)
    expect(strip(root)).to_be_visible()
    root.page.emulate_media(forced_colors="none")


def test_a_finger_selects_a_bar(browser: Browser, saved: Path) -> None:
    with watched(browser, width=1100, height=900, touch=True) as seen:
        seen.page.goto(saved.as_uri())
        root = seen.page.locator(".attnw-ex-root")
        GridOnPage(root)
        strip(root).tap(position=middle(root, 2, 11))
        expect(root.locator(".attnw-ex-right h4")).to_contain_text("L2 H11")
        seen.assert_quiet()


CELL = f"""
from attnwidget import explore
explorer = explore(text={TEXT!r}, treebank=False)
explorer
"""


def test_words_that_the_answer_needs_come_and_go_by_key_and_by_click(
    browser: Browser, lab: Server
) -> None:
    with watched(browser, width=1440, height=900) as seen:
        notebook = LiveNotebook(seen.page, lab, "lab/tree", "words-needed", [CELL])
        notebook.run_cell(0)
        root = notebook.output(0).locator(".attnw-ex-root")
        line = root.locator(".attnw-ex-look")
        toggle = root.get_by_role("button", name="words it needs")
        words = root.get_by_role("toolbar").get_by_role("button")
        expect(toggle).to_have_attribute("aria-pressed", "false")
        words.nth(HE).focus()
        root.page.keyboard.press("n")
        expect(toggle).to_have_attribute("aria-pressed", "true")
        expect(line).to_contain_text("Up: where “he”, masked, looks, mean of all 72 heads")
        expect(line).to_contain_text("most without “that” (−33 points)")
        expect(strip(root)).to_have_count(0)
        numbers = root.locator(".attnw-ex-arcs text")
        assert "−33" in numbers.all_inner_texts() + numbers.all_text_contents()
        assert overflowing(root) == []
        assert not AXE.is_file() or complaints(root.page) == []
        # The bars stay while the pointer passes over other words.
        words.nth(4).hover()
        settle(root)
        expect(line).to_contain_text("Up: where “he”")
        # A click on a word asks about the pair, and Escape ends the bars first.
        words.nth(CAPTAIN).click()
        notebook.wait_for_value("explorer.tokens", [("query", HE), ("key", CAPTAIN)])
        expect(line).to_contain_text("“he” gives “captain”")
        toggle.click()
        notebook.wait_for_value("explorer.tokens", [("query", HE)])
        expect(line).to_contain_text("Up: where “he”")
        words.nth(HE).press("Escape")
        expect(line).to_contain_text("In L1 H3")
        notebook.wait_for_value("explorer.tokens", [("query", HE)])
        notebook.wait_for_value("explorer.predictions._needs_asked", False)
        seen.assert_quiet()
        notebook.close()
