"""Effects of heads on a model's next word, if they are fast enough for opening an explorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.interventions.head_effects import effects_of
from attnwidget.widgets.explorer.opening import EffectsOf
from attnwidget.widgets.prediction_view.effect_work import pass_work
from attnwidget.widgets.prediction_view.shown_question import likeliest, predicted_input

#: Maximum work of a pass, in weights times tokens, for which heads are tried when opening.
_QUICK = 3_000_000_000
#: Number of heads with the largest estimates that are disabled one by one.
_TRIED = 4


def quick_effects(attention: Attention) -> EffectsOf | None:
    """Return `answer_effects` if model and text are small enough, otherwise None.

    Args:
        attention: Attention of the text.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.answer_effects import quick_effects
        >>> quick_effects(load_model("attnwidget/induction").attend("The cat sat.")) is None
        False
    """
    reading = attention.reading
    if reading is None:
        return None
    # Count the work last, because this takes longer than the other checks.
    effects = answer_effects(attention)
    if effects is None:
        return None
    return effects if pass_work(attention, reading) <= _QUICK else None


def answer_effects(attention: Attention) -> EffectsOf | None:
    """Return a function that measures effects of heads on the next word; None if it is impossible.

    A gradient estimates the effects of all heads. Then the heads with the largest estimates are
    disabled one by one. This takes about as long as eight forward passes.

    Args:
        attention: Attention of the text.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.answer_effects import answer_effects
        >>> attention = load_model("attnwidget/induction").attend("The cat sat. The cat")
        >>> len(answer_effects(attention)([Head(1, 0), Head(1, 1)]))
        2
        >>> answer_effects(load_model().attend("The cat sat.")) is None
        True
    """
    if attention.is_long or attention.n_prompt is not None or len(attention.stacks) > 1:
        return None
    try:
        reading, task = predicted_input(attention)
    except (TypeError, ValueError):
        return None
    if task != "next":
        return None
    (stack,) = attention.stacks

    def effects(heads: Sequence[Head]) -> Mapping[Head, float]:
        predictions = reading.predict(top=1)
        question = (reading, likeliest(predictions), predictions.positions[0])
        try:
            estimates = effects_of(*question, stack=stack, exact=False)
        except (RuntimeError, ValueError):  # For example, quantized weights have no gradients.
            return {}
        assert estimates is not None
        sizes = np.nan_to_num(np.abs(estimates))
        strongest = sorted(heads, key=lambda head: -sizes[head.layer, head.head])[:_TRIED]
        exact = effects_of(*question, stack=stack, only=strongest)
        assert exact is not None
        return {head: float(exact[head.layer, head.head]) for head in strongest}

    return effects
