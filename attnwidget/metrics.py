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

from attnwidget.studies.metrics.attention_to_classes import Classes
from attnwidget.studies.metrics.entropy import Confidence, Entropy
from attnwidget.studies.metrics.gradients import Gradients
from attnwidget.studies.metrics.head_distances import Distances
from attnwidget.studies.metrics.induction import Induction
from attnwidget.studies.metrics.norms import Norms
from attnwidget.studies.metrics.patterns import Patterns
from attnwidget.studies.metrics.position import Position
from attnwidget.studies.metrics.position_content import PositionContent
from attnwidget.studies.metrics.roles import Roles
from attnwidget.studies.metrics.sinks import Sinks
from attnwidget.studies.streaming.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.studies.streaming.results import HeadResult
from attnwidget.studies.streaming.segment_means import SegmentMeans

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
    "PositionContent",
    "Roles",
    "SegmentMeans",
    "Sinks",
    "Subject",
]
