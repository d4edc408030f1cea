"""Result types, and input types that users construct for studies.

Every study, probe and prediction returns a `Result`: `to_frame()` returns its table and `chart()`
its figure. Results with numbers per head are `HeadResult`s, whose `heads()` values color a
`HeadGrid`.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.results import Result
    >>> isinstance(load_model().predict("The woman washed [MASK] hands."), Result)
    True
"""

from typing import TYPE_CHECKING

from attnwidget.behaviors.behavior_score import BehaviorScore
from attnwidget.behaviors.effects.head_effect import HeadEffect
from attnwidget.behaviors.effects.rule_effects import MeasuredRules
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.example_results import HeadExamples
from attnwidget.behaviors.examples.link_distances import LinkDistances
from attnwidget.behaviors.gallery.gallery_result import HeadGallery, HeadPanel
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.behaviors.head_atlas.head_card import HeadCard
from attnwidget.behaviors.places.found_links import FoundLinks
from attnwidget.behaviors.scatter_heads import ScatteredHeads
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.behaviors.scores.monotonicity_scores import MonotonicityScores
from attnwidget.capture.answers.predictions import PredictionChange, Predictions
from attnwidget.capture.maps.head_scores import HeadScores
from attnwidget.capture.result import Result
from attnwidget.capture.watch_attention import WatchedAttention
from attnwidget.comparison.compare_results import (
    ComparedHeads,
    ModelComparison,
    SeveralComparisons,
)
from attnwidget.comparison.feature_changes import FeatureChanges
from attnwidget.corpus.results import HeadHeatMap, HeadResult, LayerCurves, Measurements, per_head
from attnwidget.corpus.segment_means import SegmentMeansResult
from attnwidget.interventions.ablation_results import Ablation
from attnwidget.interventions.gradient_effects import GradientEffects
from attnwidget.interventions.head_importance import HeadImportance
from attnwidget.interventions.knockout_result import Knockout
from attnwidget.interventions.minimal_pairs import MinimalPairScores
from attnwidget.interventions.needed_links_result import NeededLinks
from attnwidget.interventions.patch_path import PathPatch
from attnwidget.interventions.patch_results import HeadPatches
from attnwidget.mechanisms.copying import CopyingScores
from attnwidget.mechanisms.direct_effects import DirectEffects
from attnwidget.mechanisms.explain_link import LinkExplanation
from attnwidget.mechanisms.head_composition import HeadComposition
from attnwidget.mechanisms.head_writes import HeadWrites
from attnwidget.mechanisms.key_biplot import KeyBiplot
from attnwidget.mechanisms.link_factors import LinkFactors
from attnwidget.mechanisms.logit_lens import LogitLens
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances
from attnwidget.mechanisms.score_sources import ScoreSources
from attnwidget.mechanisms.stream_records import Writer
from attnwidget.mechanisms.vocabulary_scores import AttendedVocabulary, HeadVocabulary
from attnwidget.mechanisms.wavelength_shares import WavelengthShares
from attnwidget.mechanisms.written_parts import WrittenPart
from attnwidget.metrics.attention_distance import AttentionDistanceResult
from attnwidget.metrics.attention_to_classes import ClassesResult
from attnwidget.metrics.concentration import BroadHeads
from attnwidget.metrics.entropy import ConfidenceResult, EntropyResult
from attnwidget.metrics.function_of_maps import FunctionResult
from attnwidget.metrics.gradients import GradientsResult
from attnwidget.metrics.head_distances import HeadDistances
from attnwidget.metrics.image_offsets import ImageOffsetsResult
from attnwidget.metrics.induction import InductionResult
from attnwidget.metrics.mass_in_places import MassInPlacesResult
from attnwidget.metrics.measured_checkpoints import MeasuredCheckpoints
from attnwidget.metrics.modalities import ModalitiesResult, ModalityShares
from attnwidget.metrics.norm_pairs import NormPairs
from attnwidget.metrics.norms import NormsResult
from attnwidget.metrics.norms_by_frequency import NormsByFrequency, TokenOccurrences
from attnwidget.metrics.pattern_examples import PatternExamples
from attnwidget.metrics.patterns import PatternsResult
from attnwidget.metrics.position import PositionResult
from attnwidget.metrics.position_content import PositionContentResult
from attnwidget.metrics.retrieval import RetrievalResult
from attnwidget.metrics.roles import RolesResult
from attnwidget.metrics.rollout import TokenRelevance
from attnwidget.metrics.sinks import SinksResult
from attnwidget.paper_report.paper_report import PaperReport
from attnwidget.paper_report.report_entry import ReportEntry
from attnwidget.probes.dependency.dependency_answers import CodeLength, HeadVotes, ProbePredictions
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.dependency.dependency_scores import DependencyScores, PredictorScore
from attnwidget.probes.pairs.pair_result import PairProbe
from attnwidget.probes.structural.edge_lengths import EdgeLengths
from attnwidget.probes.structural.structural_result import PredictedTree, StructuralProbe
from attnwidget.probes.structural.tree_score import TreeScore
from attnwidget.public_names import refuse_names
from attnwidget.text.aligned_pairs import AlignedPair
from attnwidget.text.places import Box, Sound, Span
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.text.word_vectors import WordVectors
from attnwidget.words.alignment_results import AlignmentErrors, PairMaps
from attnwidget.words.coreference_results import CoreferenceAccuracies
from attnwidget.words.explained_attention_result import ExplainedAttention
from attnwidget.words.governors import GovernorPredictions
from attnwidget.words.linguistic_features import FeatureWeights
from attnwidget.words.no_op import NoOpWeights
from attnwidget.words.relation_results import RelationAccuracies
from attnwidget.words.speech import SpokenWordWeights, WordTimes
from attnwidget.words.word_links import LinkWeights
from attnwidget.words.word_map_steps import WordMapSteps

