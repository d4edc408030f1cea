"""The public names of `attnwidget.words` and the modules that define them."""

from .annotated_links import noun_pronoun_links as noun_pronoun_links
from .annotated_links import subject_verb_links as subject_verb_links
from .coreference import probe_coreference as probe_coreference
from .explained_attention import explained_attention as explained_attention
from .governors import predict_governors as predict_governors
from .linguistic_features import probe_features as probe_features
from .no_op import probe_no_op as probe_no_op
from .relations import probe_relations as probe_relations
from .speech import spoken_word_weights as spoken_word_weights
from .speech import word_times as word_times
from .word_alignment import probe_alignment as probe_alignment
from .word_links import probe_links as probe_links
from .word_map_steps import word_map_steps as word_map_steps
