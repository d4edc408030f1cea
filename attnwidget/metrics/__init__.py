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

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.results import HeadResult
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.metrics.attention_to_classes import Classes
from attnwidget.metrics.entropy import Confidence, Entropy
from attnwidget.metrics.gradients import Gradients
from attnwidget.metrics.head_distances import Distances
from attnwidget.metrics.induction import Induction
from attnwidget.metrics.norms import Norms
from attnwidget.metrics.patterns import Patterns
from attnwidget.metrics.position import Position
from attnwidget.metrics.position_content import PositionContent
from attnwidget.metrics.roles import Roles
from attnwidget.metrics.sinks import Sinks

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
