"""Saved page with the figures of one attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.widgets.head_grid import HeadGrid, ThumbnailOptions
from attnwidget.widgets.head_view.widget import HeadView, MapOptions
from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.page_part import Page
from attnwidget.widgets.pages.size_limit import ContentSize, refuse_above
from attnwidget.widgets.pages.write_page import write_linked
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.option_text import takes_options_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from attnwidget.widgets.coreference_view.widget import CoreferenceView
    from attnwidget.widgets.dependency_arcs.sentence_arcs import SentenceArcs
    from attnwidget.widgets.head_scatter import HeadScatter
    from attnwidget.widgets.relation_table import RelationTable


class PageOptions(ThumbnailOptions, MapOptions, total=False):
    """Options of a page: those of its grid and its view."""

    layer: int
    highlight: str | Sequence[str]


@takes_options_of(HeadView, HeadGrid)
@in_plain_torch
def save_page(
    attention: Attention,
    path: str | Path,
    *,
    selected: Iterable[Head | tuple[int, int] | tuple[int, int, str]] | None = None,
    metrics: object = None,
    head_scatter: HeadScatter | None = None,
    relations: RelationTable | None = None,
    arcs: SentenceArcs | None = None,
    coreference: CoreferenceView | None = None,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: Literal["light", "dark"] | None = None,
    **traits: Unpack[PageOptions],
) -> Path:
    """Write an interactive page with `HeadGrid` and `HeadView` for one input, and return its path.

    The page contains the maps of all heads for the current quantity, between tokens and between
    words, with four digits per value. The maps take 2 x n_layers x n_heads x (tokens^2 + words^2)
    bytes, plus a third for the encoding as text. Maps above about an eighth of `limit_mb` take half
    as much: they are rounded to 8 bits of the square root of their share of the head's maximum, and
    the page says so. The thumbnails of the grid take at most 5.5 kB per head and unit.

    Args:
        attention: Attention of one input.
        path: File path.
        selected: Heads that are selected when the page opens; default: the first head.
        metrics: Metrics of `HeadGrid`.
        head_scatter: Map of heads, which is linked to the grid like `relations`, `arcs` and
            `coreference`. `write_page` documents the data that each of these figures embeds.
        relations: Table of relations.
        arcs: Sentences with dependency arcs.
        coreference: Documents with mentions.
        title: Page title.
        limit_mb: Maximum size of the file in megabytes (10^6 bytes).
        theme: "light", "dark", or None for the theme of the reader.
        traits: Options of the grid and the view, such as `quantity`, `scale` and `mode`;
            `help(HeadGrid)` and `help(HeadView)` list them.

    Raises:
        ValueError: If the page would exceed `limit_mb`.
        FileNotFoundError: If the folder does not exist.
        TypeError: If an option is unknown, or if `attention` is not an attention.

    Example:
        >>> import tempfile
        >>> from attnwidget import load_model, save_page
        >>> folder = tempfile.mkdtemp()
        >>> save_page(load_model().attend("The cat sat on the mat."), folder + "/cat.html").name
        'cat.html'
    """
    if not isinstance(attention, Attention):
        raise TypeError(
            f"save_page takes an attention, model.attend(text), got {type(attention).__name__}: a "
            "figure has .save(path)"
        )
    # Check the size before the figures compute anything.
    maps = all_maps(attention, "weights")
    refuse_above(limit_mb, [ContentSize(maps.what, maps.least, maps.remedy)])
    options: list[tuple[str, str, HeadWidget | None]] = [
        ("head_scatter", "HeadScatter", head_scatter),
        ("relation_table", "RelationTable", relations),
        ("dependency_arcs", "DependencyArcs", arcs),
        ("coreference_view", "CoreferenceView", coreference),
    ]
    for kind, class_name, widget in options:
        if widget is not None and getattr(type(widget), "kind", None) != kind:
            raise TypeError(f"expected a {class_name} or None, got {type(widget).__name__}")
    grid_names = HeadGrid.class_trait_names()
    view_names = HeadView.class_trait_names()
    grid_options: dict[str, Any] = {k: v for k, v in traits.items() if k in grid_names}
    view_options: dict[str, Any] = {
        k: v for k, v in traits.items() if k not in grid_names or k in view_names
    }
    first = Head(0, 0, next(iter(attention.stacks)))
    selected_heads = [first] if selected is None else list(selected)
    grid = HeadGrid(attention, metrics=metrics, selected=selected_heads, **grid_options)
    new_figures: list[HeadWidget] = [grid]
    try:
        new_figures.append(HeadView(attention, selected=selected_heads, **view_options))
        figures = [*new_figures, *(widget for *_, widget in options if widget is not None)]
        pages = [figure.page_content() for figure in figures]
        parts = {name: part for page in pages for name, part in page.parts.items()}
        notes = tuple(dict.fromkeys(note for page in pages for note in page.notes))
        return write_linked(
            Page(parts, notes=notes), path, title=title, limit_mb=limit_mb, theme=theme
        )
    finally:
        for figure in new_figures:
            figure.close()
