"""Link that the locked tokens choose: a query, a key and a rival key."""

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
    """Link of a head from a query to a key, with a rival key.

    Attributes:
        attention: Attention of the input.
        head: Head of the link.
        query: Position of the query.
        key: Position of the key.
        versus: Position of the rival key; None if the query sees only one key.
        is_strongest: Whether the key is the key with the largest weight because no key was locked.
        is_runner_up: Whether the rival is the other key with the largest weight because no rival
            was chosen.
        rivals: Further keys that the query sees, sorted by descending weight.
        weights: Weights of the head from the query to all keys, float32 [K]; NaN for keys that the
            query does not see.
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
        """Return True if another link has the same head, query and key.

        Args:
            other: Link to compare with.
            with_rival: Whether the rivals must be the same too.
        """
        is_same = (self.head, self.query, self.key) == (other.head, other.query, other.key)
        rivals = (self.versus, self.is_runner_up), (other.versus, other.is_runner_up)
        has_rival = not with_rival or rivals[0] == rivals[1]
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

    If no key is locked, the link goes to the key with the largest weight. If words are locked, the
    link is the pair of their tokens with the largest weight. Hidden tokens are neither keys nor
    rivals, unless `versus` names one.

    Args:
        attention: Attention of one input.
        head: Head of the link.
        tokens: Locked tokens, in the form of the trait `tokens`.
        hidden: Kinds of special tokens that are hidden.
        unit: Unit of the positions in `tokens`, "tokens" or "words".
        versus: Position of the rival token; None, or a token that cannot be a rival = the
            runner-up.

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
    visible = [i for i, kind in enumerate(axes.key.special) if kind not in hidden]
    keys = _locked(axes.key, tokens, "key", hidden, unit)
    candidates = visible if keys is None else keys
    if not candidates:
        return None
    rows = np.nan_to_num(attention.rows(head.layer, head.head, queries, stack=head.stack), nan=-1.0)
    best = int(rows[:, candidates].argmax())
    query = queries[best // len(candidates)]
    key = candidates[best % len(candidates)]
    weights = rows[best // len(candidates)]
    order = np.argsort(-weights, kind="stable").tolist()
    other_keys = [int(i) for i in order if weights[i] > 0 and i != key]
    rivals = tuple(i for i in other_keys if i in set(visible) or i == versus) or tuple(other_keys)
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
    """Return the tokens of the last locked position on a side that exists and is not hidden."""
    groups: Sequence[Sequence[int]] = [[i] for i in range(len(axis))]
    special: Any = axis.special
    if unit == "words":
        groups = axis.word_groups()
        special = axis.to_words().special
    positions = [i for name, i in marks if name == side and i < len(groups)]
    positions = [i for i in positions if special[i] not in hidden]
    return [int(i) for i in groups[positions[-1]]] if positions else None
