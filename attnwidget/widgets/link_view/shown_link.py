"""The link that locked tokens name: a query, a key and a rival key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class ShownLink:
    """A head, and places of a query, a key and a rival key.

    Attributes:
        attention: The attention of the input.
        head: The head.
        query, key, versus: Places of the tokens; `versus` is None if the query sees a single key.
        is_strongest: Whether the key was not locked, and is the key with most weight.
        is_runner_up: Whether the rival was not chosen, and is the other key with most weight.
        rivals: Further keys that the query sees, in the order of falling weight.
        weights: Weights of the head from the query to all keys, float32 [K], NaN where no key is
            seen.
    """

    attention: Attention
    head: Head
    query: int
    key: int
    versus: int | None
    is_strongest: bool
    is_runner_up: bool
    rivals: tuple[int, ...]
    weights: NDArray[np.float32]

    def has_same_ends(self, other: ShownLink, *, with_rival: bool) -> bool:
        """Whether another link has the same head, query and key, and the same rival if it counts.

        Args:
            other: The other link.
            with_rival: Whether the rival counts.
        """
        is_same = (self.head, self.query, self.key) == (other.head, other.query, other.key)
        has_rival = not with_rival or self.versus == other.versus
        return self.attention is other.attention and is_same and has_rival


def shown_link(
    attention: Attention,
    head: Head,
    tokens: Sequence[tuple[str, int]],
    *,
    hidden: Sequence[str] = (),
    unit: str = "tokens",
    versus: int | None = None,
) -> ShownLink | None:
    """Return the link of the last locked query and the last locked key; None without a query.

    Without a locked key it is the key with most weight. Between words it is the pair of their
    tokens with most weight. Hidden tokens are no keys and no rivals, unless `versus` names one.

    Args:
        attention: Attention of one input.
        head: The head.
        tokens: Locked tokens, as in the trait `tokens` of a figure.
        hidden: Kinds of special tokens that are hidden.
        unit: "tokens" or "words": what the places in `tokens` count.
        versus: Place of the rival token; None, or a token that is no rival = the runner-up.

    Example:
        >>> from attnwidget import Head, load_model
        >>> attention = load_model().attend("The cat sat.")
        >>> link = shown_link(attention, Head(2, 8), [("query", 2), ("key", 3)])
        >>> (link.query, link.key, link.versus)
        (2, 3, 0)
    """
    axes = attention.stacks[head.stack]
    queries = _locked(axes.query, tokens, "query", hidden, unit)
    if queries is None:
        return None
    shown = [i for i, kind in enumerate(axes.key.special) if kind not in hidden]
    keys = _locked(axes.key, tokens, "key", hidden, unit)
    candidates = shown if keys is None else keys
    if not candidates:
        return None
    rows = np.nan_to_num(attention.rows(head.layer, head.head, queries, stack=head.stack), nan=-1.0)
    best = int(rows[:, candidates].argmax())
    query = queries[best // len(candidates)]
    key = candidates[best % len(candidates)]
    weights = rows[best // len(candidates)]
    order = np.argsort(-weights, kind="stable").tolist()
    seen = [int(i) for i in order if weights[i] > 0 and i != key]
    rivals = tuple(i for i in seen if i in set(shown) or i == versus) or tuple(seen)
    is_chosen = versus in rivals
    return ShownLink(
        attention=attention,
        head=head,
        query=query,
        key=key,
        versus=versus if is_chosen else next(iter(rivals), None),
        is_strongest=keys is None,
        is_runner_up=not is_chosen,
        rivals=rivals,
        weights=weights,
    )


def _locked(
    axis: Tokens, marks: Sequence[tuple[str, int]], side: str, hidden: Sequence[str], unit: str
) -> list[int] | None:
    """Return the tokens of the last mark on a side that is there and not hidden."""
    groups: Sequence[Sequence[int]] = [[i] for i in range(len(axis))]
    special: Any = axis.special
    if unit == "words":
        groups = axis.word_groups()
        special = axis.to_words().special
    places = [i for name, i in marks if name == side and i < len(groups)]
    places = [i for i in places if special[i] not in hidden]
    return [int(i) for i in groups[places[-1]]] if places else None
