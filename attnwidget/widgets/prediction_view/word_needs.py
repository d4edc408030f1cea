"""Attention to each word and need of it, for the bars at the words of an explorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.advised_error import on_page
from attnwidget.interventions.needed_links import needed_links
from attnwidget.interventions.needed_links_result import NeededLinks
from attnwidget.widgets.prediction_view.effect_work import pass_work, speed
from attnwidget.widgets.prediction_view.shown_question import (
    Answered,
    predicted_input,
    stack_of_answers,
)
from attnwidget.widgets.shared.durations import duration_in_words
from attnwidget.widgets.wire.values import to_wire

#: Maximum estimated duration of a measurement on the page, in seconds.
MOST_SECONDS = 60
#: Duration in passes for the last token of a causal model, and number of further words per pass.
_LAST_TOKEN = 4
_WORDS_PER_PASS = 40


class WantedNeeds(NamedTuple):
    """Request for the words that an answer needs.

    Attributes:
        attention: Attention of the input with all heads on.
        answered: Question with its answers.
        heads: Heads that are disabled.
        method: Replacement method of disabled heads.
        unit: "words" or "tokens".
    """

    attention: Attention
    answered: Answered
    heads: tuple[Head, ...]
    method: EditMethod
    unit: str


def word_needs(
    wanted: WantedNeeds,
    stopped: Callable[[], bool],
    on_pass: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Return the attention to each word and the need of it, for the page.

    Args:
        wanted: Request.
        stopped: Function that is called between passes; if it returns True, the rest is left out.
        on_pass: Function that receives the same result after each pass, with NaN for the need of
            words that are left.

    Returns:
        "problem": the reason why there are no needs, or "". Otherwise, for each word but the asked
        one, its entry in the axis ("entries"), "attention", "need", and whether its order is
        "compared"; the "agreement" of both and the "control", None if unknown or if words are left.
    """
    answered = wanted.answered
    about = {
        "position": answered.position,
        "followed": answered.before.answers.spelt([answered.answer])[0][1],
        "unit": wanted.unit,
        "off": [list(head) for head in wanted.heads],
    }
    problem = _problem_of(wanted)
    if problem:
        return {**about, "problem": problem}
    attention = wanted.attention
    if wanted.heads:
        attention = attention.disabled(wanted.heads, wanted.method)
    by_word = wanted.unit == "words"
    axis = stack_of_answers(attention).query
    groups = axis.word_groups() if by_word else [[i] for i in range(len(axis))]
    entry_of = {position: entry for entry, group in enumerate(groups) for position in group}

    def result(needs: NeededLinks) -> dict[str, Any]:
        return {**about, **_to_wire(needs, entry_of)}

    try:
        needs = needed_links(
            attention,
            answered.answer,
            position=answered.position,
            by="word" if by_word else "token",
            n_random_links=0,
            stopped=stopped,
            on_pass=None if on_pass is None else lambda needs: on_pass(result(needs)),
        )
    except (TypeError, ValueError) as error:
        return {**about, "problem": on_page(error)}
    return result(needs)


def _to_wire(needs: NeededLinks, entry_of: Mapping[int, int]) -> dict[str, Any]:
    """Return the needs for the page, without an agreement until all words are measured."""
    return {
        "problem": "",
        "query": entry_of[needs.query_position],
        "entries": [entry_of[positions[0]] for positions in needs.positions],
        "attention": to_wire(needs.attention.astype(np.float32)),
        "need": to_wire(needs.need.astype(np.float32)),
        "compared": needs.compared.tolist(),
        "probability": needs.probability,
        "agreement": _number(needs.agreement) if needs.complete else None,
        "control": _number(needs.control) if needs.complete else None,
        "heads": needs.n_heads,
        "masked": needs.asked_by_mask,
    }


def _problem_of(wanted: WantedNeeds) -> str:
    """Return the reason why the needs are not measured on the page; "" if they are."""
    attention = wanted.attention
    count = len(stack_of_answers(attention).query)
    if attention.is_long or len(attention.stacks) > 1:
        return on_page(
            ValueError(
                f"the words that an answer needs are measured in one text of up to 1,024 tokens, "
                f"and this input has {count:,} tokens in {len(attention.stacks)} stacks"
            )
        )
    reading, task = predicted_input(attention)
    passes = 1 + count if task == "masked" else _LAST_TOKEN + count / _WORDS_PER_PASS
    seconds = passes * pass_work(attention, reading) / speed(reading)
    if seconds <= MOST_SECONDS:
        return ""
    return (
        f"Measuring the {count:,} tokens takes {duration_in_words(seconds)}: shorten the text, or "
        "call needed_links(attention) in Python."
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
