"""The rows of the table of an AtlasView: one row per head, searched and sorted."""

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
#: Outcomes from the strongest evidence to none.
OUTCOMES: tuple[str, ...] = (*get_args(Outcome), "")
_TEXTS = ("name", "runner_up", "outcome")
_NUMBERS = ("strength", "held_out")


def rows_to_wire(atlas: Atlas) -> dict[str, Any]:
    """Return the rows of all heads, layer by layer.

    Args:
        atlas: The atlas of L x H heads.

    Returns:
        Lists of L * H texts (`name`, `runner_up`, `outcome`, and `losing`, the outcome in words for
        readers), float32 arrays of L * H numbers, NaN for heads without a name, and
        the number of heads per layer.
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
    """Return the rows that the table shows, in their order.

    Args:
        frame: The rows of `Atlas.to_frame`.
        search: Text that a head, its name, its runner-up, its outcome or its note contains. Case
            and spaces are ignored.
        sort: One of `COLUMNS`. Heads with equal values keep the order of layers and heads, and
            heads without a value come last.
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
    shown = frame[compact.str.contains(search.casefold().replace(" ", ""), regex=False)]
    if sort == "head":
        by = shown["layer"] * (frame["head"].max() + 1) + shown["head"]
    elif sort == "outcome":
        by = shown["outcome"].map(OUTCOMES.index).replace(OUTCOMES.index(""), np.nan)
    elif sort == "name":
        by = shown["name"].where(shown["name"] != "")
    else:
        by = shown[sort.replace(" ", "_")]
    order = by.sort_values(ascending=not descending, kind="stable", na_position="last").index
    return shown.loc[order].reset_index(drop=True)
