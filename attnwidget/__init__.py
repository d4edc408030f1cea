"""See and measure what every attention head of a Transformer looks at, live in the notebook."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnwidget.capture.attention import Attention
    from attnwidget.capture.head import Head
    from attnwidget.capture.load import load_model
    from attnwidget.capture.model import AttentionModel
    from attnwidget.capture.stack import Stack
    from attnwidget.text.demonstrations import demo_texts
    from attnwidget.widgets.head_grid import HeadGrid
    from attnwidget.widgets.head_view import HeadView
    from attnwidget.widgets.linking import link
    from attnwidget.widgets.page import save_page

__version__ = "0.1.0"

# Loaded on first use (PEP 562): `import attnwidget` must not cost the seconds that torch takes.
_HOMES = {
    "Attention": "capture.attention",
    "AttentionModel": "capture.model",
    "Head": "capture.head",
    "HeadGrid": "widgets.head_grid",
    "HeadView": "widgets.head_view",
    "Stack": "capture.stack",
    "demo_texts": "text.demonstrations",
    "link": "widgets.linking",
    "load_model": "capture.load",
    "save_page": "widgets.page",
}

__all__ = [
    "Attention",
    "AttentionModel",
    "Head",
    "HeadGrid",
    "HeadView",
    "Stack",
    "__version__",
    "demo_texts",
    "link",
    "load_model",
    "save_page",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnwidget' has no attribute {name!r}")
    value = getattr(import_module(f"attnwidget.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
