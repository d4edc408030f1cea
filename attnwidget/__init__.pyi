"""The public names and where each lives: what type checkers see, and what is loaded on first use.

What comes from `metrics` is at hand here too, but not listed: a notebook asks for it by name.
"""

from . import metrics as metrics
from .capture.attention import Attention as Attention
from .capture.head import Head as Head
from .capture.load import load_model as load_model
from .capture.model import AttentionModel as AttentionModel
from .capture.stack import Stack as Stack
from .charts.offline import offline as offline
from .charts.theme import in_dark as in_dark
from .drawing.panels import panels as panels
from .metrics import Classes as Classes
from .metrics import Confidence as Confidence
from .metrics import Distances as Distances
from .metrics import Entropy as Entropy
from .metrics import Gradients as Gradients
from .metrics import Induction as Induction
from .metrics import Norms as Norms
from .metrics import Patterns as Patterns
from .metrics import Position as Position
from .probes.structural_probe import structural_probe as structural_probe
from .probes.structural_result import load_structural_probe as load_structural_probe
from .studies.ablation import ablate as ablate
from .studies.behaviours import behaviours as behaviours
from .studies.compare import compare as compare
from .studies.coreference import probe_coreference as probe_coreference
from .studies.governors import predict_governors as predict_governors
from .studies.head_importance import head_importance as head_importance
from .studies.induction import induction_scores as induction_scores
from .studies.linguistic_features import probe_features as probe_features
from .studies.looking_away import probe_looking_away as probe_looking_away
from .studies.measure import measure as measure
from .studies.minimal_pairs import score as score
from .studies.relations import probe_relations as probe_relations
from .studies.results import Measurements as Measurements
from .studies.rollout import flow as flow
from .studies.rollout import rollout as rollout
from .studies.segmenting import make_segments as make_segments
from .studies.segmenting import read_segments as read_segments
from .studies.word_links import probe_links as probe_links
from .text.coreference import load_coreference as load_coreference
from .text.demonstrations import demo_genres as demo_genres
from .text.demonstrations import demo_pairs as demo_pairs
from .text.demonstrations import demo_prose as demo_prose
from .text.demonstrations import demo_texts as demo_texts
from .text.demonstrations import demo_treebank as demo_treebank
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
from .widgets.attention_page import save_page as save_page
from .widgets.coreference_view.widget import CoreferenceView as CoreferenceView
from .widgets.dependency_arcs.widget import DependencyArcs as DependencyArcs
from .widgets.explorer.widget import Explorer as Explorer
from .widgets.explorer.widget import explore as explore
from .widgets.head_grid.widget import HeadGrid as HeadGrid
from .widgets.head_map.widget import HeadMap as HeadMap
from .widgets.head_view.widget import HeadView as HeadView
from .widgets.metric_strip.widget import MetricStrip as MetricStrip
from .widgets.prediction_view.widget import PredictionView as PredictionView
from .widgets.relation_table.widget import RelationTable as RelationTable
from .widgets.shared.linking import link as link
from .widgets.shared.options import options as options
from .widgets.token_lens.widget import TokenLens as TokenLens

__version__: str
