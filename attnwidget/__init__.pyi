"""The public names and where each lives: what type checkers see, and what is loaded on first use.

Names from `metrics` and `results` can be imported from here too, but `dir(attnwidget)` does not
list them.
"""

from . import charts as charts
from . import demo as demo
from . import metrics as metrics
from . import results as results
from .capture.load import load_model as load_model
from .capture.maps.attention import Attention as Attention
from .capture.maps.stack_axes import Stack as Stack
from .capture.model import AttentionModel as AttentionModel
from .capture.tapping.head import Head as Head
from .drawing.join_figures import join_figures as join_figures
from .mechanisms.direct_effects import direct_effects as direct_effects
from .mechanisms.head_writes import head_writes as head_writes
from .mechanisms.logit_lens import logit_lens as logit_lens
from .mechanisms.measured_effects import gradient_effects as gradient_effects
from .mechanisms.patching.patch_heads import patch_heads as patch_heads
from .mechanisms.patching.patch_path import patch_path as patch_path
from .metrics import Classes as Classes
from .metrics import Confidence as Confidence
from .metrics import Distances as Distances
from .metrics import Entropy as Entropy
from .metrics import Gradients as Gradients
from .metrics import Induction as Induction
from .metrics import Norms as Norms
from .metrics import Patterns as Patterns
from .metrics import Position as Position
from .metrics import Sinks as Sinks
from .probes.dependency.train_dependency_probe import (
    train_dependency_probe as train_dependency_probe,
)
from .probes.pairs.train_pair_probe import train_pair_probe as train_pair_probe
from .probes.probe_file import load_probe as load_probe
from .probes.structural.train_structural_probe import (
    train_structural_probe as train_structural_probe,
)
from .results import Ablation as Ablation
from .results import ClassesResult as ClassesResult
from .results import CodeLength as CodeLength
from .results import ComparedHeads as ComparedHeads
from .results import ConfidenceResult as ConfidenceResult
from .results import CoreferenceAccuracies as CoreferenceAccuracies
from .results import DependencyProbe as DependencyProbe
from .results import DirectEffects as DirectEffects
from .results import EntropyResult as EntropyResult
from .results import FeatureWeights as FeatureWeights
from .results import GovernorPredictions as GovernorPredictions
from .results import GradientEffects as GradientEffects
from .results import GradientsResult as GradientsResult
from .results import HeadDistances as HeadDistances
from .results import HeadImportance as HeadImportance
from .results import HeadPatches as HeadPatches
from .results import HeadResult as HeadResult
from .results import HeadVotes as HeadVotes
from .results import HeadWrites as HeadWrites
from .results import InductionResult as InductionResult
from .results import Link as Link
from .results import LinkedSentence as LinkedSentence
from .results import LinkWeights as LinkWeights
from .results import LogitLens as LogitLens
from .results import LookingAway as LookingAway
from .results import MeasuredCheckpoints as MeasuredCheckpoints
from .results import ModelComparison as ModelComparison
from .results import NormsResult as NormsResult
from .results import PairProbe as PairProbe
from .results import PairScores as PairScores
from .results import PathPatch as PathPatch
from .results import PatternsResult as PatternsResult
from .results import PositionResult as PositionResult
from .results import PredictedTree as PredictedTree
from .results import PredictionChange as PredictionChange
from .results import Predictions as Predictions
from .results import ProbePredictions as ProbePredictions
from .results import RelationAccuracies as RelationAccuracies
from .results import Result as Result
from .results import RetrievalResult as RetrievalResult
from .results import SeveralComparisons as SeveralComparisons
from .results import SinksResult as SinksResult
from .results import StructuralProbe as StructuralProbe
from .results import TokenRelevance as TokenRelevance
from .results import WordVectors as WordVectors
from .studies.comparison.compare import compare as compare
from .studies.interventions.ablation import ablate as ablate
from .studies.interventions.head_importance import head_importance as head_importance
from .studies.interventions.minimal_pairs import score_pairs as score_pairs
from .studies.metrics.behaviours import behaviours as behaviours
from .studies.metrics.induction import induction_scores as induction_scores
from .studies.metrics.measure import measure as measure
from .studies.metrics.measure import measure_attention as measure_attention
from .studies.metrics.measure_checkpoints import measure_checkpoints as measure_checkpoints
from .studies.metrics.retrieval import retrieval_scores as retrieval_scores
from .studies.metrics.rollout import attention_flow as attention_flow
from .studies.metrics.rollout import attention_rollout as attention_rollout
from .studies.streaming.merge_checkpoints import merge_checkpoints as merge_checkpoints
from .studies.streaming.results import Measurements as Measurements
from .studies.streaming.segmenting import make_segments as make_segments
from .studies.streaming.segmenting import read_segments as read_segments
from .studies.streaming.shards import WorkersError as WorkersError
from .studies.words.coreference import probe_coreference as probe_coreference
from .studies.words.governors import predict_governors as predict_governors
from .studies.words.linguistic_features import probe_features as probe_features
from .studies.words.looking_away import probe_looking_away as probe_looking_away
from .studies.words.relations import probe_relations as probe_relations
from .studies.words.word_links import probe_links as probe_links
from .text.coreference import load_coreference as load_coreference
from .text.framenet import load_framenet as load_framenet
from .text.mentions import Document as Document
from .text.mentions import Mention as Mention
from .text.minimal_pairs import MinimalPair as MinimalPair
from .text.minimal_pairs import load_pairs as load_pairs
from .text.segments import Segment as Segment
from .text.treebank import Sentence as Sentence
from .text.treebank_fetch import fetch_treebank as fetch_treebank
from .text.treebank_files import load_treebank as load_treebank
from .text.treebank_spacy import sentences_from_spacy as sentences_from_spacy
from .text.word_links import load_links as load_links
from .text.word_links import noun_pronoun_links as noun_pronoun_links
from .text.word_links import subject_verb_links as subject_verb_links
from .text.word_vector_files import load_vectors as load_vectors
from .widgets.attention_page import save_page as save_page
from .widgets.coreference_view.widget import CoreferenceView as CoreferenceView
from .widgets.dependency_arcs.probe_view import ProbeView as ProbeView
from .widgets.dependency_arcs.widget import DependencyArcs as DependencyArcs
from .widgets.explorer.widget import Explorer as Explorer
from .widgets.explorer.widget import explore as explore
from .widgets.head_grid.widget import HeadGrid as HeadGrid
from .widgets.head_map.widget import HeadMap as HeadMap
from .widgets.head_view.compare_view import CompareView as CompareView
from .widgets.head_view.widget import HeadView as HeadView
from .widgets.metric_strip.widget import MetricStrip as MetricStrip
from .widgets.prediction_view.widget import PredictionView as PredictionView
from .widgets.relation_table.widget import RelationTable as RelationTable
from .widgets.shared.linking import link as link
from .widgets.shared.session_options import options as options
from .widgets.token_lens.widget import TokenLens as TokenLens

__version__: str
