"""Metrics of `measure`, base classes for user-defined metrics, and other scores of heads.

Most metrics extend `SegmentMeans`, and all metrics are `Accumulator`s. Their results extend
`attnwidget.results.HeadResult`.

Example:
    >>> from attnwidget import load_model, make_segments, measure
    >>> from attnwidget.metrics import Confidence, Position
    >>> model = load_model()
    >>> segments = make_segments(["The cat sat."], model)
    >>> measure(model, segments, [Confidence("[SEP]"), Position([-2, 2])], progress=False)
    Measurements(small BERT (in the package), 1 segment: confidence, position)
"""

from typing import TYPE_CHECKING

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.merge_resume_files import merge_resume_files
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.metrics.attention_distance import AttentionDistance
from attnwidget.metrics.attention_to_classes import Classes
from attnwidget.metrics.clark_labels import clark_labels
from attnwidget.metrics.concentration import broad_heads
from attnwidget.metrics.entropy import Confidence, Entropy
from attnwidget.metrics.gradients import Gradients
from attnwidget.metrics.head_distances import Distances
from attnwidget.metrics.image_offsets import ImageOffsets
from attnwidget.metrics.induction import Induction, induction_scores
from attnwidget.metrics.mass_in_places import MassInPlaces
from attnwidget.metrics.measure_checkpoints import measure_checkpoints
from attnwidget.metrics.modalities import Modalities, modality_shares
from attnwidget.metrics.norms import Norms
from attnwidget.metrics.patterns import Patterns
from attnwidget.metrics.position import Position
from attnwidget.metrics.position_content import PositionContent
from attnwidget.metrics.retrieval import retrieval_scores
from attnwidget.metrics.roles import Roles
from attnwidget.metrics.rollout import attention_flow, attention_rollout
from attnwidget.metrics.sinks import Sinks
from attnwidget.public_names import refuse_names

# Type checkers know all names already. With a module `__getattr__`, they would accept any name.
if not TYPE_CHECKING:
    __getattr__ = refuse_names(__name__)

__all__ = [
    "Accumulator",
    "AttentionDistance",
    "Batch",
    "Classes",
    "Confidence",
    "Distances",
    "Entropy",
    "Gradients",
    "ImageOffsets",
    "Induction",
    "LayerBatch",
    "MassInPlaces",
    "Modalities",
    "Norms",
    "Patterns",
    "Position",
    "PositionContent",
    "Roles",
    "SegmentMeans",
    "Sinks",
    "Subject",
    "attention_flow",
    "attention_rollout",
    "broad_heads",
    "clark_labels",
    "induction_scores",
    "measure_checkpoints",
    "merge_resume_files",
    "modality_shares",
    "retrieval_scores",
]
