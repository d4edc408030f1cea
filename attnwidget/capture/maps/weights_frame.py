"""Weights as a tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from attnwidget.capture.maps.head_maps import HeadMaps
    from attnwidget.capture.maps.stack_axes import Stack
    from attnwidget.capture.tapping.head import HeadName


def weights_frame(
    stacks: Sequence[tuple[Stack, np.ndarray[Any, Any]]],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Return a table with one row per weight; text columns are categories.

    Args:
        stacks: Stacks, each with weights [layers, heads, Q, K].
        layers: Numbers of the layers; None = all layers of the stack with attention.
        heads: Numbers of the heads; None = all heads.
    """
    import pandas as pd

    frames = []
    for stack, weights in stacks:
        index, head, query, key = (i.ravel() for i in np.indices(weights.shape, dtype=np.int32))
        numbers = np.array(stack.layers.numbers if layers is None else layers, dtype=np.int32)
        if heads is not None:
            head = np.array(heads, dtype=np.int32)[head]
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


def frame_of_maps(
    head_maps: HeadMaps,
    stacks: Mapping[str, Stack],
    maps: np.ndarray[Any, Any],
    layer: int | HeadName | None,
    head: int | HeadName | None,
    stack: str | None,
) -> pd.DataFrame:
    """Return the table of the maps of one head, of a layer or of a stack.

    Args:
        head_maps: Maps that resolve the names of heads.
        stacks: Stacks with the tokens, or the words, of both axes.
        maps: Weights [Q, K], [H, Q, K] or [L, H, Q, K].
        layer: Layer, or the name of a head; None for all layers.
        head: Head; None for all heads of the layer.
        stack: Stack, needed only if there are several.
    """
    if maps.ndim == 4:
        axes = stacks[head_maps.stack(stack).name]
        return weights_frame([(axes, maps[list(axes.layers.numbers)])])
    is_layer = maps.ndim == 3
    number, index, name = head_maps.head_in(stack, layer, 0 if is_layer else head)
    heads = range(len(maps)) if is_layer else [index]
    maps = maps.reshape(1, len(heads), *maps.shape[-2:])
    return weights_frame([(stacks[name], maps)], layers=[number], heads=heads)
