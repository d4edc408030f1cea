"""The sentence about a model's answer, and the head on which the answer depends most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.explorer.story import names_of
from attnwidget.widgets.prediction_view.shown_question import Answered
from attnwidget.widgets.prediction_view.widget import PredictionView

#: A smaller change of a probability is no story.
_LEAST = 0.02


class EffectTold(NamedTuple):
    """A sentence about the answer without a head, and the head."""

    text: str
    head: Head


def answer_told(view: PredictionView) -> str:
    """Return what becomes of the answer while heads are off; "" without such a change.

    Example:
        >>> from attnwidget import PredictionView, load_model
        >>> from attnwidget.widgets.explorer.answers_told import answer_told
        >>> attention = load_model().attend("The woman washed [MASK] hands.")
        >>> view = PredictionView(attention, disabled=[(5, 8)])
        >>> answer_told(view).split(" from ")[0]
        'Without L5 H8 (uniform), “her” falls'
        >>> view.close()
    """
    answered: Answered | None = view._answered
    if answered is None or answered.after is answered.before:
        return ""
    before, after = (
        float(predictions.probabilities[0][answered.question.answer])
        for predictions in (answered.before, answered.after)
    )
    return _sentence(view, view._edit[0], answered.name, before, after)


def effect_told(view: PredictionView) -> EffectTold | None:
    """Return the head without which the answer changes most; None before this is known exactly."""
    answered: Answered | None = view._answered
    effects = view.effects
    if answered is None or effects is None or view.is_estimate or view.disabled:
        return None
    layer, head = np.unravel_index(np.abs(effects).argmax(), effects.shape)
    effect = float(effects[layer, head])
    if abs(effect) < _LEAST:
        return None
    before = float(answered.before.probabilities[0][answered.question.answer])
    strongest = Head(int(layer), int(head), view.stack)
    return EffectTold(
        _sentence(view, [strongest], answered.name, before, before + effect), strongest
    )


def _sentence(
    view: PredictionView, heads: list[Head], name: str, before: float, after: float
) -> str:
    heads_off = f"{names_of(heads, view.labels)} ({view._method_used()})"
    if f"{before:.3f}" == f"{after:.3f}":
        return f"Without {heads_off}, “{name}” stays at {before:.3f}"
    way = "falls" if after < before else "rises"
    return f"Without {heads_off}, “{name}” {way} from {before:.3f} to {after:.3f}"
