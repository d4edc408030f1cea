"""A Chromium page that can reach nothing but our own servers, and remembers what went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Error,
    Page,
    Playwright,
    Route,
)

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The shell's letters would stand elsewhere than those of a browser with windows.
    "--font-render-hinting=none",
]
#: Milliseconds that a page may take: a busy machine makes every page slow.
PATIENCE_MS = 240_000
WIDTH = 1200
HEIGHT = 1400
# What the hosts themselves say in the console; none of it comes from a widget.
HOST_NOISE = (
    "favicon",
    "Failed to load resource: the server responded with a status of 404",
    "net::ERR_FAILED",
)


@cache
def chromium() -> str | None:
    """The Chromium to drive, or None."""
    finder = Path(__file__).with_name("find_chromium.sh")
    run = subprocess.run(["bash", finder], capture_output=True, text=True)
    return run.stdout.strip() or None


def launched(playwright: Playwright) -> Browser:
    """Start Chromium with scroll bars that take room, as on Linux and Windows.

    Playwright hides the scroll bars of headless browsers, and with them boxes that are a pixel too
    small.
    """
    return playwright.chromium.launch(
        executable_path=chromium(), args=_FLAGS, ignore_default_args=["--hide-scrollbars"]
    )


@dataclass
class Watched:
    """A page, and all that happened on it which should not have."""

    page: Page
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Make the page as a fresh one, for the next test."""
        self.forget()
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        self.page.emulate_media(color_scheme="light", forced_colors="none", reduced_motion="null")

    def forget(self) -> None:
        """What happened before is no fault of what comes."""
        for heard in (self.outside, self.errors, self.dialogs):
            heard.clear()

    def assert_quiet(self) -> None:
        """No request left the machine, no error was raised or logged, no dialog opened."""
        assert self.outside == [], f"requests to other machines: {self.outside}"
        assert self.errors == [], f"errors in the page: {self.errors}"
        assert self.dialogs == [], f"dialogs: {self.dialogs}"


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"data", "blob", "file", "about"} or parts.hostname == "127.0.0.1"


@contextmanager
def watched(
    browser: Browser,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    touch: bool = False,
    density: float = 1.0,
) -> Iterator[Watched]:
    """A fresh page in a context of its own, on a screen for fingers if asked for.

    `density` is the number of device pixels of a pixel: the zoom of the browser.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=touch, device_scale_factor=density
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    seen = Watched(page)

    def gate(route: Route) -> None:
        if _is_local(route.request.url):
            route.continue_()
        else:
            seen.outside.append(route.request.url)
            route.abort()

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not any(noise in message.text for noise in HOST_NOISE):
            seen.errors.append(message.text)

    def raised(error: Error) -> None:
        # Notebook 7 trips over a setting of its own while it loads, and JupyterLab over a kernel
        # that ends before its subshell has started. The code of a widget is a blob.
        stack = error.stack or ""
        from_host = "/static/notebook/" in stack or "create_subshell_request" in str(error)
        if not from_host or "blob:" in stack:
            seen.errors.append(f"{error}\n{stack}")

    def asked(dialog: Dialog) -> None:
        # Leaving a notebook with unsaved cells asks too: that one is the host's.
        if dialog.type != "beforeunload":
            seen.dialogs.append(dialog.message)
        dialog.accept()

    context.route("**/*", gate)
    page.on("pageerror", raised)
    page.on("console", heard)
    page.on("dialog", asked)
    try:
        yield seen
    finally:
        context.close()
