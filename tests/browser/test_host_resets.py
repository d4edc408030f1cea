"""Figures in hosts whose style sheets reset pictures to blocks, as Tailwind does in marimo."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator

from browser.pages import Watched
from browser.settled import settle
from browser.test_scroll_bars import FIGURES, saved

pytestmark = pytest.mark.browser

#: The rule of Tailwind, which is stronger here: marimo puts the rule into a layer.
RESET = "img, svg, video, canvas { display: block; vertical-align: middle; }"
BOXES = """(root) => [...root.querySelectorAll("*")].map((node) => {
  const { x, y, width, height } = node.getBoundingClientRect();
  const box = [x, y, width, height].map((pixels) => Math.round(10 * pixels) / 10);
  return `${node.tagName} ${node.getAttribute("class") ?? ""}: ${box}`;
})"""


def boxes(root: Locator) -> list[str]:
    settle(root)
    found: list[str] = root.evaluate(BOXES)
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_a_reset_of_the_host_moves_nothing(name: str, seen: Watched, tmp_path: Path) -> None:
    seen.page.goto(saved(name, tmp_path))
    root = seen.page.locator(".attnw-root").first
    before = boxes(root)
    seen.page.add_style_tag(content=RESET)
    after = boxes(root)
    assert len(before) == len(after)
    moved = [f"{was} -> {now}" for was, now in zip(before, after, strict=True) if was != now]
    assert moved == []
