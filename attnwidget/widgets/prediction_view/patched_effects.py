"""Effects of heads by patching outputs from the current text into a pass over a second text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.model_reading import whole_reading_of
from attnwidget.capture.predict import prediction_task
from attnwidget.inputs.advised_error import AdvisedError
from attnwidget.inputs.mask_token import mask_id_of
from attnwidget.interventions.patch_heads import patch_heads
from attnwidget.widgets.prediction_view.shown_question import as_at


class PatchedEffects(NamedTuple):
    """Effects of patching each head's outputs from the current text into the second text.

    Attributes:
        effects: Change of the logit difference by each head, in nats, [L, H].
        versus: Text of the rival answer.
        corrupted: Second text, in its tokens.
        logit_differences: Logit differences in the second text and in the current text.
    """

    effects: NDArray[np.float64]
    versus: str
    corrupted: str
    logit_differences: tuple[float, float]


def patched_effects(
    attention: Attention, position: int, answer: int, corrupted: str, versus: int | None
) -> PatchedEffects:
    """Return the effects of all heads, patching one head at a time with `patch_heads`.

    The predicted token has the same position in both texts.

    Args:
        attention: Attention of the current text.
        position: Position of the predicted token, as in `Predictions.positions`.
        answer: Id of the tracked answer.
        corrupted: Second text, with the same number of tokens; "" = no second text.
        versus: Id of the rival answer; None = the most likely other answer for the second text.

    Raises:
        TypeError: If `patch_heads` raises it.
        ValueError: If there is no second text, it has another number of tokens, the attention has
            no model or is of two texts, or if `patch_heads` raises it.
    """
    if not corrupted:
        raise AdvisedError(
            "patching compares with a second text of as many tokens, and there is none",
            'set corrupted="..."',
        )
    reading = whole_reading_of(attention, "patching")
    model = reading.model
    assert isinstance(model, AttentionModel)
    segments = reading.tokens.segments if reading.tokens is not None else ()
    if len(set(segments)) > 1:
        raise ValueError("patching in this figure is of one text, and this input has two")
    inputs = model.question(reading.inputs, position, reading.tokens).encoded
    clean = inputs["input_ids"][0].tolist()
    other = list(model.inputs.encoder(corrupted).ids)
    if len(other) != len(clean):
        raise ValueError(
            f"the second text has {len(other)} tokens and this text has {len(clean)}: outputs of "
            "heads are patched token by token, so write a text of as many tokens"
        )
    task = prediction_task(model.hf_model)
    if task in ("label", "span"):
        raise ValueError(
            "patching in this figure is of words and classes, and this model predicts "
            f"{task}s: effects_by='passes' has the exact effects of heads"
        )
    if task == "masked":
        mask_id = mask_id_of(model.tokenizer, "a masked word")
        for masked_position in (
            [position] if reading.tokens is None else reading.tokens.rest_of_word(position)
        ):
            other[masked_position] = mask_id
    if task == "next":
        clean, other = clean[:position], other[:position]
    predictions = model.predict(other, positions=as_at(position))
    order = predictions.log_probabilities[0].argsort()[::-1]
    rival = int(order[order != answer][0]) if versus is None else versus
    patches = patch_heads(
        model, (clean, answer), (other, rival), heads=_all_heads(attention), progress=False
    )
    return PatchedEffects(
        effects=patches.of_heads.difference,
        versus=predictions.answers.spelt([rival])[0][0],
        corrupted=" ".join(model.inputs.encoder.axis(other).text),
        logit_differences=(float(patches.corrupted[0]), float(patches.clean[0])),
    )


def _all_heads(attention: Attention) -> list[tuple[int, int]]:
    (axes,) = attention.stacks.values()
    return [(layer, head) for layer in axes.layers.numbers for head in range(axes.n_heads)]
