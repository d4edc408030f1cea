"""Rows of the table in an AtlasView, with one row per head, searched and sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from attnwidget.behaviors.effects.head_effect import LOSING_IT_HURTS, Outcome
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.widgets.wire.values import to_wire

if TYPE_CHECKING:
    import pandas as pd

#: Columns by which the rows can be sorted.
COLUMNS = ("head", "name", "strength", "held out", "outcome")
#: Outcomes, from the strongest evidence to no evidence.
OUTCOMES: tuple[str, ...] = (*get_args(Outcome), "")
_TEXTS = ("name", "runner_up", "outcome")
_NUMBERS = ("strength", "held_out")


def rows_to_wire(atlas: Atlas) -> dict[str, Any]:
    """Return the rows of all heads, layer by layer, for the page.

    Args:
        atlas: Atlas of L x H heads.

    Returns:
        Lists of L * H texts: `name`, `runner_up` and `outcome`, and for readers the outcome in
        words (`losing`). Float32 arrays of L * H numbers, with NaN for
        heads without a name. The number of layers, and the number of heads per layer.
    """
    frame = atlas.to_frame()
    n_layers, n_heads = atlas.names.shape
    return {
        "layers": int(n_layers),
        "heads": int(n_heads),
        **{column: frame[column].tolist() for column in _TEXTS},
        "losing": [LOSING_IT_HURTS[outcome][0] for outcome in frame["outcome"]],
        **{column: to_wire(frame[column].to_numpy(np.float32)) for column in _NUMBERS},
    }


def shown_rows(frame: pd.DataFrame, search: str, sort: str, descending: bool) -> pd.DataFrame:
    """Return the rows that match the search, sorted.

    Args:
        frame: Rows of `Atlas.to_frame`.
        search: Text to find in the head number, its name, its runner-up, its outcome or its note;
            case and spaces are ignored.
        sort: Column to sort by, one of `COLUMNS`. Heads with equal values keep the order of layers
            and heads, and heads without a value come last.
        descending: Whether the largest value comes first.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.widgets.atlas_view.head_rows import shown_rows
        >>> frame = pd.DataFrame({"layer": [0, 0], "head": [0, 1], "name": ["", "broad"],
        ...     "runner_up": ["", ""], "outcome": ["", "null"], "note": ["", ""],
        ...     "strength": [float("nan"), 0.5]})
        >>> shown_rows(frame, "", "strength", True)["head"].tolist()
        [1, 0]
        >>> shown_rows(frame, "L0H0", "head", False)["head"].tolist()
        [0]
    """
    heads = "L" + frame["layer"].astype(str) + "H" + frame["head"].astype(str)
    texts = heads
    for column in ("name", "runner_up", "outcome", "note"):
        texts = texts + "\n" + frame[column]
    compact = texts.str.casefold().str.replace(" ", "", regex=False)
    matches = frame[compact.str.contains(search.casefold().replace(" ", ""), regex=False)]
    if sort == "head":
        sort_values = matches["layer"] * (frame["head"].max() + 1) + matches["head"]
    elif sort == "outcome":
        sort_values = matches["outcome"].map(OUTCOMES.index).replace(OUTCOMES.index(""), np.nan)
    elif sort == "name":
        sort_values = matches["name"].where(matches["name"] != "")
    else:
        sort_values = matches[sort.replace(" ", "_")]
    order = sort_values.sort_values(
        ascending=not descending, kind="stable", na_position="last"
    ).index
    return matches.loc[order].reset_index(drop=True)
