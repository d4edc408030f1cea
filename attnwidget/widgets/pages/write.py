"""Any widget as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from attnwidget.drawing.picture import PAGE_FORMATS, check_file, check_theme
from attnwidget.text.whole_file import write_whole
from attnwidget.widgets.pages.document import document
from attnwidget.widgets.pages.page_data import page_data
from attnwidget.widgets.pages.part import Page, Part
from attnwidget.widgets.pages.size_limit import Sized, refuse_above
from attnwidget.widgets.shared.registry import page_of


def write_page(
    widget: object,
    path: str | Path,
    *,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: Literal["light", "dark"] | None = None,
) -> Path:
    """Write a widget as one interactive HTML file that needs no kernel; returns its path.

    The page starts with what the widget shows now. What a kernel would compute it answers from what
    it holds, and its caption says how much that is: every map of `HeadGrid` and `HeadView` (rounded
    to 8 bits; a `HeadView` whose maps are over the limit keeps the shown one), the sentence of
    `DependencyArcs` and the document of `CoreferenceView` with as many neighbours as fit into a
    quarter of `limit_mb` (of sentences 40 at most), all of the others.

    Args:
        widget: any figure of heads; of an Explorer all of its figures, linked.
        path: the file; it is replaced at once, or not at all.
        title: the heading, by default what is shown and the model's name.
        limit_mb: the most that the file may have, in megabytes (10^6 bytes).
        theme: "light" or "dark"; None follows the reader's own.

    Raises:
        ValueError: the page would be larger than `limit_mb`, another suffix, or no such theme.
        FileNotFoundError: the folder does not exist.
        TypeError: another kind of widget.

    Example:
        >>> import tempfile
        >>> from attnwidget import HeadView, load_model
        >>> from attnwidget.widgets.pages.write import write_page
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> write_page(view, tempfile.mkdtemp() + "/cat.html").name
        'cat.html'
    """
    return write_linked(page_of(widget), path, title=title, limit_mb=limit_mb, theme=theme)


def write_linked(
    page: Page,
    path: str | Path,
    *,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: str | None = None,
) -> Path:
    """Write linked figures as one page; raises as `write_page`."""
    path = Path(path)
    check_theme(theme or "light")
    check_file(path, page=True)
    if path.suffix.lower() not in PAGE_FORMATS:
        raise ValueError(f"a page is an HTML file: name it .html, not {path.name!r}")
    found = page_data(page.parts, limit_mb)
    heading = _title_of(page.parts) if title is None else title
    notes = [*found.notes, *page.notes]
    text = document(found.data, heading, notes=notes, text=page.text, theme=theme).encode("utf-8")
    rest = len(text) - sum(thing.size for thing in found.sizes)
    refuse_above(limit_mb, [*found.sizes, Sized("the figures' own code", rest)])
    write_whole(path, text)
    return path


def _title_of(parts: Mapping[str, Part]) -> str:
    """What the first figure shows, and the model's name."""
    models = [str(part.state.get("_source", {}).get("model", "")) for part in parts.values()]
    title = next(iter(parts.values())).title
    name = next(filter(None, models), "")
    return f"{title} · {name}" if name else title
