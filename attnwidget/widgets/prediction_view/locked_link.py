"""Link between two locked words, from the word that the model is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.interventions.link_cuts import AskedLink, LinkCuts, sees_nothing_later
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.prediction_view.effect_work import MOST_SECONDS, pass_work, speed
from attnwidget.widgets.prediction_view.shown_question import (
    Answered,
    position_after,
    predicted_input,
    what_is_read,
)
from attnwidget.widgets.wire.values import to_wire

#: Tasks in which the complete input is asked about, so that any link of a text can be cut.
_OF_INPUTS = ("class", "span")


class LockedLink(NamedTuple):
    """Link between two locked words, from the word that the model is asked about.

    Attributes:
        of: Query and key, as locked in `unit`.
        unit: "tokens" or "words".
        stack: Stack of the link.
        query: Positions of the tokens that look.
        key: Positions of the tokens that are looked at.
    """

    of: tuple[int, int]
    unit: str
    stack: str
    query: tuple[int, ...]
    key: tuple[int, ...]


def locked_link(
    attention: Attention,
    answered: Answered,
    tokens: Sequence[tuple[str, int]],
    unit: str,
    stack: str,
) -> LockedLink | None:
    """Return the link between the last locked query and key.

    Args:
        attention: Attention of the input.
        answered: Question with its answers.
        tokens: Locked tokens.
        unit: Unit of the locked tokens.
        stack: Stack of the shown head.

    Returns:
        The link; None without a pair, if the question is about another word, if the pair is one
        word, if the query cannot see the key, or if the input is a picture or a sound. A question
        about the class or a span of a text has the links between any words.
    """
    task = answered.before.task
    link = locked_pair(attention, tokens, unit, stack)
    if stack == "encoder" or link is None:
        return None
    axes = attention.stacks[stack]
    reading, _ = predicted_input(attention)
    if task in _OF_INPUTS:
        if what_is_read(reading) != "text":
            return None
    elif position_after(axes.query, link.of[0], unit, task) != answered.position:
        return None
    is_one_text = axes.query == axes.key
    model: Any = reading.model
    is_causal = stack != "cross" and sees_nothing_later(model)
    if is_one_text and link.query == link.key:
        return None
    if is_causal and min(link.key) > max(link.query):
        return None
    return link


def locked_pair(
    attention: Attention, tokens: Sequence[tuple[str, int]], unit: str, stack: str
) -> LockedLink | None:
    """Return the link between the last locked query and key, whether or not a model can use it.

    Args:
        attention: Attention of the input.
        tokens: Locked tokens.
        unit: Unit of the locked tokens.
        stack: Stack of the shown head.

    Returns:
        The link; None without a pair.
    """
    ends = [[index for side, index in tokens if side == name] for name in ("query", "key")]
    if not all(ends):
        return None
    axes = attention.stacks[stack]
    from_, to = (indices[-1] for indices in ends)
    query, key = _positions(axes.query, from_, unit), _positions(axes.key, to, unit)
    if query is None or key is None:
        return None
    return LockedLink((from_, to), unit, stack, query, key)


def can_be_cut_unasked(attention: Attention, *, by_head: bool) -> bool:
    """Return whether the answers without a link are computed before the user cuts it.

    Args:
        attention: Attention of the input.
        by_head: Whether the link is also cut in each head.
    """
    reading, _ = predicted_input(attention)
    stack = next(iter(attention.stacks.values()))
    n_passes = stack.n_layers / 2 + 2 + len(stack.key.word_groups())
    if by_head:
        n_passes += stack.n_layers * stack.n_heads / 2
    return pass_work(attention, reading) * n_passes <= MOST_SECONDS * speed(reading)


def asked_link(attention: Attention, link: LockedLink, answered: Answered) -> AskedLink:
    """Return the link with the answers that the page shows."""
    answers = (answered.answer, *answered.likely_answers())
    return AskedLink(attention, answered.position, link.query, link.key, link.stack, answers)


def cuts_to_wire(cuts: LinkCuts, link: LockedLink, answered: Answered) -> dict[str, Any]:
    """Return the answers with a link cut, for the page."""
    tokens = [token for _, token in answered.before.answers.spelt(cuts.asked.answers)]
    changes = np.abs(cuts.others - cuts.before[0])

    def array(values: Any) -> dict[str, Any]:
        return to_wire(np.asarray(values, np.float32))

    return {
        "of": list(link.of),
        "unit": link.unit,
        "stack": link.stack,
        "tokens": tokens,
        "before": array(cuts.before),
        "everywhere": array(cuts.everywhere),
        "layers": array(cuts.layers),
        "heads": None if cuts.heads is None else array(cuts.heads),
        "others": float(np.median(changes)) if len(changes) else None,
        "weights": array(cuts.weights),
    }


def _positions(axis: Tokens, index: int, unit: str) -> tuple[int, ...] | None:
    """Return the positions of a locked token or word; None if there is no such entry."""
    groups = axis.word_groups() if unit == "words" else [[i] for i in range(len(axis))]
    return tuple(groups[index]) if index < len(groups) else None
