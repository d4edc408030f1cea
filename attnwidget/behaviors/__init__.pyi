"""The public names of `attnwidget.behaviors` and the modules that define them."""

from .behavior import LinkBehavior as LinkBehavior
from .effects.measure_rules import measure_rules as measure_rules
from .effects.rules_in_text import with_rules as with_rules
from .examples.head_examples import head_examples as head_examples
from .gallery.head_gallery import head_gallery as head_gallery
from .gallery.link_panels import link_panels as link_panels
from .gallery.relation_panels import relation_panels as relation_panels
from .places.find_links import find_links as find_links
from .scatter_heads import scatter_heads as scatter_heads
from .scores.measure_behaviors import measure_behaviors as measure_behaviors
from .scores.monotonicity_scores import monotonicity_scores as monotonicity_scores
