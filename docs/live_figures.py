"""Figures of pages that readers can use: the page of a widget in a frame."""

from __future__ import annotations

import html
import re
from pathlib import Path

# The width of the text on a wide screen, in CSS pixels; the controls of a figure stand above it.
_WIDTH = 800
_CONTROLS = 130
_SIZE = re.compile(r'<svg[^>]* width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')


def live_figure(place: str, alt: str, picture: Path) -> str:
    """Return a figure as HTML: one frame per theme, and the picture where no script runs.

    The frame has about the height of its figure until the figure tells its height.

    Args:
        place: Address of the figure from the page, without theme and ending.
        alt: What the figure shows, in words.
        picture: File of the picture.
    """
    found = _SIZE.search(picture.read_text("utf-8"))
    assert found is not None, picture
    scale = min(1.0, _WIDTH / float(found["width"]))
    height = round(scale * float(found["height"])) + _CONTROLS
    title = html.escape(alt)
    frames = "".join(
        f'<iframe class="only-{theme}" src="{place}-{theme}.html" title="{title}" '
        f'height="{height}" loading="lazy"></iframe>'
        for theme in ("light", "dark")
    )
    return (
        f'<div class="live-figure">{frames}'
        f'<noscript><img src="{place}-light.svg" alt="{title}"></noscript>'
        f'<p><a href="{place}-light.html">Open the figure on a page of its own</a></p></div>'
    )
