"""Stored scores of dependency probes on a large treebank."""

from __future__ import annotations

import json
from importlib.resources import files

from attnwidget.hidden_frames import hides_frames
from attnwidget.probes.dependency.dependency_scores import DependencyScores, scores_from_json

_FILE = "demo/dependency_scores.json"


@hides_frames
def demo_dependency_scores() -> DependencyScores:
    """Return the scores of the bundled model's dependency probes on UD English EWT.

    The probes were trained on the 12,544 training sentences in one pass with three seeds and GloVe
    vectors of 50 dimensions, and scored on the 2,001 sentences of the dev part. The package has
    neither the sentences nor the vectors: `docs/models/measure_dependency_probes.py` repeats the
    training.

    Example:
        >>> from attnwidget.demo import demo_dependency_scores
        >>> demo_dependency_scores().finding.split(";")[0]
        'attention+words finds 63 % of the governors'
    """
    text = files("attnwidget").joinpath(_FILE).read_text("utf-8")
    return scores_from_json(json.loads(text))
