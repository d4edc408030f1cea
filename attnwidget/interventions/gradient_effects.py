"""First-order effects of heads on a logit difference, from gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import (
    language_model,
    predicted_position,
    whole_reading_of,
)
from attnwidget.corpus.results import HeadHeatMap, HeadResult, per_head
from attnwidget.interventions.head_effects import total_effects
from attnwidget.interventions.head_gradients import head_gradients, output_times_gradient
from attnwidget.interventions.rival_answers import rival_answers
from attnwidget.interventions.scores import question_scores
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch

if TYPE_CHECKING:
    import pandas as pd

_WHAT = "a gradient effect"


@dataclass(frozen=True, eq=False, repr=False)
class GradientEffects(HeadResult):
    """First-order effects of heads on a logit difference. Made by `gradient_effects`.

    Attributes:
        effects: Output of each head times the gradient of the difference, float64 [L, H].
        total: Logit difference minus the difference with the head's output set to zero, float64 [L,
            H]; None if it was not measured.
        logit_difference: Difference of the two logits.
        answer: Answer in readable form.
        versus: Competing answer in readable form.
        position: Predicted token.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import gradient_effects
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> found = gradient_effects(attention, "her", "his")
        >>> found.answer, found.versus, found.effects.shape
        ('her', 'his', (6, 12))
    """

    effects: Float64Array = field(metadata=per_head("gradient times output"))
    total: Float64Array | None = field(metadata=per_head("total effect"))
    logit_difference: float
    answer: str
    versus: str
    position: int

    figure = HeadHeatMap(
        "effects",
        "Gradient times output on {self.answer} against {self.versus}",
        "logit difference",
        "{self.model_name}; logit difference {self.logit_difference:.3g}",
        diverging=True,
    )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head and metric: layer and head (from 0), metric, value.

        `attrs` has the "model", "answer", "versus", "position" and "logit_difference".
        """
        frame = super().to_frame()
        frame.attrs |= {"answer": self.answer, "versus": self.versus}
        frame.attrs |= {"position": self.position, "logit_difference": self.logit_difference}
        return frame

    def __repr__(self) -> str:
        size = "×".join(map(str, self.effects.shape))
        return (
            f"GradientEffects({self.model_name}, {self.answer} against {self.versus}: "
            f"{self.logit_difference:.3g}, {size} heads)"
        )


@in_plain_torch
@says_cuts
def gradient_effects(
    attention: Attention,
    answer: str | int,
    versus: str | int,
    *,
    position: int | None = None,
    with_total: bool = False,
) -> GradientEffects:
    """Estimate the contribution of each head to the difference of two logits, by any path.

    The estimate is the sum over tokens of z . dD/dz, where z are a head's outputs before the output
    projection and D is the logit difference. It is, to first order, the decrease of D if the head's
    output were zero (attribution patching with a zero baseline; Michel et al. 2019, section 4.1,
    with the sign). It exists for every model with gradients, also if `direct_effects` does not
    apply (BERT). It is not a decomposition: the effects do not sum to the difference. The cost is a
    forward and a backward pass.

    Args:
        attention: Attention of a language model with a single stack.
        answer: Vocabulary entry in the spelling of the vocabulary, or its id.
        versus: Competing answer, in the same forms.
        position: Token to predict, as in `AttentionModel.predict`. None = the token after the text,
            or the mask token.
        with_total: Whether to run the model with the output of each head set to zero as well.

    Raises:
        TypeError: If the model has no head that predicts words, or is an encoder-decoder.
        ValueError: If no gradient reaches a layer's weights; if there is no such token or answer;
            if the attention comes from given weights, edits or a long input; or if there is
            padding.
        RuntimeError: If the weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import gradient_effects
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> gradient_effects(attention, "her", "his").effects.shape
        (6, 12)
    """
    reading = whole_reading_of(attention, _WHAT)
    model = language_model(reading, _WHAT)
    target_position = predicted_position(reading, model, position)
    batch, names = rival_answers(model, reading.inputs, target_position, answer, versus)
    hf_model = model.hf_model

    def difference(output: Any) -> Tensor:
        return question_scores("difference of logits", batch.logits(output)[0], batch)

    with model.lock.in_turn():
        numbers, values = head_gradients(hf_model, batch.inputs, difference, output_times_gradient)
        totals = total_effects(hf_model, batch) if with_total else None
    return GradientEffects(
        effects=numbers[0, 0],
        total=totals,
        logit_difference=float(values[0]),
        answer=names[0],
        versus=names[1],
        position=target_position,
        model_name=attention.model_name,
    )
