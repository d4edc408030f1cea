"""The public names of `attnwidget.interventions` and the modules that define them."""

from .gradient_effects import gradient_effects as gradient_effects
from .head_importance import head_importance as head_importance
from .knockout import knockout as knockout
from .minimal_pairs import measure_minimal_pairs as measure_minimal_pairs
from .needed_links import needed_links as needed_links
from .patch_heads import patch_heads as patch_heads
from .patch_path import patch_path as patch_path
