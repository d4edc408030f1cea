"""Write a widget as a page."""

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
    """A figure, which knows what its page holds."""

    def page_content(self) -> Page:
        """Return what a page without a kernel holds of the figure."""


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

    The page starts with the present state of the widget. It computes nothing: it chooses among the
    answers in the file, and its caption names this data. The controls of options that need other
    answers are disabled, with the reason as a hint.

    - `HeadGrid` and `HeadView` hold every map with four digits of each value. Maps over about an
      eighth of `limit_mb` are rounded to 8 bits. A `HeadView` whose maps are over the limit holds
      the shown map. A `HeadGrid` also holds its thumbnails, of every stack in tokens and in words.
    - `DependencyArcs` and `CoreferenceView` hold the shown sentence or document, and as many
      neighbors as fit into a quarter of `limit_mb` (at most 40 sentences).
    - The page of any other figure holds all data of the figure.

    Args:
        widget: Any figure of heads. The page of an Explorer has the layout and all figures of the
            Explorer.
        path: The file. It is replaced at once, or not at all.
        title: The heading. By default the name of the figure and of the model.
        limit_mb: The largest size of the file, in megabytes (10^6 bytes).
        theme: "light" or "dark"; None follows the system of the reader.

    Raises:
        ValueError: The page would be larger than `limit_mb`, the suffix is not .html, or the theme
            is unknown.
        FileNotFoundError: The folder does not exist.
        TypeError: The widget is no figure of heads.

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
    """Return the data that a page of a widget needs.

    Raises:
        TypeError: The widget is no figure of the package.
    """
    # A class has the method too, but is no figure.
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
    """Write linked figures as one page; raises as `write_page`."""
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
    """What the first figure shows, and the model's name."""
    models = [str(part.state.get("_source", {}).get("model", "")) for part in parts.values()]
    title = next(iter(parts.values())).title
    name = next(filter(None, models), "")
    return f"{title} · {name}" if name else title
