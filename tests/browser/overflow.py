"""Text and controls of a figure that stand outside of it, or are cut off within it."""

from __future__ import annotations

from playwright.sync_api import Locator

from browser.settled import settle

# What is in a box that scrolls can be reached; what is only read aloud is nowhere in sight.
_FIND = """(root) => {
  const style = (node) => getComputedStyle(node);
  const scrolls = (node) => /auto|scroll/.test(style(node).overflowX);
  const isPanel = (node) => node === root || node.matches(".attnw-ex-panel, .attnw-root");
  const found = [];
  for (const node of root.querySelectorAll("*")) {
    const texts = [...node.childNodes].filter((one) => one.nodeType === 3 && one.data.trim());
    const isControl = node.matches("button, input, select, textarea");
    if (!texts.length && !isControl) continue;
    if (node.closest(".attnw-unseen, option, svg")) continue;
    const box = node.getBoundingClientRect();
    if (!box.width || !box.height || style(node).visibility === "hidden") continue;
    const said = `${node.className || node.tagName}: ${(node.textContent || "").slice(0, 40)}`;
    let panel = node.parentElement;
    while (!isPanel(panel) && !scrolls(panel)) panel = panel.parentElement;
    const { left, right } = panel.getBoundingClientRect();
    const out = box.left < left - 1 || box.right > right + 1;
    if (out && isPanel(panel)) found.push(`outside: ${said}`);
    const { overflowX, textOverflow } = style(node);
    const cut = node.scrollWidth > node.clientWidth + 1 && /hidden|clip/.test(overflowX);
    if (cut && texts.length && textOverflow !== "ellipsis") found.push(`cut: ${said}`);
  }
  for (const panel of root.querySelectorAll(".attnw-ex-panel"))
    if (panel.scrollWidth > panel.clientWidth + 1) found.push(`wide: ${panel.dataset.panel}`);
  return found;
}"""


# What scrolls in something that scrolls, and panels that scroll at all. Long tables may.
_NESTED = """(root) => {
  const scrolls = (node) => {
    const { overflowX, overflowY } = getComputedStyle(node);
    const down = /auto|scroll/.test(overflowY) && node.scrollHeight > node.clientHeight + 1;
    const across = /auto|scroll/.test(overflowX) && node.scrollWidth > node.clientWidth + 1;
    return down || across;
  };
  const found = [];
  for (const node of root.querySelectorAll("*")) {
    if (!node.offsetParent || node.matches("textarea, .attnw-rel-box") || !scrolls(node)) continue;
    if (node.matches(".attnw-ex-panel")) found.push(`panel: ${node.dataset.panel}`);
    for (let outer = node.parentElement; outer !== root; outer = outer.parentElement)
      if (scrolls(outer)) found.push(`${node.className} in ${outer.className}`);
  }
  return found;
}"""


# The scroll bar of a box that is a few pixels too small hides more than it shows. Where a box
# scrolls down, its bar may be all that makes the content too wide.
_BARELY = """([around, most]) => {
  const scrolls = (overflow) => /auto|scroll/.test(overflow);
  const found = [];
  for (const node of [around, ...around.querySelectorAll("*")]) {
    if (!node.getClientRects().length || node.matches("textarea, svg *")) continue;
    const { overflowX, overflowY } = getComputedStyle(node);
    const across = scrolls(overflowX) ? node.scrollWidth - node.clientWidth : 0;
    const down = scrolls(overflowY) ? node.scrollHeight - node.clientHeight : 0;
    const bar = node.offsetWidth - node.clientWidth;
    const isBarely = (down > 0 && down <= most) || (across > 0 && across <= Math.max(most, bar));
    if (isBarely) found.push(`${node.className || node.tagName}: ${across} across, ${down} down`);
  }
  return found;
}"""
#: Pixels by which no box may be too small for what it scrolls.
BARELY = 4


def barely_scrolling(root: Locator) -> list[str]:
    """One line for each box that scrolls, and is only a few pixels too small."""
    settle(root)
    found: list[str] = root.page.evaluate(_BARELY, [root.element_handle(), BARELY])
    return found


def nested_scrolling(root: Locator) -> list[str]:
    """One line for each part that scrolls within another part that scrolls."""
    settle(root)
    found: list[str] = root.evaluate(_NESTED)
    return found


def overflowing(root: Locator) -> list[str]:
    """One line for each text or control that does not fit into its panel."""
    settle(root)
    found: list[str] = root.evaluate(_FIND)
    return found
