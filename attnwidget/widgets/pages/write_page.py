"""Writing of widgets as HTML pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from attnwidget.drawing.picture import PAGE_FORMATS, check_file, check_theme
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.atomic_file import write_whole
from attnwidget.widgets.pages.page_data import page_data
from attnwidget.widgets.pages.page_document import document
from attnwidget.widgets.pages.page_part import Page, Part
from attnwidget.widgets.pages.size_limit import ContentSize, refuse_above


@runtime_checkable
class HasPage(Protocol):
    """Figure that can be saved as a page."""

    def page_content(self) -> Page:
        """Return the content of a saved page with the figure."""


@hides_frames
def write_page(
    widget: object,
    path: str | Path,
    *,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: Literal["light", "dark"] | None = None,
) -> Path:
    """Write a widget as one interactive HTML file without a kernel, and return its path.

    The page opens in the current state of the widget. It computes nothing: it chooses among the
    answers in the file, and its caption lists them. Controls of options that need other answers are
    disabled, with the reason as a hint.

    - `HeadGrid` and `HeadView` contain the maps of all heads, with four digits per value. Maps
      above about an eighth of `limit_mb` are rounded to 8 bits. If the maps exceed the limit, a
      `HeadView` contains only the current map. A `HeadGrid` also contains its thumbnails, for every
      stack in tokens and in words.
    - `DependencyArcs` and `CoreferenceView` contain the current sentence or document, and as many
      neighbors as fit into a quarter of `limit_mb` (at most 40 sentences).
    - The page of any other figure contains all its data.

    Args:
        widget: Any figure of heads. The page of an Explorer has the layout and all figures of the
            Explorer.
        path: File path. An existing file is replaced atomically.
        title: Page title; default: the names of the figure and the model.
        limit_mb: Maximum size of the file in megabytes (10^6 bytes).
        theme: "light" or "dark"; None = the theme of the reader's system.

    Raises:
        ValueError: If the page would exceed `limit_mb`, the suffix is not .html, or the theme is
            unknown.
        FileNotFoundError: If the folder does not exist.
        TypeError: If the widget is not a figure of heads.

    Example:
        >>> import tempfile
        >>> from attnwidget import HeadView, load_model
        >>> from attnwidget.widgets.pages.write_page import write_page
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> write_page(view, tempfile.mkdtemp() + "/cat.html").name
        'cat.html'
    """
    return write_linked(page_of(widget), path, title=title, limit_mb=limit_mb, theme=theme)


def page_of(widget: object) -> Page:
    """Return the content of a widget's page.

    Args:
        widget: Figure of the package.

    Raises:
        TypeError: If the widget is not a figure of the package.
    """
    # A class has the method too, but is not a figure.
    if isinstance(widget, type) or not isinstance(widget, HasPage):
        raise TypeError(
            "a page shows a figure of heads, such as a HeadGrid or a HeadView; got "
            f"{type(widget).__name__}"
        )
    return widget.page_content()


def write_linked(
    page: Page,
    path: str | Path,
    *,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: str | None = None,
) -> Path:
    """Write linked figures as one page and return its path.

    Args:
        page: Figures of the page.
        path: File path.
        title: Page title; default: the names of the first figure and the model.
        limit_mb: Maximum size of the file in megabytes (10^6 bytes).
        theme: "light" or "dark"; None = the theme of the reader's system.

    Raises:
        ValueError: If the page would exceed `limit_mb`, the suffix is not .html, or the theme is
            unknown.
        FileNotFoundError: If the folder does not exist.
    """
    path = Path(path)
    check_theme(theme or "light")
    check_file(path, page=True)
    if path.suffix.lower() not in PAGE_FORMATS:
        raise ValueError(f"a page is an HTML file: name it .html, not {path.name!r}")
    data = page_data(page.parts, limit_mb)
    heading = _title_of(page.parts) if title is None else title
    notes = [*data.notes, *page.notes]
    text = document(data.data, heading, notes=notes, text=page.text, theme=theme).encode("utf-8")
    rest = len(text) - sum(thing.size for thing in data.sizes)
    refuse_above(limit_mb, [*data.sizes, ContentSize("the figures' own code", rest)])
    write_whole(path, text)
    return path


def _title_of(parts: Mapping[str, Part]) -> str:
    """Return the first figure's title with the model name."""
    models = [str(part.state.get("_source", {}).get("model", "")) for part in parts.values()]
    title = next(iter(parts.values())).title
    name = next(filter(None, models), "")
    return f"{title} · {name}" if name else title
