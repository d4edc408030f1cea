"""Cost of the explanation of a link beside the reading of its text."""

from __future__ import annotations

from attnwidget import load_model
from attnwidget.mechanisms import (
    explain_link,
    key_biplot,
    link_factors,
    score_at_distances,
    score_sources,
)
from benchmarks.rows import Row, in_turns, rows_of

TEXT = "The cat sat on the mat, and the dog that had barked at the moon slept near the river."
ATTEND = "`attend`"


def rows(*, tiny: bool = False) -> list[Row]:
    """Return the rows of `make bench`; with `tiny`, of one round."""
    model = load_model(device="cpu")
    attention = model.attend(TEXT)
    runs = {
        ATTEND: lambda: model.attend(TEXT),
        "`explain_link`": lambda: explain_link(attention, 2, 8, 2, 3),
        "`link_factors`, layer 5": lambda: link_factors(attention, 5, 3, 2, 3),
        "`score_at_distances`, 7 distances": lambda: score_at_distances(
            attention, 0, 8, 2, 3, range(-5, 2)
        ),
        "`key_biplot`": lambda: key_biplot(attention, 2, 8),
        "`score_sources`, layer 5": lambda: score_sources(attention, 5, 3, 2, 3),
    }
    what = f"{len(attention.tokens)} tokens"
    return rows_of(in_turns(runs, 1 if tiny else 7), ATTEND, what=what)
