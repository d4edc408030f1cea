"""Types of results, and the inputs that users construct for studies.

Every study, probe and prediction returns a `Result`: `to_frame()` is its table and `chart()` its
figure. Results with numbers per head are `HeadResult`s, whose `heads()` colours a `HeadGrid`.

Example:
    >>> from attnwidget import load_model
    >>> from attnwidget.results import Result
    >>> isinstance(load_model().predict("The woman washed [MASK] hands."), Result)
    True
"""

from attnwidget.capture.predictions import PredictionChange, Predictions
from attnwidget.probes.dependency_answers import CodeLength, HeadVotes, ProbePredictions
from attnwidget.probes.dependency_results import DependencyProbe
from attnwidget.probes.pair_result import PairProbe
from attnwidget.probes.structural_result import PredictedTree, StructuralProbe
from attnwidget.studies.ablation_results import Ablation
from attnwidget.studies.attention_to_classes import ClassesResult
from attnwidget.studies.compare_results import ComparedHeads, ModelComparison, SeveralComparisons
from attnwidget.studies.coreference_results import CoreferenceAccuracies
from attnwidget.studies.entropy import ConfidenceResult, EntropyResult
from attnwidget.studies.governors import GovernorPredictions
from attnwidget.studies.gradients import GradientsResult
from attnwidget.studies.head_distances import HeadDistances
from attnwidget.studies.head_importance import HeadImportance
from attnwidget.studies.induction import InductionResult
from attnwidget.studies.linguistic_features import FeatureWeights
from attnwidget.studies.looking_away import LookingAway
from attnwidget.studies.minimal_pairs import PairScores
from attnwidget.studies.norms import NormsResult
from attnwidget.studies.patterns import PatternsResult
from attnwidget.studies.position import PositionResult
from attnwidget.studies.relation_results import RelationAccuracies
from attnwidget.studies.results import HeadResult, Measurements, Result
from attnwidget.studies.retrieval import RetrievalResult
from attnwidget.studies.rollout import TokenRelevance
from attnwidget.studies.sinks import SinksResult
from attnwidget.studies.trace import MeasuredCheckpoints
from attnwidget.studies.word_links import LinkWeights
from attnwidget.text.word_links import Link, LinkedSentence
from attnwidget.text.word_vectors import WordVectors

__all__ = [
    "Ablation",
    "ClassesResult",
    "CodeLength",
    "ComparedHeads",
    "ConfidenceResult",
    "CoreferenceAccuracies",
    "DependencyProbe",
    "EntropyResult",
    "FeatureWeights",
    "GovernorPredictions",
    "GradientsResult",
    "HeadDistances",
    "HeadImportance",
    "HeadResult",
    "HeadVotes",
    "InductionResult",
    "Link",
    "LinkWeights",
    "LinkedSentence",
    "LookingAway",
    "MeasuredCheckpoints",
    "Measurements",
    "ModelComparison",
    "NormsResult",
    "PairProbe",
    "PairScores",
    "PatternsResult",
    "PositionResult",
    "PredictedTree",
    "PredictionChange",
    "Predictions",
    "ProbePredictions",
    "RelationAccuracies",
    "Result",
    "RetrievalResult",
    "SeveralComparisons",
    "SinksResult",
    "StructuralProbe",
    "TokenRelevance",
    "WordVectors",
]
