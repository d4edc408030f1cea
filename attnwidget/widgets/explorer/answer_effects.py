"""Effects of heads on a model's next word, where they are computed fast enough to open with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.interventions.head_effects import effects_of
from attnwidget.widgets.explorer.opening import EffectsOf
from attnwidget.widgets.prediction_view.effect_work import pass_work
from attnwidget.widgets.prediction_view.shown_question import likeliest, predicted_input

#: Largest work of a pass, in weights times tokens, of a model whose heads are tried at once.
_QUICK = 3_000_000_000
#: Number of heads that are switched off one by one, those with the largest estimates.
_TRIED = 4


def quick_effects(attention: Attention) -> EffectsOf | None:
    """Return `answer_effects` for models and texts that are small enough to open with, else None.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.answer_effects import quick_effects
        >>> quick_effects(load_model("attnwidget/induction").attend("The cat sat.")) is None
        False
    """
    reading = attention.reading
    if reading is None:
        return None
    # Count the work last: that takes longer than all other questions.
    effects = answer_effects(attention)
    if effects is None:
        return None
    return effects if pass_work(attention, reading) <= _QUICK else None


def answer_effects(attention: Attention) -> EffectsOf | None:
    """Return how to measure the effects of heads on the next word; None without a prediction.

    A gradient estimates the effects of all heads, and the heads with the largest estimates are
    switched off. This takes about as long as eight readings of the text.

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
        asked = (reading, likeliest(predictions), predictions.positions[0])
        try:
            estimates = effects_of(*asked, stack=stack, exact=False)
        except (RuntimeError, ValueError):  # for example, no gradient passes quantized weights
            return {}
        assert estimates is not None
        sizes = np.nan_to_num(np.abs(estimates))
        tried = sorted(heads, key=lambda head: -sizes[head.layer, head.head])[:_TRIED]
        exact = effects_of(*asked, stack=stack, only=tried)
        assert exact is not None
        return {head: float(exact[head.layer, head.head]) for head in tried}

    return effects
