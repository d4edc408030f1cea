"""Wait until a page has drawn all that it knows of, however slow the machine is."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page

from browser.pages import PATIENCE_MS

#: A new width is noticed after one frame, and a figure inside a figure follows in another one.
QUIET_FRAMES = 4
_SETTLED = """async (frames) => {
  const roots = () => [...document.querySelectorAll(".attnw-root")];
  const boxes = () => JSON.stringify([innerWidth, innerHeight, ...roots().map((root) => {
    const { x, y, width, height } = root.getBoundingClientRect();
    return [x, y, width, height];
  })]);
  // Colors and opacities that are on their way. What turns for ever ends with its cause.
  const moves = () => document.getAnimations().some(({ effect, playState }) =>
    playState === "running" && effect?.getComputedTiming().endTime !== Infinity);
  let changed = false;
  const observer = new MutationObserver(() => { changed = true; });
  const watch = () => roots().forEach((root) => observer.observe(root,
    { attributes: true, childList: true, characterData: true, subtree: true }));
  watch();
  let before = boxes();
  for (let quiet = 0; quiet < frames; quiet++) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = boxes();
    if (changed || now !== before || moves()) quiet = -1;
    changed = false;
    before = now;
    watch();
  }
  observer.disconnect();
}"""


def settle(place: Page | Locator) -> None:
    """Wait until a page draws nothing more: some frames pass without a change of any figure.

    What a kernel still computes is not waited for.
    """
    page = place if isinstance(place, Page) else place.page
    page.evaluate(_SETTLED, QUIET_FRAMES)


def wait_until(page: Page, holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; `what` says it if it never does."""
    for _ in range(PATIENCE_MS // 100):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not {what} after {PATIENCE_MS} ms")
