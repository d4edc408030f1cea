"""What makes a map readable: the tokens to lock, and the sentence about the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.kernels.least_lines import least_lines
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.head_labels import labelled
from attnwidget.widgets.wire.values import in_unit, masked_map

_MOST_NAMED = 3


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
    #: The smallest value of each row that the figure draws as a line.
    least: NDArray[np.float32]

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
    least = least_lines(values)
    rows, columns = (
        np.flatnonzero(~np.isin(axis.special, list(shown.hidden)))
        for axis in (axes.query, axes.key)
    )
    values = values[np.ix_(rows, columns)]
    if shown.renormalise and len(columns) < len(axes.key):
        sums = np.nansum(values, axis=1, keepdims=True)
        values = (values / np.where(sums > 0, sums, 1)).astype(np.float32)
        least[rows] = least_lines(values)
    is_square = axes.query == axes.key
    return _Drawn(values, rows, columns, axes.query, axes.key, is_square, least[rows])


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
        if _is_faint(shown, drawn, i, j):
            return (
                f"{drawn.name('query', i)} looks at no word in particular: most at {to} "
                f"({printed(values[i, j])})"
            )
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
    if _is_faint(shown, drawn, i, j):
        return (
            f"no link stands out: the strongest is {drawn.name('query', i)} to {to} "
            f"({printed(values[i, j])})"
        )
    return f"the strongest link is {drawn.name('query', i)} to {to} ({printed(values[i, j])})"


def _is_faint(shown: Shown, drawn: _Drawn, row: int, column: int) -> bool:
    """Whether a weight is too small for a line of the figure."""
    return shown.quantity == "weights" and bool(drawn.values[row, column] < drawn.least[row])


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
