"""The metrics of `measure`, and the base classes for user-defined metrics.

`SegmentMeans` and `HeadResult` are what most metrics extend; `Accumulator` is what all of them are.

Example:
    >>> from attnwidget import load_model, make_segments, measure
    >>> from attnwidget.metrics import Confidence, Position
    >>> model = load_model()
    >>> segments = make_segments(["The cat sat."], model)
    >>> measure(model, segments, [Confidence("[SEP]"), Position([-2, 2])], progress=False)
    Measurements(small BERT (in the package), 1 segment: confidence, position)
"""

from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.studies.attention_to_classes import Classes
from attnwidget.studies.entropy import Confidence, Entropy
from attnwidget.studies.gradients import Gradients
from attnwidget.studies.head_distances import Distances
from attnwidget.studies.induction import Induction
from attnwidget.studies.norms import Norms
from attnwidget.studies.patterns import Patterns
from attnwidget.studies.position import Position
from attnwidget.studies.results import HeadResult
from attnwidget.studies.segment_means import SegmentMeans
from attnwidget.studies.sinks import Sinks

__all__ = [
    "Accumulator",
    "Batch",
    "Classes",
    "Confidence",
    "Distances",
    "Entropy",
    "Gradients",
    "HeadResult",
    "Induction",
    "LayerBatch",
    "Norms",
    "Patterns",
    "Position",
    "SegmentMeans",
    "Sinks",
    "Subject",
]
