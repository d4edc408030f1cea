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
    from attnwidget.studies.coreference import probe_coreference
    from attnwidget.studies.distances import Distances
    from attnwidget.studies.engine import measure
    from attnwidget.studies.features import probe_features
    from attnwidget.studies.governors import predict_governors
    from attnwidget.studies.gradients import Gradients
    from attnwidget.studies.induction import Induction, induction_scores
    from attnwidget.studies.inputs import make_segments, read_segments
    from attnwidget.studies.links import probe_links
    from attnwidget.studies.looking_away import probe_looking_away
    from attnwidget.studies.norms import Norms
    from attnwidget.studies.patterns import Patterns
    from attnwidget.studies.relations import probe_relations
    from attnwidget.studies.results import Measurements
    from attnwidget.studies.rollout import flow, rollout
    from attnwidget.studies.surface import Confidence, Entropy, Position
    from attnwidget.text.coreference import Document, Mention, load_coreference
    from attnwidget.text.demonstrations import demo_prose, demo_texts, demo_treebank
    from attnwidget.text.framenet import load_framenet
    from attnwidget.text.links import load_links, noun_pronoun_links, subject_verb_links
    from attnwidget.text.segments import Segment
    from attnwidget.text.treebank import Sentence, load_treebank
    from attnwidget.text.treebank_fetch import fetch_treebank
    from attnwidget.text.treebank_spacy import sentences_from_spacy
    from attnwidget.widgets.coreference_view import CoreferenceView
    from attnwidget.widgets.dependency_arcs import DependencyArcs
    from attnwidget.widgets.explorer import Explorer, explore
    from attnwidget.widgets.head_grid import HeadGrid
    from attnwidget.widgets.head_map import HeadMap
    from attnwidget.widgets.head_view import HeadView
    from attnwidget.widgets.linking import link
    from attnwidget.widgets.metric_strip import MetricStrip
    from attnwidget.widgets.options import options
    from attnwidget.widgets.pages.save import save_page
    from attnwidget.widgets.relation_table import RelationTable

__version__ = "0.1.0"

# Loaded on first use (PEP 562): `import attnwidget` must not cost the seconds that torch takes.
_HOMES = {
    "Attention": "capture.attention",
    "AttentionModel": "capture.model",
    "Classes": "studies.classes",
    "Confidence": "studies.surface",
    "CoreferenceView": "widgets.coreference_view",
    "DependencyArcs": "widgets.dependency_arcs",
    "Distances": "studies.distances",
    "Document": "text.coreference",
    "Entropy": "studies.surface",
    "Explorer": "widgets.explorer",
    "Gradients": "studies.gradients",
    "Head": "capture.head",
    "HeadGrid": "widgets.head_grid",
    "HeadMap": "widgets.head_map",
    "HeadView": "widgets.head_view",
    "Induction": "studies.induction",
    "Measurements": "studies.results",
    "Mention": "text.coreference",
    "MetricStrip": "widgets.metric_strip",
    "Norms": "studies.norms",
    "Patterns": "studies.patterns",
    "Position": "studies.surface",
    "RelationTable": "widgets.relation_table",
    "Segment": "text.segments",
    "Sentence": "text.treebank",
    "Stack": "capture.stack",
    "behaviours": "studies.behaviours",
    "demo_prose": "text.demonstrations",
    "demo_texts": "text.demonstrations",
    "demo_treebank": "text.demonstrations",
    "explore": "widgets.explorer",
    "fetch_treebank": "text.treebank_fetch",
    "flow": "studies.rollout",
    "in_dark": "figures.theme",
    "induction_scores": "studies.induction",
    "link": "widgets.linking",
    "load_coreference": "text.coreference",
    "load_framenet": "text.framenet",
    "load_links": "text.links",
    "load_model": "capture.load",
    "load_treebank": "text.treebank",
    "make_segments": "studies.inputs",
    "measure": "studies.engine",
    "noun_pronoun_links": "text.links",
    "offline": "figures.offline",
    "options": "widgets.options",
    "predict_governors": "studies.governors",
    "probe_coreference": "studies.coreference",
    "probe_features": "studies.features",
    "probe_links": "studies.links",
    "probe_looking_away": "studies.looking_away",
    "probe_relations": "studies.relations",
    "read_segments": "studies.inputs",
    "rollout": "studies.rollout",
    "save_page": "widgets.pages.save",
    "sentences_from_spacy": "text.treebank_spacy",
    "subject_verb_links": "text.links",
}

__all__ = [
    "Attention",
    "AttentionModel",
    "Classes",
    "Confidence",
    "CoreferenceView",
    "DependencyArcs",
    "Distances",
    "Document",
    "Entropy",
    "Explorer",
    "Gradients",
    "Head",
    "HeadGrid",
    "HeadMap",
    "HeadView",
    "Induction",
    "Measurements",
    "Mention",
    "MetricStrip",
    "Norms",
    "Patterns",
    "Position",
    "RelationTable",
    "Segment",
    "Sentence",
    "Stack",
    "__version__",
    "behaviours",
    "demo_prose",
    "demo_texts",
    "demo_treebank",
    "explore",
    "fetch_treebank",
    "flow",
    "in_dark",
    "induction_scores",
    "link",
    "load_coreference",
    "load_framenet",
    "load_links",
    "load_model",
    "load_treebank",
    "make_segments",
    "measure",
    "noun_pronoun_links",
    "offline",
    "options",
    "predict_governors",
    "probe_coreference",
    "probe_features",
    "probe_links",
    "probe_looking_away",
    "probe_relations",
    "read_segments",
    "rollout",
    "save_page",
    "sentences_from_spacy",
    "subject_verb_links",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'attnwidget' has no attribute {name!r}")
    value = getattr(import_module(f"attnwidget.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
