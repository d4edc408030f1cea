"""Effects of heads on a logit difference by running the model without them, or by gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.hub_model.answer_logits import answer_logits
from attnwidget.capture.hub_model.losses import Task
from attnwidget.capture.hub_model.model_tensors import without_cache
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.gradient_numbers import gradient_numbers
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.replay import replaying
from attnwidget.capture.tapping.tap import LayerAttention, open_edits
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.array_library import joined
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.gradients import output_products
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.asked_answers import AskedAnswers, asked_answers

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def total_effects(asked: AskedAnswers, attention: Attention) -> Float64Array:
    """Return the logit difference minus the difference with each head's output zero, [L, H].

    Only the layers from the head's layer on run again, as in `ablate`.
    """
    hf_model: Any = asked.reading.model.hf_model
    axes = attention.stacks["self"]
    heads = [Head(layer, head) for layer in axes.layers.numbers for head in range(axes.n_heads)]
    units = [{head: Change("zero", "zero")} for head in heads]
    inputs = asked.question.inputs
    place = torch.tensor([0, asked.row], dtype=torch.long, device="cpu")
    places = place[:1], place[1:]
    off: list[Tensor] = []
    with replaying(hf_model, open_edits(hf_model), intact_edits(hf_model)) as replay:
        intact = asked.difference(answer_logits(replay.intact(inputs))[0, asked.row])
        for _, _, output in replay.without(inputs, units, places=places):
            rows = answer_logits(output)[:, 0 if replay.narrows else asked.row]
            off.append(asked.difference(rows))
    drops = (intact - torch.cat(off)).cpu().numpy()
    effects = np.full((axes.n_layers, axes.n_heads), np.nan)
    for head, drop in zip(heads, drops, strict=True):
        effects[head.layer, head.head] = drop
    return effects


@dataclass(frozen=True, eq=False, repr=False)
class GradientEffects(HeadResult):
    """Effects of heads on a logit difference to first order. Made by `gradient_effects`.

    Attributes:
        effects: float64 [L, H], the output of each head times the gradient of the difference.
        total: float64 [L, H], the difference minus the difference with the head's output zero; None
            if it was not measured.
        logit_difference: The difference of the two logits.
        answer: The answer, as a reader sees it.
        versus: The answer that it competes with.
        position: The token that is predicted.
        model_name: The model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import gradient_effects
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> found = gradient_effects(attention, "her", "his")
        >>> found.answer, found.versus, found.effects.shape
        ('her', 'his', (6, 12))
    """

    effects: Float64Array
    total: Float64Array | None
    logit_difference: float
    answer: str
    versus: str
    position: int

    def heads(self) -> HeadMetrics:
        """The effect of each head by gradient, and the total effect if it was measured: [L, H]."""
        metrics = {"gradient times output": self.effects}
        return metrics if self.total is None else {**metrics, "total effect": self.total}

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """The effects, layers down and heads across; displays without network.

        Args:
            width: Pixels of the whole figure.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        return head_heatmap(
            self.effects,
            title=f"Gradient times output on {self.answer} against {self.versus}: "
            f"{self.model_name}\nlogit difference {self.logit_difference:.3g}",
            value_title="logit difference",
            diverging=True,
            width=width,
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
def gradient_effects(
    attention: Attention,
    answer: str | int,
    versus: str | int,
    *,
    position: int | None = None,
    total: bool = False,
) -> GradientEffects:
    """Estimate how much each head adds to the difference of two logits, by any path.

    With z a head's outputs before the output projection and D the difference of the logits, the sum
    over tokens of z . dD/dz: to first order, the fall of D if the head's output went to zero
    (attribution patching with a zero baseline; Michel et al. 2019, section 4.1, with the sign). It
    exists for every model with gradients, also where `direct_effects` does not (BERT). It is no
    decomposition: the effects do not sum to the difference. The cost is a forward and a backward
    pass.

    Args:
        attention: The attention of a language model with a single stack.
        answer: A vocabulary entry as the vocabulary spells it, or its id.
        versus: The answer that it competes with.
        position: The token to predict, as in `AttentionModel.predict`. None stands for the token
            after the text or the mask token.
        total: Also run the model with the output of each head set to zero.

    Raises:
        TypeError: A model without a head that predicts words, or an encoder-decoder.
        ValueError: No gradient reaches a layer's weights; no such token or answer; attention of
            given weights, under edits or of a long input; padding.
        RuntimeError: The weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import gradient_effects
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> gradient_effects(attention, "her", "his").effects.shape
        (6, 12)
    """
    asked = asked_answers(attention, answer, versus, position, "a gradient effect")
    hf_model: Any = asked.reading.model.hf_model
    axes = attention.stacks["self"]

    def effects_of_layer(seen: LayerAttention, gradient: Tensor) -> Tensor:
        products = output_products(seen.weights.float(), gradient.float())  # [1, H, Q]
        return products[0].sum(-1, dtype=torch.float64)

    def difference(output: Any) -> Tensor:
        return asked.difference(answer_logits(output)[:, asked.row])

    options = without_cache(hf_model)
    task = Task("logit difference", asked.question.inputs, difference)
    with asked.reading.model.lock:
        numbers, values = gradient_numbers(hf_model, task, effects_of_layer, options)
        totals = total_effects(asked, attention) if total else None
    effects = np.full((axes.n_layers, axes.n_heads), np.nan)
    rows = joined([values_of_layer[None] for values_of_layer in numbers.values()])
    effects[[layer for _, layer in numbers]] = rows
    return GradientEffects(
        effects=effects,
        total=totals,
        logit_difference=float(values[0]),
        answer=asked.names[0],
        versus=asked.names[1],
        position=asked.position,
        model_name=attention.model_name,
    )
