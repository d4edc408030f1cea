"""The strongest links of a head, of a layer or of all heads, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head, HeadName, names_head
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.near_names import among
from attnwidget.text.place_of_token import TokenName, place_of_token
from attnwidget.text.whole_number import whole_number, whole_numbers

if TYPE_CHECKING:
    import pandas as pd

    from attnwidget.capture.maps.head_maps import HeadMaps

#: Part of a map: first query, query end, first key and key end, with the ends excluded.
Part: TypeAlias = tuple[int, int, int, int]
#: Strongest links of a head in a part: (head, number of links, part) -> (query, key, weight).
LinksOfHead: TypeAlias = Callable[[Head, int, Part], list[tuple[int, int, float]]]

#: Sentences of the queries and of the keys, in the names of `HeadView.sentences`.
Sentences: TypeAlias = Literal["all", "aa", "ab", "ba", "bb"]

_KINDS = ("cls", "sep", "first")
_SENTENCES = ("all", "aa", "ab", "ba", "bb")


def top_links(
    head_maps: HeadMaps,
    stacks: Mapping[str, Stack],
    links_of_head: LinksOfHead,
    layer: int | HeadName | None,
    head: int | None,
    *,
    top: int,
    query: TokenName | None,
    key: TokenName | None,
    stack: str | None,
    within: Part | None,
    sentences: str,
    hidden: str | Collection[str],
) -> pd.DataFrame:
    """Return the strongest links of heads as a table, strongest first.

    Args:
        head_maps: Maps that resolve the names of heads.
        stacks: Stacks with the tokens, or the words, of both axes.
        links_of_head: Function that returns the strongest links of one head.
        layer: Layer, or the name of a head; None for all layers.
        head: Head; None for all heads of the layer, or if `layer` is the name of a head.
        top: Number of links.
        query: Attending token; None for all.
        key: Attended token; None for all.
        stack: Stack, needed only if there are several.
        within: Part of the map to search; None for the whole map.
        sentences: Sentences of the queries and of the keys.
        hidden: Kinds of special tokens that are left out.

    Raises:
        ValueError: See `Attention.top_links`.
    """
    import pandas as pd

    if layer is None and head is None:
        axes = stacks[head_maps.stack(stack).name]
        layers: Sequence[int] = axes.layers.numbers
        heads: Sequence[int] = range(axes.n_heads)
    else:
        is_layer = head is None and not names_head(layer)
        named = head_maps.head_in(stack, layer, 0 if is_layer else head)
        axes = stacks[named.stack]
        layers = [named.layer]
        heads = range(axes.n_heads) if is_layer else [named.head]
    part = _part_of(axes, query, key, within)
    top = whole_number("top", top, 1, "link")
    left_out = _of_kinds(axes, hidden)
    for positions, others in zip(left_out, _of_other_sentences(axes, sentences), strict=True):
        positions |= others
    rows: list[tuple[int, int, int, int, float]] = []
    for number, index in product(layers, heads):
        one = Head(number, index, axes.name)
        links = _visible_links(links_of_head, one, top, part, left_out)
        rows += [(number, index, *link) for link in links]
    rows.sort(key=lambda row: -row[-1])
    frame = pd.DataFrame(rows[:top], columns=["layer", "head", "query", "key", "weight"])
    frame.insert(4, "query_token", [axes.query.text[position] for position in frame["query"]])
    frame.insert(5, "key_token", [axes.key.text[position] for position in frame["key"]])
    return frame


def largest_links(
    weights: Float32Array, count: int, part: Part, *, diagonal: bool
) -> list[tuple[int, int, float]]:
    """Return (query, key, weight) of the largest weights in a part of a complete map, in order.

    Args:
        weights: Map of a head, [Q, K]; NaN where masked.
        count: Number of links.
        part: Part of the map.
        diagonal: Whether to include links from a token to itself.

    Example:
        >>> import numpy as np
        >>> from attnwidget.capture.maps.top_links import largest_links
        >>> largest_links(np.eye(2, dtype=np.float32), 1, (0, 2, 0, 2), diagonal=True)
        [(0, 0, 1.0)]
    """
    first, last, left, right = part
    values = np.nan_to_num(weights[first:last, left:right], nan=-1.0)
    if not diagonal:
        rows, columns = np.indices(values.shape)
        values[rows + first == columns + left] = -1.0
    order = np.argsort(-values, axis=None, kind="stable")[:count]
    links = []
    for index in order.tolist():
        row, column = divmod(index, right - left)
        if values[row, column] >= 0:
            links.append((first + row, left + column, float(values[row, column])))
    return links


def _part_of(
    axes: Stack, query: TokenName | None, key: TokenName | None, within: Part | None
) -> Part:
    """Return the part of the map to search."""
    if within is not None and (query is not None or key is not None):
        raise ValueError(
            f"within={within!r} is a part of the map, and query={query!r}, key={key!r} name "
            "tokens: pass the part or the tokens"
        )
    if within is not None and not (isinstance(within, Sequence) and len(within) == 4):
        raise ValueError(
            f"within must be four positions, (first query, query end, first key, key end), got "
            f"{within!r}; sentences='ab' is the part from sentence A to sentence B"
        )
    first, last, left, right = within or (0, len(axes.query), 0, len(axes.key))
    check_part("queries", (first, last), len(axes.query))
    check_part("keys", (left, right), len(axes.key))
    if query is not None:
        first = place_of_token("query", query, axes.query, repr(axes.name))
        last = first + 1
    if key is not None:
        left = place_of_token("key", key, axes.key, repr(axes.name))
        right = left + 1
    return first, last, left, right


def check_part(name: str, part: tuple[int, ...], count: int) -> None:
    """Raise ValueError unless a part is a range of tokens.

    Args:
        name: Name of the argument.
        part: First token and end, with the end excluded.
        count: Number of tokens.
    """
    ends = whole_numbers(name, part)
    if len(ends) != 2 or not 0 <= ends[0] < ends[1] <= count:
        raise ValueError(f"{name} must be (from, to) among 0 to {count}, to excluded; got {part}")


def _of_kinds(axes: Stack, hidden: str | Collection[str]) -> tuple[set[int], set[int]]:
    """Return the queries and keys that are special tokens of a hidden kind."""
    kinds = {hidden} if isinstance(hidden, str) else set(hidden)
    kinds = {kind.strip("[]").lower() for kind in kinds}
    for kind in sorted(kinds - set(_KINDS)):
        raise ValueError(f"hidden={kind!r} is no kind of special tokens: {among(kind, _KINDS)}")
    return tuple(  # type: ignore[return-value]
        {position for position, kind in enumerate(axis.special) if kind in kinds}
        for axis in (axes.query, axes.key)
    )


def _of_other_sentences(axes: Stack, sentences: str) -> tuple[set[int], set[int]]:
    """Return the queries and keys that are in the other sentence of the pair."""
    if sentences not in _SENTENCES:
        raise ValueError(f"sentences={sentences!r} is unknown: {among(sentences, _SENTENCES)}")
    if sentences == "all":
        return set(), set()
    both = (axes.query, axes.key)
    if not all({0, 1} <= {*axis.segments} for axis in both):
        raise ValueError(
            f"sentences={sentences!r} needs two sentences, and this input has one: read two with "
            "model.attend(text, pair)"
        )
    return tuple(  # type: ignore[return-value]
        {at for at, segment in enumerate(axis.segments) if segment != "ab".index(sentence)}
        for axis, sentence in zip(both, sentences, strict=True)
    )


def _visible_links(
    links_of_head: LinksOfHead,
    head: Head,
    top: int,
    part: Part,
    left_out: tuple[set[int], set[int]],
) -> list[tuple[int, int, float]]:
    """Return the strongest links of a head without those of hidden tokens."""
    queries, keys = left_out
    first, last, left, right = part
    total = (last - first) * (right - left)
    count = top
    while True:
        links = links_of_head(head, count, part)
        visible = [link for link in links if link[0] not in queries and link[1] not in keys]
        if len(visible) >= top or count >= total or not (queries or keys):
            return visible[:top]
        count = min(total, 4 * count)
