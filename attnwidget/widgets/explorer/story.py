"""What makes a map readable: the tokens to lock and hide, and the sentence about the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.head_labels import labelled
from attnwidget.widgets.wire.values import in_unit, masked_map

#: Special tokens are hidden if they get more than this share of a head's attention.
DROWNING = 1 / 3
#: Kinds of special tokens that can be hidden.
KINDS = ("cls", "sep", "first")
_MOST_NAMED = 3


@dataclass(frozen=True)
class Focus:
    """The tokens that are locked, as (side, index), and the kinds of tokens that are hidden."""

    tokens: tuple[tuple[str, int], ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """What an explorer shows, as far as the sentence about it depends on this.

    Attributes:
        attention: The shown attention.
        head: The shown head; None if no head is selected.
        quantity: "weights", "norms" or "gradients".
        unit: "tokens" or "words".
        tokens: The locked tokens, as (side, index).
        hidden: The kinds of special tokens that are hidden.
        disabled: The heads that are switched off.
        method: What stands in the place of these heads; None if no head is off.
        renormalise: Whether the view divides each row by the sum of its visible weights.
        labels: The labels of heads.
    """

    attention: Attention
    head: Head | None
    quantity: str = "weights"
    unit: str = "tokens"
    tokens: Sequence[tuple[str, int]] = ()
    hidden: Sequence[str] = ()
    disabled: Sequence[Head] = ()
    method: str | None = None
    renormalise: bool = False
    labels: Mapping[Head, str] = field(default_factory=dict)


def focus_of(
    attention: Attention, head: Head, unit: str = "tokens", mask: str | None = None
) -> Focus:
    """Return what makes the map of a head readable.

    Special tokens are hidden if words give them more than a third of their attention. The locked
    token is the query of the largest weight from a word to another word. The next prediction of a
    causal model depends on the last word, which is therefore locked in a causal map. In a text that
    the model wrote, the locked token is the query of its last step. A masked model predicts the
    mask token, which is therefore locked in a text with a mask. In a model without [CLS] the first
    token counts as special. Long inputs keep all tokens.

    Args:
        attention: The attention.
        head: The attention head.
        unit: "tokens" or "words".
        mask: The mask token, as the vocabulary spells it; None = the model has none.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.story import focus_of
        >>> attention = load_model().attend("The captain told his men that he would not leave.")
        >>> focus_of(attention, Head(1, 3))
        Focus(tokens=(('query', 7),), hidden=('cls', 'sep'))
    """
    if attention.is_long:
        return Focus()
    axes = in_unit(attention, unit).stacks[head.stack]
    weights = np.nan_to_num(masked_map(attention, "weights", head, unit))
    hidden = _drowning(axes.query, axes.key, weights)
    asking, answering = (
        words_of(axis) & ~np.isin(axis.special, hidden) for axis in (axes.query, axes.key)
    )
    if mask in axes.query.raw:
        return Focus((("query", axes.query.raw.index(str(mask))),), hidden)
    allowed = asking[:, None] & answering
    if head.stack != "cross":
        owners = _owners(axes.query)
        allowed &= np.not_equal.outer(owners, owners)
        if is_causal(attention, head) and asking.any():
            is_generated = attention.n_prompt is not None and unit == "tokens"
            # The last token of a generated text is written from the token before it.
            last = len(asking) - 2 if is_generated else int(np.flatnonzero(asking)[-1])
            return Focus((("query", last),), hidden)
    if not (allowed & (weights > 0)).any():
        return Focus((), hidden)
    query, _ = np.unravel_index(np.where(allowed, weights, -1).argmax(), weights.shape)
    return Focus((("query", int(query)),), hidden)


def words_of(axis: Tokens) -> NDArray[np.bool_]:
    """Return which tokens belong to words, bool [n]: no [CLS], [SEP], padding or punctuation."""
    return np.array(
        [
            kind in ("", "first") and any(sign.isalnum() for sign in text)
            for text, kind in zip(axis.text, axis.special, strict=True)
        ],
        bool,
    )


def is_causal(attention: Attention, head: Head) -> bool:
    """Whether no token of a head's map sees the tokens after it."""
    visible = attention.visible(head.layer, head.head, stack=head.stack)
    return visible is not None and len(visible) > 1 and not np.triu(visible, 1).any()


