"""Several figures as one picture, with letters as papers have them."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase
from typing import Any

from attnwidget.drawing.engine import ThemeName
from attnwidget.drawing.picture import Picture, check_drawn


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
    """Join figures to one picture: `join_figures([view, view, grid]).save("figure.pdf")`.

    Each panel is laid out for its place, and text has the same size in all panels. A picture with a
    width, `view.figure(width=300)`, keeps it and the remaining panels share the rest; the panels of
    an incomplete last row share its width. The caption is that of every panel.

    Args:
        figures: Widgets, drawn in their current state, and pictures.
        columns: Number of panels per row; default 2, or 1 for a single panel.
        width: of the whole, as in `save`: pixels of an SVG, points of a PDF; without one 480 a
            column.
        theme: "light" or "dark", of all panels.
        labels: whether panels are lettered "a", "b", …
        title: whether panels have their titles; False leaves out all of them.
        caption: whether the caption is drawn under the panels, in place of their notes.

    Raises:
        TypeError: something that is neither a widget of this package nor its picture; labels, title
            or caption other than True and False.
        ValueError: no figure; more than 26 with letters; a number of columns below 1, a width that
            is not above 0, another theme.

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
    across = _checked_columns(columns, len(pictures))
    made = [
        {
            "figure": picture.figure,
            "state": picture.state,
            "width": picture.width,
            "title": title and picture.drawn_title,
            "letter": ascii_lowercase[i] if labels else "",
        }
        for i, picture in enumerate(pictures)
    ]
    rows = [made[i : i + across] for i in range(0, len(made), across)]
    return Picture("panels", {"rows": rows}, width, theme, drawn_caption=caption)


def _pictures(figures: Iterable[Any]) -> list[Picture]:
    if callable(getattr(figures, "figure", None)) or isinstance(figures, Picture):
        raise TypeError(
            f"join_figures takes a list of figures, got one {type(figures).__name__}: "
            "join_figures([view, grid])"
        )
    pictures = []
    for figure in figures:
        drawn = getattr(figure, "figure", None)
        picture = drawn() if callable(drawn) else figure
        if not isinstance(picture, Picture):
            raise TypeError(
                f"join_figures joins widgets of this package and their pictures, got "
                f"{type(figure).__name__}: charts are saved by themselves, and joined by Altair's "
                "own alt.hconcat and alt.vconcat"
            )
        pictures.append(picture)
    if not pictures:
        raise ValueError("no figure to draw: join_figures([view, grid])")
    return pictures


def _checked_columns(columns: int | None, count: int) -> int:
    if columns is None:
        return min(2, count)
    if not isinstance(columns, int) or isinstance(columns, bool) or columns < 1:
        raise ValueError(f"columns is how many panels stand in a row, 1 or more, got {columns!r}")
    return columns
