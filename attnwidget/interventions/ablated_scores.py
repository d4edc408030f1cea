"""Scores of one batch of an ablation study, with each unit of heads off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.hub_model.answer_logits import answer_logits
from attnwidget.capture.tapping.replay import Changes, Replay
from attnwidget.interventions.ablation_scores import Score, input_numbers
from attnwidget.interventions.inputs_with_answers import Asked, batch_of

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False)
class AblatedScores:
    """Function from a batch of examples to the scores of the intact model and of each unit off.

    Attributes:
        units: The groups of heads that are switched off in turn.
        score: The score.
    """

    units: Sequence[Changes]
    score: Score

    def __call__(
        self,
        model: AttentionModel,
        replay: Replay,
        inputs: tuple[Sequence[Any], Sequence[Asked]],
    ) -> NDArray[np.float64]:
        """Return the scores, [units + 1, B], the intact model first."""
        batch = batch_of(model, *inputs)
        score = self.score
        output = replay.intact(batch.inputs)
        intact = batch.answers(answer_logits(output)) if score == "kl" else None
        numbers_of_rows = [input_numbers(score, output, batch, 1, intact).cpu().numpy()]
        places = None
        if not callable(score) and batch.columns is not None:
            places = batch.rows, batch.columns
        together = not callable(score)
        for first, last, output in replay.without(
            batch.inputs, self.units, places=places, together=together
        ):
            parts = last - first
            numbers = input_numbers(score, output, batch, parts, intact, narrowed=replay.narrows)
            numbers_of_rows.append(numbers.cpu().numpy())
        return np.concatenate(numbers_of_rows)
