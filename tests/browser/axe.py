"""What axe-core finds wrong with the widgets of a page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from browser.settled import settle

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
# axe exports itself to a module loader where it finds one; here it is wanted on the window.
INJECT = "(source) => { new Function('module', 'exports', 'define', source)(); }"
RUN = """async () => {
  const { violations } = await window.axe.run({ include: [[".attnw-root"]] });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


def complaints(page: Page) -> list[str]:
    """One line for each fault of a widget, once the page is drawn."""
    settle(page)
    if not page.evaluate("'axe' in window"):
        page.evaluate(INJECT, AXE.read_text(encoding="utf-8"))
    return list(page.evaluate(RUN))
