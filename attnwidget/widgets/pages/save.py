"""The figures of one attention, and what was measured beside it, as a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.widgets.coreference_view import CoreferenceView
from attnwidget.widgets.dependency_arcs import DependencyArcs
from attnwidget.widgets.head_grid import HeadGrid
from attnwidget.widgets.head_map import HeadMap
from attnwidget.widgets.head_view import HeadView
from attnwidget.widgets.heads import HeadWidget
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.pages.attention_maps import maps_size
from attnwidget.widgets.pages.contents import KINDS, Shown
from attnwidget.widgets.pages.room import refuse_above
from attnwidget.widgets.pages.write import write_shown
from attnwidget.widgets.relation_table import RelationTable


def save_page(
    attention: Attention,
    path: str | Path,
    *,
    selected: Iterable[Head | tuple[int, int] | tuple[int, int, str]] | None = None,
    metrics: object = None,
    head_map: HeadMap | None = None,
    relations: RelationTable | None = None,
    arcs: DependencyArcs | None = None,
    coreference: CoreferenceView | None = None,
    title: str | None = None,
    limit_mb: float = 20.0,
    theme: Literal["light", "dark"] | None = None,
    **traits: Any,
) -> Path:
    """Write an interactive page of `HeadGrid` and `HeadView` for one input; returns its path.

    Every map of the `quantity` shown is embedded, between tokens and between words, rounded to 8
    bits of the square root of its share of the head's maximum (the page says so): n_layers x
    n_heads x (tokens^2 + words^2) bytes, and a third more as text. `metrics` are those of
    `HeadGrid`; with them the page has a `MetricStrip` too. `head_map`, `relations`, `arcs` and
    `coreference` are drawn as they are, linked to the rest; `write_page` says what they embed.
    `limit_mb` is the most that the file may have, in megabytes (10^6 bytes); `theme` is "light",
    "dark" or None for the reader's own. Further `traits` are options of grid and view (`quantity`,
    `scale`, `mode`, …); without `selected` the first head is.

    Raises ValueError where the page would be larger than `limit_mb`, FileNotFoundError where there
    is no such folder, TypeError for an unknown option or for what is no attention.

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
    # Before the figures compute anything.
    refuse_above(limit_mb, {"maps": maps_size(attention)})
    grid_options = {name: traits[name] for name in traits if name in HeadGrid.class_trait_names()}
    view_options = {
        name: traits[name]
        for name in traits
        if name not in grid_options or name in HeadView.class_trait_names()
    }
    first = Head(0, 0, next(iter(attention.stacks)))
    chosen = [first] if selected is None else list(selected)
    given = {"map": head_map, "table": relations, "arcs": arcs, "coreference": coreference}
    for name, figure in given.items():
        if figure is not None and not isinstance(figure, KINDS[name]):
            raise TypeError(
                f"expected a {KINDS[name].__name__} or None, got {type(figure).__name__}"
            )
    grid = HeadGrid(attention, metrics=metrics, selected=chosen, **grid_options)
    made: dict[str, HeadWidget] = {"grid": grid}
    try:
        made["view"] = HeadView(attention, selected=chosen, **view_options)
        if grid.metrics:
            strip = made["strip"] = MetricStrip(grid.metrics)
            strip.selected = [head for head in grid.selected if strip.has(head)]
        figures = made | {name: figure for name, figure in given.items() if figure is not None}
        return write_shown(Shown(figures), path, title=title, limit_mb=limit_mb, theme=theme)
    finally:
        for figure in made.values():
            figure.close()
