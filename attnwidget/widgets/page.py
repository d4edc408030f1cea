"""Linked figures as one HTML file that needs no kernel, no server and no network."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.capture.attention import Attention
from attnwidget.capture.head import Head
from attnwidget.capture.stack import Stack
from attnwidget.widgets.base import attention_shapes
from attnwidget.widgets.head_grid import HeadGrid
from attnwidget.widgets.head_map import HeadMap
from attnwidget.widgets.head_view import HeadView
from attnwidget.widgets.heads import STATIC, HeadWidget
from attnwidget.widgets.metric_choice import checked_metrics
from attnwidget.widgets.metric_strip import MetricStrip
from attnwidget.widgets.metrics import metrics_to_wire
from attnwidget.widgets.wire import axes_to_wire

# What the page's own kernel computes, or has no use for.
_NOT_SAVED = {"_thumbnails", "_map", "_metrics", "_esm", "_css", "layout", "tabbable", "tooltip"}
# What draws each part of the page's data.
_BUNDLES = {"head_map": "map", "head_grid": "grid", "metric_strip": "strip", "head_view": "view"}


def save_page(
    attention: Attention,
    path: str | Path,
    *,
    selected: Iterable[Head | tuple[int, int] | tuple[int, int, str]] = ((0, 0),),
    metrics: object = None,
    head_map: HeadMap | None = None,
    title: str | None = None,
    limit_mb: float = 20.0,
    **traits: Any,
) -> Path:
    """Write an interactive page of `HeadGrid` and `HeadView` for one input; returns its path.

    Every map of the `quantity` shown is embedded, between tokens and between words, rounded to 8
    bits of the square root of its share of the head's maximum (the page says so): n_layers x
    n_heads x (tokens^2 + words^2) bytes before base64. `metrics` are those of `HeadGrid`; with them
    the page has a `MetricStrip` too. `head_map` is drawn as it is, linked to the rest. Further
    `traits` are options of grid and view (`quantity`, `scale`, `mode`, …). Raises ValueError where
    the maps are more than `limit_mb` megabytes, TypeError for an unknown option.

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
    chosen = list(selected)
    figures: dict[str, HeadWidget] = {
        "grid": HeadGrid(attention, metrics=metrics, selected=chosen, **grid_options)
    }
    try:
        figures["view"] = HeadView(attention, selected=chosen, **view_options)
        by_stack = checked_metrics(metrics, attention_shapes(attention))
        if by_stack:
            figures["strip"] = MetricStrip(by_stack)
            figures["strip"].selected = [
                head for head in figures["grid"].selected if figures["strip"].has(head)
            ]
        data: dict[str, Any] = {name: _state(figure) for name, figure in figures.items()}
        quantity = figures["grid"].quantity
        for name in ("grid", "view"):
            data[name]["_quantities"] = [quantity]
        if head_map is not None:
            heads = [head for head in figures["grid"].selected if head_map.has(head)]
            data["map"] = _state(head_map) | {"selected": heads}
        data["metrics"] = [_readable(metrics_to_wire(by_stack, stack)) for stack in by_stack]
        data["maps"] = [
            _embedded(attention, stack, unit, quantity)
            for stack in attention.stacks.values()
            for unit in ("tokens", "words")
        ]
    finally:
        for figure in figures.values():
            figure.close()
    path = Path(path)
    path.write_text(_document(data, title or f"Attention of {attention.model_name}"), "utf-8")
    return path


def _state(widget: HeadWidget) -> dict[str, Any]:
    return {
        name: _readable(value)
        for name, value in widget.get_state().items()
        if name not in _NOT_SAVED and not name.startswith(("_model", "_view", "_dom", "_anywidget"))
    }


def _readable(value: Any) -> Any:
    """A trait's value with the bytes of its arrays as base64 text, which JSON can hold."""
    if isinstance(value, Mapping):
        return {name: _readable(inner) for name, inner in value.items()}
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(value).decode("ascii")
    return value


def _embedded(attention: Attention, stack: Stack, unit: str, quantity: str) -> dict[str, Any]:
    """All maps of a stack as bytes: 0 is masked, 1 to 255 the root of value / maximum."""
    maps, maxima = [], []
    for layer in range(stack.n_layers):
        for head in range(stack.n_heads):
            read = attention.word_visible if unit == "words" else attention.visible
            visible = read(layer, head, stack=stack.name)
            values = attention.map(quantity, layer, head, stack=stack.name, unit=unit)
            maximum = float(values.max())
            share = np.sqrt(np.clip(values / maximum, 0, 1)) if maximum else values
            rounded = (1 + np.rint(254 * share)).astype(np.uint8)
            maps.append(rounded if visible is None else np.where(visible, rounded, np.uint8(0)))
            maxima.append(maximum)
    together = np.stack(maps)
    return {
        "quantity": quantity,
        "axes": axes_to_wire(stack, unit),
        "shape": [stack.n_layers, stack.n_heads, *together.shape[-2:]],
        "maxima": maxima,
        "values": base64.b64encode(together.tobytes()).decode("ascii"),
    }


def _document(data: dict[str, Any], title: str) -> str:
    # "<" would let a token end the script element: JSON has another spelling for it.
    payload = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    names = [name for name, key in _BUNDLES.items() if key in data]
    css = "\n".join((STATIC / f"{name}.css").read_text("utf-8") for name in (*names, "standalone"))
    bundles = "\n".join(
        f'<script type="text/plain" id="attnw-{name}">{_script(name)}</script>' for name in names
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{css}</style></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1></main>\n"
        f'<script type="application/json" id="attnw-data">{payload}</script>\n'
        f'{bundles}\n<script type="module">{_script("standalone")}</script></body></html>\n'
    )


def _script(name: str) -> str:
    return (STATIC / f"{name}.js").read_text("utf-8").replace("</script", "<\\/script")
