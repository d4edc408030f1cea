"""Any widget as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from attnwidget.figures.export import PAGE_FORMATS, check_export
from attnwidget.figures.whole_file import write_whole
from attnwidget.widgets.heads import HeadWidget
from attnwidget.widgets.pages.contents import KINDS, Shown, contents_of, title_of
from attnwidget.widgets.pages.document import as_json, document
from attnwidget.widgets.pages.room import refuse_above

#: Panels of an Explorer that a page has another name for.
_ON_PAGE = {"head_map": "map"}


def write_page(
    widget: HeadWidget,
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
        >>> from attnwidget.widgets.pages import write_page
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> write_page(view, tempfile.mkdtemp() + "/cat.html").name
        'cat.html'
    """
    return write_shown(_shown(widget), path, title=title, limit_mb=limit_mb, theme=theme)


def write_shown(
    shown: Shown,
    path: str | Path,
    *,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: str | None = None,
) -> Path:
    """Write linked figures as one page; raises as `write_page`."""
    path = Path(path)
    check_export(path, theme=theme or "light", page=True)
    if path.suffix.lower() not in PAGE_FORMATS:
        raise ValueError(f"a page is an HTML file: name it .html, not {path.name!r}")
    data, notes = contents_of(shown, limit_mb)
    heading = title_of(shown.figures) if title is None else title
    page = document(data, heading, notes=notes, text=shown.text, theme=theme).encode("utf-8")
    sizes = {name: len(as_json(part).encode("utf-8")) for name, part in data.items()}
    refuse_above(limit_mb, sizes | {"code": len(page) - sum(sizes.values())})
    write_whole(path, page)
    return path


def _shown(widget: HeadWidget) -> Shown:
    """What a page of the widget shows: itself, or the unfolded panels of an Explorer."""
    for name, kind in KINDS.items():
        if isinstance(widget, kind):
            return Shown({name: widget})
    from attnwidget.widgets.explorer import Explorer

    if not isinstance(widget, Explorer):
        kinds = ", ".join(kind.__name__ for kind in KINDS.values())
        raise TypeError(f"a page shows {kinds} or Explorer, got {type(widget).__name__}")
    children = widget.children
    unfolded = {name: child for name, child in children.items() if name in widget.panels}
    panels = unfolded or children
    waits = [name for name in widget.progress if name in widget.panels]
    notes = ["the page has no model: another text needs a notebook"]
    if waits:
        notes.append(f"written before these were measured: {', '.join(waits)}")
    return Shown(
        {_ON_PAGE.get(name, name): child for name, child in panels.items()},
        text="\n".join(filter(None, widget._shown.values())),
        remarks={_ON_PAGE.get(n, n): said for n, said in widget._notes.items() if n in panels},
        notes=tuple(notes),
        follows=True,
    )
