"""The public names of `attnwidget.mechanisms` and the modules that define them."""

from .copying import copying_scores as copying_scores
from .direct_effects import direct_effects as direct_effects
from .explain_link import explain_link as explain_link
from .head_composition import head_composition as head_composition
from .head_vocabulary import attended_vocabulary as attended_vocabulary
from .head_vocabulary import head_vocabulary as head_vocabulary
from .head_writes import head_writes as head_writes
from .key_biplot import key_biplot as key_biplot
from .link_factors import link_factors as link_factors
from .logit_lens import logit_lens as logit_lens
from .score_at_distances import score_at_distances as score_at_distances
from .score_sources import score_sources as score_sources
from .token_norms import token_norms as token_norms
from .wavelength_shares import wavelength_shares as wavelength_shares
