"""Types of results, and the inputs that users construct for studies.

Every study, probe and prediction returns a `Result`: `to_frame()` is its table and `chart()` its
figure. Results with numbers per head are `HeadResult`s, whose `heads()` colours a `HeadGrid`.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.results import Result
    >>> isinstance(load_model().predict("The woman washed [MASK] hands."), Result)
    True
"""

from attnwidget.capture.hub_model.predictions import PredictionChange, Predictions
from attnwidget.capture.maps.head_scores import HeadScores
from attnwidget.head_atlas.behaviours.behaviour_score import BehaviourScore
from attnwidget.head_atlas.cards.atlas_result import Atlas
from attnwidget.head_atlas.cards.head_card import HeadCard
from attnwidget.head_atlas.effects.head_effect import HeadEffect
from attnwidget.head_atlas.examples.example_link import ExampleLink
from attnwidget.head_atlas.examples.example_results import HeadExamples
from attnwidget.head_atlas.places.found_links import FoundLinks
from attnwidget.head_atlas.scores.alignment_scores import AlignmentScores
from attnwidget.head_atlas.scores.behaviour_table import BehaviourTable
from attnwidget.mechanisms.copying import CopyingScores
from attnwidget.mechanisms.direct_effects import DirectEffects
from attnwidget.mechanisms.explain_link import LinkExplanation
from attnwidget.mechanisms.head_composition import HeadComposition
from attnwidget.mechanisms.head_writes import HeadWrites
from attnwidget.mechanisms.key_biplot import KeyBiplot
from attnwidget.mechanisms.logit_lens import LogitLens
from attnwidget.mechanisms.measured_effects import GradientEffects
from attnwidget.mechanisms.patching.patch_path import PathPatch
from attnwidget.mechanisms.patching.patch_results import HeadPatches
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances
from attnwidget.mechanisms.score_sources import ScoreSources
from attnwidget.mechanisms.stream_records import Writer
from attnwidget.mechanisms.vocabulary_scores import AttendedVocabulary, HeadVocabulary
from attnwidget.mechanisms.wavelength_shares import WavelengthShares
from attnwidget.probes.dependency.dependency_answers import CodeLength, HeadVotes, ProbePredictions
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.pairs.pair_result import PairProbe
from attnwidget.probes.structural.structural_result import PredictedTree, StructuralProbe
from attnwidget.studies.comparison.compare_results import (
    ComparedHeads,
    ModelComparison,
    SeveralComparisons,
)
from attnwidget.studies.interventions.ablation_results import Ablation
from attnwidget.studies.interventions.head_importance import HeadImportance
from attnwidget.studies.interventions.minimal_pairs import PairScores
from attnwidget.studies.metrics.attention_to_classes import ClassesResult
from attnwidget.studies.metrics.entropy import ConfidenceResult, EntropyResult
from attnwidget.studies.metrics.gradients import GradientsResult
from attnwidget.studies.metrics.head_distances import HeadDistances
from attnwidget.studies.metrics.induction import InductionResult
from attnwidget.studies.metrics.measured_checkpoints import MeasuredCheckpoints
from attnwidget.studies.metrics.norms import NormsResult
from attnwidget.studies.metrics.patterns import PatternsResult
from attnwidget.studies.metrics.position import PositionResult
from attnwidget.studies.metrics.position_content import PositionContentResult
from attnwidget.studies.metrics.retrieval import RetrievalResult
from attnwidget.studies.metrics.roles import RolesResult
from attnwidget.studies.metrics.rollout import TokenRelevance
from attnwidget.studies.metrics.sinks import SinksResult
from attnwidget.studies.streaming.results import HeadResult, Measurements, Result
from attnwidget.studies.words.coreference_results import CoreferenceAccuracies
from attnwidget.studies.words.governors import GovernorPredictions
from attnwidget.studies.words.linguistic_features import FeatureWeights
from attnwidget.studies.words.looking_away import LookingAway
from attnwidget.studies.words.relation_results import RelationAccuracies
from attnwidget.studies.words.word_links import LinkWeights
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.text.word_vectors import WordVectors

__all__ = [
    "Ablation",
    "AlignmentScores",
    "Atlas",
    "AttendedVocabulary",
    "BehaviourScore",
    "BehaviourTable",
    "ClassesResult",
    "CodeLength",
    "ComparedHeads",
    "ConfidenceResult",
    "CopyingScores",
    "CoreferenceAccuracies",
    "DependencyProbe",
    "DirectEffects",
    "EntropyResult",
    "ExampleLink",
    "FeatureWeights",
    "FoundLinks",
    "GovernorPredictions",
    "GradientEffects",
    "GradientsResult",
    "HeadCard",
    "HeadComposition",
    "HeadDistances",
    "HeadEffect",
    "HeadExamples",
    "HeadImportance",
    "HeadPatches",
    "HeadResult",
    "HeadScores",
    "HeadVocabulary",
    "HeadVotes",
    "HeadWrites",
    "InductionResult",
    "KeyBiplot",
    "Link",
    "LinkExplanation",
    "LinkWeights",
    "LinkedSentence",
    "LogitLens",
    "LookingAway",
    "MeasuredCheckpoints",
    "Measurements",
    "ModelComparison",
    "NormsResult",
    "PairProbe",
    "PairScores",
    "PathPatch",
    "PatternsResult",
    "PositionContentResult",
    "PositionResult",
    "PredictedTree",
    "PredictionChange",
    "Predictions",
    "ProbePredictions",
    "RelationAccuracies",
    "Result",
    "RetrievalResult",
    "RolesResult",
    "ScoreSources",
    "ScoresAtDistances",
    "SeveralComparisons",
    "SinksResult",
    "StructuralProbe",
    "TokenRelevance",
    "WavelengthShares",
    "WordVectors",
    "Writer",
]
