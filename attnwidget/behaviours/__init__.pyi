"""The public names of `attnwidget.behaviours` and the modules that define them."""

from .behaviour import LinkBehaviour as LinkBehaviour
from .examples.head_examples import head_examples as head_examples
from .places.find_links import find_links as find_links
from .scores.alignment_scores import alignment_scores as alignment_scores
from .scores.score_behaviours import score_behaviours as score_behaviours