def told(shown: Shown, name: str = "") -> str:
    """Return the sentence about a picture: which word looks where, and what is hidden.

    `name` is the name of the head in the sentence; "" = its usual name with its label.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.story import Shown, told
        >>> attention = load_model().attend("The captain told his men that he would not leave.")
        >>> told(Shown(attention, Head(1, 3), tokens=[("query", 7)], hidden=["cls", "sep"]))
        'L1 H3: “he” looks most at “captain” (0.59); [CLS] and [SEP] hidden, 47 % of its attention'
    """
    head = shown.head
    if head is None:
        return ""
    if head in shown.disabled:
        return f"{labelled(head, shown.labels)} is switched off ({shown.method})"
    subject = name or labelled(head, shown.labels)
    if shown.quantity != "weights":
        subject = f"{subject} by {shown.quantity}"
    if shown.attention.is_long:
        return _told_of_long(shown, head, subject)
    drawn = _drawn_of(shown, head)
    if drawn.values.size == 0:
        return f"{subject}: every token is hidden"
    return "; ".join(filter(None, [f"{subject}: {_link(shown, drawn)}", left_out(shown)]))


def left_out(shown: Shown) -> str:
    """Return the hidden tokens in words, with their share of the shown head's attention."""
    head = shown.head
    if head is None or shown.attention.is_long:
        return ""
    axes = in_unit(shown.attention, shown.unit).stacks[head.stack]
    hidden = np.isin(axes.key.special, list(shown.hidden))
    if not hidden.any():
        return ""
    names = dict.fromkeys(
        "the first token" if kind == "first" else text
        for text, kind, is_hidden in zip(axes.key.text, axes.key.special, hidden, strict=True)
        if is_hidden
    )
    said = f"{' and '.join(names)} hidden"
    rows = ~np.isin(axes.query.special, list(shown.hidden))
    values = masked_map(shown.attention, shown.quantity, head, shown.unit)[rows]
    total = np.nansum(values)
    if shown.quantity != "weights" or not total > 0:
        return said
    share = float(np.nansum(values[:, hidden]) / total)
    return f"{said}, {share * 100:.0f} % of its attention"


def names_of(heads: Sequence[Head], labels: Mapping[Head, str]) -> str:
    """Return the names of heads with their labels: of many heads, the first three names."""
    names = ", ".join(labelled(head, labels) for head in heads[:_MOST_NAMED])
    rest = len(heads) - _MOST_NAMED
    return f"{names} and {rest} more" if rest > 0 else names


def printed(value: Any) -> str:
    """Return a weight with two digits: "0.61", "0.0042"."""
    return f"{value:.2f}" if abs(value) >= 0.095 else f"{value:.2g}"


def spelt(axis: Tokens, index: int) -> str:
    """Return a token as the sentence names it: words in quotes, special tokens without."""
    text = axis.text[index].strip() or axis.raw[index].strip() or "␣"
    return text if axis.special[index] in ("cls", "sep", "other") else f"“{text}”"


@dataclass(frozen=True)
class _Drawn:
    """The drawn part of a map: `values` [rows, columns], and the drawn positions of both axes."""

    values: NDArray[np.float32]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    query: Tokens
    key: Tokens
    #: Whether both axes have the same tokens.
    is_square: bool

    def name(self, side: str, place: int) -> str:
        axis, places = (self.query, self.rows) if side == "query" else (self.key, self.columns)
        return spelt(axis, int(places[place]))

    def other(self, side: str, place: int, of: int) -> str:
        """Return the token of a side, or "itself" if it is the token `of` of the other side."""
        row, column = (place, of) if side == "query" else (of, place)
        same = self.is_square and self.rows[row] == self.columns[column]
        return "itself" if same else self.name(side, place)


