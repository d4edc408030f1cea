"""Changes of scores: tests of changes that are only rounding errors."""

from __future__ import annotations

import numpy as np

from attnwidget.interventions.score_changes import ScoreChanges


def test_rounding_errors_are_no_evidence() -> None:
    intact = np.array([0.83, 0.71, 12.5, 0.4, 0.9, 0.66, 0.75, 0.81])
    noise = intact * 1e-7
    scores = np.stack([intact + noise, intact - noise, intact - 0.01])
    changes = ScoreChanges(scores, intact, judged=False, tested=True)
    assert changes.p[:2].tolist() == [1.0, 1.0]
    assert changes.p[2] < 0.02
