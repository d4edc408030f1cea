"""Generation steps of a text: the chosen token of each step, and its most likely alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.advised_error import on_page

#: Number of alternative tokens per step.
RIVALS = 4
# Number of steps per batch, which is limited because each step needs a row of the vocabulary size.
_AT_ONCE = 64
_NOT_ASKED = "their probabilities are not known: the model was read with heads off"


def generation_steps(
    attention: Attention, heads: Sequence[Head] = (), method: EditMethod | None = None
) -> dict[str, Any] | None:
    """Return the generation steps for the page; None if no model generated the text.

    In each step the model reads all tokens before the chosen token. The step therefore belongs to
    the query just before the chosen token. The probabilities are the model's, before generation
    options such as the temperature. If the model cannot compute them, they are empty and `problem`
    has the reason.

    Args:
        attention: Attention over prompt and continuation, from `AttentionModel.generate`.
        heads: Disabled heads.
        method: Replacement method of the disabled heads; None = the default of the model.

    Returns:
        `first`, the query of the first step; `count`, the number of steps; `chosen`, the
        probability of the chosen token per step; `rivals`, the most likely other tokens per step as
        (text, probability), sorted by probability; `problem`.

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
    generated_axis = attention.stacks["decoder" if "decoder" in attention.stacks else "self"].query
    if n_prompt >= len(generated_axis):
        return None
    steps: dict[str, Any] = {"first": n_prompt - 1, "count": len(generated_axis) - n_prompt}
    steps |= {"chosen": [], "rivals": [], "problem": ""}
    reading = attention.intact.reading
    if reading is None or (attention.edits and not heads):
        return steps | {"problem": _NOT_ASKED}
    try:
        positions = range(n_prompt, len(generated_axis))
        for start in range(0, len(positions), _AT_ONCE):
            token_probabilities, rivals = _probabilities(
                reading, positions[start : start + _AT_ONCE], heads, method
            )
            steps["chosen"] += token_probabilities
            steps["rivals"] += rivals
    except (RuntimeError, TypeError, ValueError) as error:
        # A model that was closed or changed cannot predict, but its maps can still be shown.
        return steps | {"chosen": [], "rivals": [], "problem": on_page(error)}
    return steps


def _probabilities(
    reading: Reading[Attention],
    places: Sequence[int],
    heads: Sequence[Head],
    method: EditMethod | None,
) -> tuple[list[float], list[list[tuple[str, float]]]]:
    """Return the probabilities of each place's token and of its most likely alternatives."""
    answers = reading.predict(heads, method, positions=places)
    inputs = reading.inputs
    ids = inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"][0]
    token_probabilities = []
    rivals = []
    for position, distribution in zip(places, answers.probabilities, strict=True):
        token = int(ids[position])
        token_probabilities.append(_rounded(distribution[token]))
        most_likely = [
            int(i) for i in np.argsort(-distribution, kind="stable")[: RIVALS + 1] if i != token
        ]
        others = most_likely[:RIVALS]
        names = [text for text, _ in answers.answers.spelt(others)]
        rivals.append(
            [(name, _rounded(distribution[i])) for name, i in zip(names, others, strict=True)]
        )
    return token_probabilities, rivals


def _rounded(probability: Any) -> float:
    return round(float(probability), 6)