def _drawn_of(shown: Shown, head: Head) -> _Drawn:
    axes = in_unit(shown.attention, shown.unit).stacks[head.stack]
    values = masked_map(shown.attention, shown.quantity, head, shown.unit)
    rows, columns = (
        np.flatnonzero(~np.isin(axis.special, list(shown.hidden)))
        for axis in (axes.query, axes.key)
    )
    values = values[np.ix_(rows, columns)]
    if shown.renormalise and len(columns) < len(axes.key):
        sums = np.nansum(values, axis=1, keepdims=True)
        values = (values / np.where(sums > 0, sums, 1)).astype(np.float32)
    return _Drawn(values, rows, columns, axes.query, axes.key, axes.query == axes.key)


def _link(shown: Shown, drawn: _Drawn) -> str:
    """Return which locked word looks where; without a lock, the strongest link."""
    values = drawn.values
    i = _last(shown.tokens, "query", drawn.rows)
    j = _last(shown.tokens, "key", drawn.columns)
    if i is not None and j is not None:
        weight = "masked" if np.isnan(values[i, j]) else printed(values[i, j])
        return f"{drawn.name('query', i)} looks at {drawn.other('key', j, i)} ({weight})"
    if i is not None:
        if np.isnan(values[i]).all():
            return f"{drawn.name('query', i)} sees none of the shown tokens"
        j = int(np.nanargmax(values[i]))
        to = drawn.other("key", j, i)
        return f"{drawn.name('query', i)} looks most at {to} ({printed(values[i, j])})"
    if j is not None:
        if np.isnan(values[:, j]).all():
            return f"none of the shown tokens sees {drawn.name('key', j)}"
        i = int(np.nanargmax(values[:, j]))
        by = drawn.other("query", i, j)
        return f"{drawn.name('key', j)} gets most from {by} ({printed(values[i, j])})"
    if np.isnan(values).all():
        return "none of the shown tokens sees another one"
    i, j = (int(place) for place in np.unravel_index(np.nanargmax(values), values.shape))
    to = drawn.other("key", j, i)
    return f"the strongest link is {drawn.name('query', i)} to {to} ({printed(values[i, j])})"


def _last(tokens: Sequence[tuple[str, int]], side: str, places: NDArray[np.int64]) -> int | None:
    """Return the place of the last locked token of a side that is drawn."""
    drawn = [int(np.flatnonzero(places == i)[0]) for s, i in tokens if s == side and i in places]
    return drawn[-1] if drawn else None


def _told_of_long(shown: Shown, head: Head, subject: str) -> str:
    """Return the sentence about a long input, of which a single row is computed."""
    axes = shown.attention.stacks[head.stack]
    queries = [index for side, index in shown.tokens if side == "query"]
    if shown.unit != "tokens" or shown.quantity != "weights" or not queries:
        return f"{subject} over {len(axes.query):,} tokens"
    row = shown.attention.rows(head.layer, head.head, queries[-1], stack=head.stack)
    j = int(np.where(np.isin(axes.key.special, list(shown.hidden)), -1, row).argmax())
    from_ = spelt(axes.query, queries[-1])
    return f"{subject}: {from_} looks most at {spelt(axes.key, j)} ({printed(row[j])})"


def _owners(axis: Tokens) -> NDArray[np.int64]:
    """Return the number of each token's word, so that pieces of a word are no link."""
    owners = np.zeros(len(axis), np.int64)
    for word, group in enumerate(axis.word_groups()):
        owners[group] = word
    return owners


def _drowning(query: Tokens, key: Tokens, weights: NDArray[np.float32]) -> tuple[str, ...]:
    """Return the kinds of special tokens to hide, for weights [Q, K] without NaN."""
    asks, gets = (np.isin(axis.special, KINDS) for axis in (query, key))
    if not gets.any() or asks.all():
        return ()
    share = float(weights[~asks][:, gets].sum(-1).mean())
    return tuple(kind for kind in KINDS if kind in key.special) if share > DROWNING else ()
