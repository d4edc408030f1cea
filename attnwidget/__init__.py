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
    from attnwidget.figures.offline import offline
    from attnwidget.figures.theme import in_dark
    from attnwidget.studies.behaviours import behaviours
    from attnwidget.studies.classes import Classes
    from attnwidget.studies.distances import Distances
    from attnwidget.studies.engine import measure
    from attnwidget.studies.gradients import Gradients
    from attnwidget.studies.induction import Induction, induction_scores
    from attnwidget.studies.inputs import make_segments, read_segments
    from attnwidget.studies.norms import Norms
    from attnwidget.studies.patterns import Patterns
    from attnwidget.studies.results import Measurements
    from attnwidget.studies.rollout import flow, rollout
    from attnwidget.studies.surface import Confidence, Entropy, Position
    from attnwidget.text.demonstrations import demo_prose, demo_texts
    from attnwidget.text.segments import Segment
    from attnwidget.widgets.head_grid import HeadGrid
    from attnwidget.widgets.head_map import HeadMap
    from attnwidget.widgets.head_view import HeadView
    from attnwidget.widgets.linking import link
    from attnwidget.widgets.metric_strip import MetricStrip
    from attnwidget.widgets.page import save_page

__version__ = "0.1.0"

# Loaded on first use (PEP 562): `import attnwidget` must not cost the seconds that torch takes.
_HOMES = {
    "Attention": "capture.attention",
    "AttentionModel": "capture.model",
    "Classes": "studies.classes",
    "Confidence": "studies.surface",
    "Distances": "studies.distances",
    "Entropy": "studies.surface",
    "Gradients": "studies.gradients",
    "Head": "capture.head",
    "HeadGrid": "widgets.head_grid",
    "HeadMap": "widgets.head_map",
    "HeadView": "widgets.head_view",
    "Induction": "studies.induction",
    "Measurements": "studies.results",
    "MetricStrip": "widgets.metric_strip",
    "Norms": "studies.norms",
    "Patterns": "studies.patterns",
    "Position": "studies.surface",
    "Segment": "text.segments",
    "Stack": "capture.stack",
    "behaviours": "studies.behaviours",
    "demo_prose": "text.demonstrations",
    "demo_texts": "text.demonstrations",
    "flow": "studies.rollout",
    "in_dark": "figures.theme",
    "induction_scores": "studies.induction",
    "link": "widgets.linking",
    "load_model": "capture.load",
    "make_segments": "studies.inputs",
    "measure": "studies.engine",
    "offline": "figures.offline",
    "read_segments": "studies.inputs",
    "rollout": "studies.rollout",
    "save_page": "widgets.page",
}

__all__ = [
    "Attention",
    "AttentionModel",
    "Classes",
    "Confidence",
    "Distances",
    "Entropy",
    "Gradients",
    "Head",
    "HeadGrid",
    "HeadMap",
    "HeadView",
    "Induction",
    "Measurements",
    "MetricStrip",
    "Norms",
    "Patterns",
    "Position",
    "Segment",
    "Stack",
    "__version__",
    "behaviours",
    "demo_prose",
    "demo_texts",
    "flow",
    "in_dark",
    "induction_scores",
    "link",
    "load_model",
    "make_segments",
    "measure",
    "offline",
    "read_segments",
    "rollout",
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
