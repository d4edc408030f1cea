"""The steps in which a model wrote a text: the chosen token of each step, and its rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.advised_error import on_page

#: Number of rivals of a step.
RIVALS = 4
# Steps that are predicted together: the log probabilities of each one fill a row of the vocabulary.
_AT_ONCE = 64
_NOT_ASKED = "their probabilities are not known: the model was read with heads off"


def generation_steps(
    attention: Attention, heads: Sequence[Head] = (), method: EditMethod | None = None
) -> dict[str, Any] | None:
    """Return the steps of a generation as the page draws them; None if no model wrote the text.

    In each step the model read all tokens before the chosen token. The step therefore belongs to
    the query just before the chosen token. Probabilities come from the model, before options of the
    generation such as a temperature. They are empty if the model cannot be asked, and `problem`
    then says why.

    Args:
        attention: The attention over prompt and continuation, from `AttentionModel.generate`.
        heads: The heads that are off.
        method: What stands in the place of these heads; None = the default of the model.

    Returns:
        `first`, the query of the first step; `count`, the number of steps; `chosen`, the
        probability of the chosen token per step; `rivals`, the likeliest other tokens per step, as
        (text, probability), the likeliest first; `problem`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.head_view.generation_steps import generation_steps
        >>> attention = load_model("attnwidget/induction").generate("The man", max_new_tokens=3)
        >>> steps = generation_steps(attention)
        >>> steps["first"], steps["count"], len(steps["chosen"]), len(steps["rivals"][0])
        (2, 3, 3, 4)
    """
    n_prompt = attention.n_prompt
    if n_prompt is None:
        return None
    written = attention.stacks["decoder" if "decoder" in attention.stacks else "self"].query
    if n_prompt >= len(written):
        return None
    steps: dict[str, Any] = {"first": n_prompt - 1, "count": len(written) - n_prompt}
    steps |= {"chosen": [], "rivals": [], "problem": ""}
    reading = attention.intact.reading
    if reading is None or (attention.edits and not heads):
        return steps | {"problem": _NOT_ASKED}
    try:
        places = range(n_prompt, len(written))
        for start in range(0, len(places), _AT_ONCE):
            chosen, rivals = _probabilities(
                reading, places[start : start + _AT_ONCE], heads, method
            )
            steps["chosen"] += chosen
            steps["rivals"] += rivals
    except (RuntimeError, TypeError, ValueError) as error:
        # A model that was closed or changed since cannot be asked; its maps can still be shown.
        return steps | {"chosen": [], "rivals": [], "problem": on_page(error)}
    return steps


def _probabilities(
    reading: Reading[Attention],
    places: Sequence[int],
    heads: Sequence[Head],
    method: EditMethod | None,
) -> tuple[list[float], list[list[tuple[str, float]]]]:
    """Return the probability of the token at each place, and of its likeliest rivals."""
    answers = reading.predict(heads, method, positions=places)
    inputs = reading.inputs
    ids = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"][0]
    chosen = []
    rivals = []
    for place, shares in zip(places, answers.probabilities, strict=True):
        token = int(ids[place])
        chosen.append(_rounded(shares[token]))
        best = [int(i) for i in np.argsort(-shares, kind="stable")[: RIVALS + 1] if i != token]
        others = best[:RIVALS]
        names = [text for text, _ in answers.answers.spelt(others)]
        rivals.append([(name, _rounded(shares[i])) for name, i in zip(names, others, strict=True)])
    return chosen, rivals


def _rounded(probability: Any) -> float:
    return round(float(probability), 6)
