"""Special tokens on which much attention rests, in most heads of a model."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_maps import StackMaps
from attnwidget.kernels.array_library import as_numpy

#: Kinds of special tokens that can be hidden.
KINDS = ("cls", "sep", "first")
#: Thresholds for much attention: a share of all attention, and a multiple of the even share.
MUCH = 0.1
TIMES_EVEN = 3
# Maximum number of queries per map that are counted, because a share needs no more.
_QUERIES = 128


@dataclass(frozen=True)
class RestingPlaces:
    """Special tokens on which much attention rests.

    Attributes:
        kinds: Kinds of these tokens, some of "cls", "sep" and "first"; empty if little attention
            rests on special tokens.
        share: Share of the attention over all heads and queries, from 0 to 1; 0 without kinds.
    """

    kinds: tuple[str, ...] = ()
    share: float = 0.0


_NOWHERE = RestingPlaces()
_known: WeakKeyDictionary[Attention, RestingPlaces] = WeakKeyDictionary()


def resting_places(attention: Attention) -> RestingPlaces:
    """Return the special tokens on which much attention rests.

    Figures hide these tokens by default. Their share is the mean over all heads and queries; if
    there are more than 128 queries, over 128 evenly spread queries. The first queries of a causal
    map have few visible keys, so only queries with at least half as many visible keys as the last
    query are counted. The share is large if it exceeds 10 % and 3 times the even share. The even
    share is the share if every query attends evenly to all visible keys. In a model with several
    stacks, one stack with a large share is enough. No share is computed for a long input, whose
    first key is marked separately in figures.

    Args:
        attention: Attention to examine; disabled heads do not matter.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.capture.maps.resting_places import resting_places
        >>> text = "The nurse who met the lawyers said that she was tired."
        >>> resting = resting_places(load_model().attend(text))
        >>> resting.kinds, round(resting.share, 2)
        (('cls', 'sep'), 0.49)
    """
    intact = attention.intact
    if intact not in _known:
        _known[intact] = _resting(intact)
    return _known[intact]


def _resting(attention: Attention) -> RestingPlaces:
    if attention.is_long:
        return _NOWHERE
    kinds: set[str] = set()
    largest = 0.0
    for name, stack in attention.stacks.items():
        special = np.isin(stack.key.special, KINDS)
        if not special.any():
            continue
        with attention.head_maps.lock.in_turn(), attention.head_maps.without_gradients():
            share, even = _shares(attention.stack_maps(name), np.flatnonzero(special))
        if share > max(MUCH, TIMES_EVEN * even):
            kinds |= set(stack.key.special) & set(KINDS)
            largest = max(largest, share)
    return RestingPlaces(tuple(kind for kind in KINDS if kind in kinds), largest)


def _shares(maps: StackMaps, special: NDArray[np.int64]) -> tuple[float, float]:
    """Return the share of weights to special keys, and the same share for even attention."""
    n_query = len(maps.query)
    step = -(-n_query // _QUERIES)
    rows = list(range(step - 1, n_query, step))
    part = maps.part(rows, range(len(maps.key)))
    to_special = 0.0
    to_all = 0.0
    even_shares = []
    for layer, stack_layer in enumerate(maps.layers):
        heads = slice(0, stack_layer.n_heads)
        weights = part(layer, heads, "weights")
        visible_keys = stack_layer.seen_by(heads)
        if visible_keys is None:
            is_counted = np.ones((1, len(rows)), bool)
            even_shares.append(len(special) / len(maps.key))
        else:
            visible = as_numpy(visible_keys)[..., rows, :]
            counts = visible.sum(-1)
            is_counted = 2 * counts >= counts.max(-1, keepdims=True)
            shares = visible[..., special].sum(-1) / np.maximum(counts, 1)
            even_shares.append(float(shares[is_counted].mean()))
        to_special += float((as_numpy(weights[..., special.tolist()].sum(-1)) * is_counted).sum())
        to_all += float((as_numpy(weights.sum(-1)) * is_counted).sum())
    return to_special / to_all if to_all else 0.0, float(np.mean(even_shares))
