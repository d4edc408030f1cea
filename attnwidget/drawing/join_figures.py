"""Multi-panel pictures with panel letters, as in papers."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.picture import Picture, check_drawn
from attnwidget.hidden_frames import hides_frames


@hides_frames
def join_figures(
    figures: Iterable[Any],
    *,
    columns: int | None = None,
    width: float | None = None,
    theme: ThemeName = "light",
    labels: bool = True,
    title: bool = True,
    caption: bool = False,
) -> Picture:
    """Join figures into one picture: `join_figures([view, view, grid]).save("figure.pdf")`.

    Each panel is laid out for its own width, and text has the same size in all panels. A picture
    with a given width, `view.figure(width=300)`, keeps that width, and the other panels of the row
    share the rest. The panels of an incomplete last row share the full width. The caption combines
    the captions of all panels.

    Args:
        figures: Widgets, drawn in their current state, and pictures.
        columns: Number of panels per row; default 2, or 1 for a single panel.
        width: Width of the whole picture, in pixels for SVG and points for PDF, as in `save`;
            default 480 per column.
        theme: Theme of all panels, "light" or "dark".
        labels: Whether to letter the panels "a", "b", …
        title: Whether to draw the titles of the panels; False removes all titles.
        caption: Whether to draw the caption under the panels, in place of their notes.

    Raises:
        TypeError: If a figure is neither a widget of this package nor its picture, or if `labels`,
            `title` or `caption` is not a bool.
        ValueError: If there is no figure or there are more than 26 lettered figures, or if
            `columns`, `width` or `theme` is not an allowed value.

    Example:
        >>> from attnwidget import HeadGrid, HeadView, join_figures, load_model
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> grid, view = HeadGrid(attention), HeadView(attention, 2, 1)
        >>> figure = join_figures([view, view.figure(title=False), grid], width=480)
        >>> figure.caption.figure, figure.svg[:4]
        ('Figure of 3 panels', '<svg')
    """
    check_drawn("title", title)
    check_drawn("labels", labels)
    pictures = _pictures(figures)
    if labels and len(pictures) > len(ascii_lowercase):
        raise ValueError(f"{len(pictures)} panels are too many for letters (26): pass labels=False")
    columns_per_row = _checked_columns(columns, len(pictures))
    panels = [
        {
            "figure": picture.figure,
            "state": picture.state,
            "width": picture.width,
            "title": title and picture.drawn_title,
            "letter": ascii_lowercase[i] if labels else "",
        }
        for i, picture in enumerate(pictures)
    ]
    rows = [panels[i : i + columns_per_row] for i in range(0, len(panels), columns_per_row)]
    return Picture("panels", {"rows": rows}, width, theme, drawn_caption=caption)


def _pictures(figures: Iterable[Any]) -> list[Picture]:
    if callable(getattr(figures, "figure", None)) or isinstance(figures, Picture):
        raise TypeError(
            f"join_figures takes a list of figures, got one {type(figures).__name__}: "
            "join_figures([view, grid])"
        )
    pictures = []
    for figure in figures:
        draw = getattr(figure, "figure", None)
        picture = draw() if callable(draw) else figure
        if not isinstance(picture, Picture):
            raise TypeError(
                f"join_figures joins widgets of this package and their pictures, got "
                f"{type(figure).__name__}: save a chart by itself, chart.save(path)"
            )
        pictures.append(picture)
    if not pictures:
        raise ValueError("no figure to draw: join_figures([view, grid])")
    return pictures


def _checked_columns(columns: int | None, count: int) -> int:
    if columns is None:
        return min(2, count)
    if not isinstance(columns, int) or isinstance(columns, bool) or columns < 1:
        raise ValueError(
            f"columns must be the number of panels in a row, 1 or more, got {columns!r}"
        )
    return columns
