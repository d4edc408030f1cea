"""A grid and a view as one HTML file that needs no kernel, no server and no network."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.capture.stack import Stack
from attnwidget.widgets.base import STATIC
from attnwidget.widgets.head_grid import HeadGrid
from attnwidget.widgets.head_view import HeadView
from attnwidget.widgets.wire import axes_to_wire

# What the page's own kernel computes, or has no use for.
_NOT_SAVED = {"_thumbnails", "_map", "_esm", "_css", "layout", "tabbable", "tooltip"}


def save_page(
    attention: Attention,
    path: str | Path,
    *,
    selected: Iterable[Head | tuple[int, int] | tuple[int, int, str]] = ((0, 0),),
    title: str | None = None,
    limit_mb: float = 20.0,
    **traits: Any,
) -> Path:
    """Write an interactive page of `HeadGrid` and `HeadView` for one input; returns its path.

    Every map is embedded, between tokens and between words, rounded to 8 bits of the square root
    of its share of the head's maximum (the page says so): n_layers x n_heads x (tokens^2 +
    words^2) bytes before base64. Further `traits` are options of the two widgets (`scale`, `mode`,
    …). Raises ValueError where the maps are more than `limit_mb` megabytes, TypeError for an
    unknown option.

    Example:
        >>> import tempfile
        >>> from attnwidget import load_model, save_page
        >>> folder = tempfile.mkdtemp()
        >>> save_page(load_model().attend("The cat sat on the mat."), folder + "/cat.html").name
        'cat.html'
    """
    size = sum(
        s.n_layers * s.n_heads * len(s.query) * len(s.key) for s in attention.stacks.values()
    )
    if size > limit_mb * 1e6:
        raise ValueError(
            f"the page would hold {size / 1e6:.1f} MB of maps, over limit_mb={limit_mb:g}: "
            "shorten the text (the size grows with its square) or raise limit_mb"
        )
    grid_options = {name: traits[name] for name in traits if name in HeadGrid.class_trait_names()}
    view_options = {
        name: traits[name]
        for name in traits
        if name not in grid_options or name in HeadView.class_trait_names()
    }
    grid = HeadGrid(attention, selected=list(selected), **grid_options)
    view = HeadView(attention, selected=list(selected), **view_options)
    try:
        data = {
            "grid": _state(grid),
            "view": _state(view),
            "maps": [
                _embedded(attention, stack, unit)
                for stack in attention.stacks.values()
                for unit in ("tokens", "words")
            ],
        }
    finally:
        grid.close()
        view.close()
    path = Path(path)
    path.write_text(_document(data, title or f"Attention of {attention.model_name}"), "utf-8")
    return path


def _state(widget: HeadGrid | HeadView) -> dict[str, Any]:
    return {
        name: value
        for name, value in widget.get_state().items()
        if name not in _NOT_SAVED and not name.startswith(("_model", "_view", "_dom", "_anywidget"))
    }


def _embedded(attention: Attention, stack: Stack, unit: str) -> dict[str, Any]:
    """All maps of a stack as bytes: 0 is masked, 1 to 255 the root of weight / maximum."""
    maps, maxima = [], []
    for layer in range(stack.n_layers):
        for head in range(stack.n_heads):
            weights, visible = _map(attention, stack, layer, head, unit)
            maximum = float(weights.max())
            share = np.sqrt(np.clip(weights / maximum, 0, 1)) if maximum else weights
            rounded = (1 + np.rint(254 * share)).astype(np.uint8)
            maps.append(rounded if visible is None else np.where(visible, rounded, np.uint8(0)))
            maxima.append(maximum)
    values = np.stack(maps)
    return {
        "axes": axes_to_wire(stack, unit),
        "shape": [stack.n_layers, stack.n_heads, *values.shape[-2:]],
        "maxima": maxima,
        "values": base64.b64encode(values.tobytes()).decode("ascii"),
    }


def _map(
    attention: Attention, stack: Stack, layer: int, head: int, unit: str
) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
    if unit == "words":
        return (
            attention.word_weights(layer, head, stack=stack.name),
            attention.word_visible(layer, head, stack=stack.name),
        )
    return (
        attention.weights(layer, head, stack=stack.name),
        attention.visible(layer, head, stack=stack.name),
    )


def _document(data: dict[str, Any], title: str) -> str:
    # "<" would let a token end the script element: JSON has another spelling for it.
    payload = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    css = "\n".join(
        (STATIC / f"{name}.css").read_text("utf-8")
        for name in ("head_grid", "head_view", "standalone")
    )
    script = (STATIC / "standalone.js").read_text("utf-8").replace("</script", "<\\/script")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{css}</style></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1></main>\n"
        f'<script type="application/json" id="attnw-data">{payload}</script>\n'
        f'<script type="module">{script}</script></body></html>\n'
    )