# Type checkers would accept any name if they saw a module-level `__getattr__`.
if not TYPE_CHECKING:
    __getattr__ = refuse_names(__name__)

__all__ = [
    "Ablation",
    "AlignedPair",
    "AlignmentErrors",
    "Atlas",
    "AttendedVocabulary",
    "AttentionDistanceResult",
    "BehaviorScore",
    "BehaviorTable",
    "Box",
    "BroadHeads",
    "ClassesResult",
    "CodeLength",
    "ComparedHeads",
    "ConfidenceResult",
    "CopyingScores",
    "CoreferenceAccuracies",
    "DependencyProbe",
    "DependencyScores",
    "DirectEffects",
    "EdgeLengths",
    "EntropyResult",
    "ExampleLink",
    "ExplainedAttention",
    "FeatureChanges",
    "FeatureWeights",
    "FoundLinks",
    "FunctionResult",
    "GovernorPredictions",
    "GradientEffects",
    "GradientsResult",
    "HeadCard",
    "HeadComposition",
    "HeadDistances",
    "HeadEffect",
    "HeadExamples",
    "HeadGallery",
    "HeadHeatMap",
    "HeadImportance",
    "HeadPanel",
    "HeadPatches",
    "HeadResult",
    "HeadScores",
    "HeadVocabulary",
    "HeadVotes",
    "HeadWrites",
    "ImageOffsetsResult",
    "InductionResult",
    "KeyBiplot",
    "Knockout",
    "LayerCurves",
    "Link",
    "LinkDistances",
    "LinkExplanation",
    "LinkFactors",
    "LinkWeights",
    "LinkedSentence",
    "LogitLens",
    "MassInPlacesResult",
    "MeasuredCheckpoints",
    "MeasuredRules",
    "Measurements",
    "MinimalPairScores",
    "ModalitiesResult",
    "ModalityShares",
    "ModelComparison",
    "MonotonicityScores",
    "NeededLinks",
    "NoOpWeights",
    "NormPairs",
    "NormsByFrequency",
    "NormsResult",
    "PairMaps",
    "PairProbe",
    "PaperReport",
    "PathPatch",
    "PatternExamples",
    "PatternsResult",
    "PositionContentResult",
    "PositionResult",
    "PredictedTree",
    "PredictionChange",
    "Predictions",
    "PredictorScore",
    "ProbePredictions",
    "RelationAccuracies",
    "ReportEntry",
    "Result",
    "RetrievalResult",
    "RolesResult",
    "ScatteredHeads",
    "ScoreSources",
    "ScoresAtDistances",
    "SegmentMeansResult",
    "SeveralComparisons",
    "SinksResult",
    "Sound",
    "Span",
    "SpokenWordWeights",
    "StructuralProbe",
    "TokenOccurrences",
    "TokenRelevance",
    "TreeScore",
    "WatchedAttention",
    "WavelengthShares",
    "WordMapSteps",
    "WordTimes",
    "WordVectors",
    "Writer",
    "WrittenPart",
    "per_head",
]
