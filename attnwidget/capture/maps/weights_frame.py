"""Weights as a tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from attnwidget.capture.maps.stack_axes import Stack


def weights_frame(stacks: Sequence[tuple[Stack, np.ndarray[Any, Any]]]) -> pd.DataFrame:
    """Return a table with one row per weight; text columns are categories.

    Args:
        stacks: Stacks, each with the weights of its layers with attention, [layers, H, Q, K].
    """
    import pandas as pd

    frames = []
    for stack, weights in stacks:
        index, head, query, key = (i.ravel() for i in np.indices(weights.shape, dtype=np.int32))
        numbers = np.array(stack.layers.numbers, dtype=np.int32)
        columns = {"layer": numbers[index], "head": head, "query": query, "key": key}
        columns["query_token"] = np.array(stack.query.text, dtype=object)[query]
        columns["key_token"] = np.array(stack.key.text, dtype=object)[key]
        frame = pd.DataFrame(columns | {"weight": weights.ravel()})
        frame.insert(0, "stack", stack.name)
        frames.append(frame)
    table = pd.concat(frames, ignore_index=True)
    for column in ("stack", "query_token", "key_token"):
        table[column] = table[column].astype("category")
    return table
