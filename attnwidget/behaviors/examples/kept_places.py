"""Lists of the k best links of every head, which can be merged in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.accumulator import State

#: Arrays of a list: rank (smallest first), position (segment, query and key), weight, and norm of
#: the transformed vector.
PLACE_ARRAYS = ("rank", "place", "weight", "strength")


def no_places(shape: tuple[int, ...], *, rank: Any) -> dict[str, NDArray[Any]]:
    """Return an empty list of links.

    Args:
        shape: Shape of heads and links, for example [L, H, k].
        rank: Rank of an empty slot: the largest value of its type.
    """
    return {
        "rank": np.full(shape, rank),
        "place": np.full((*shape, 3), -1, np.int64),
        "weight": np.zeros(shape, np.float32),
        "strength": np.zeros(shape, np.float32),
    }


def best_places(first: State, second: State, k: int) -> dict[str, NDArray[Any]]:
    """Return the k links with the smallest ranks of two lists, smallest rank first.

    Equal ranks are ordered by segment, query and key, so the order of merging does not matter.

    Args:
        first: List with the `PLACE_ARRAYS`, [..., k], or [..., k, 3] for "place".
        second: Another list with the same leading axes.
        k: Number of links to keep.

    Example:
        >>> import numpy as np
        >>> from attnwidget.behaviors.examples.kept_places import best_places, no_places
        >>> lists = [no_places((2,), rank=np.inf) for _ in range(2)]
        >>> lists[0]["rank"][0], lists[1]["rank"][0] = 0.5, 0.25
        >>> best_places(*lists, 2)["rank"].tolist()
        [0.25, 0.5]
    """
    combined = {
        name: np.concatenate([first[name], second[name]], axis=-2 if name == "place" else -1)
        for name in PLACE_ARRAYS
    }
    segment, query, key = np.moveaxis(combined["place"], -1, 0)
    order = np.lexsort((key, query, segment, combined["rank"]))[..., :k]
    best = {
        name: np.take_along_axis(combined[name], order, -1)
        for name in PLACE_ARRAYS
        if name != "place"
    }
    return best | {"place": np.take_along_axis(combined["place"], order[..., None], -2)}


def best_sample(
    first: State, second: State, k: int, of_heads: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the k positions with the smallest ranks of two samples that all heads share.

    Args:
        first: Sample with "sample rank" [N], "sample place" [N, 3], and the arrays of `of_heads`.
        second: Another sample.
        k: Number of positions to keep.
        of_heads: Names of arrays with one number per head at each position, [L, H, N].
    """
    rank = np.concatenate([first["sample rank"], second["sample rank"]])
    order = np.argsort(rank, kind="stable")[:k]
    positions = np.concatenate([first["sample place"], second["sample place"]])
    sample = {"sample rank": rank[order], "sample place": positions[order]}
    for name in of_heads:
        sample[name] = np.concatenate([first[name], second[name]], -1)[..., order]
    return sample


def named(prefix: str, arrays: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of a list, with the list name as a prefix of their names."""
    return {f"{prefix} {name}": values for name, values in arrays.items()}


def of_list(prefix: str, state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of one list from a state that has several lists."""
    return {name: state[f"{prefix} {name}"] for name in PLACE_ARRAYS}
