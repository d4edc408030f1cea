"""The question about a text, and the model's answers with heads on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnwidget.capture.hub_model.predictions import Predictions, Task
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.predict import prediction_task
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head

_NOT_ASKED = (
    "the model itself is asked, and this attention is of given weights or of given queries and "
    "keys, or was made in a block of `disabled`: make one with load_model(...).attend(text), "
    "outside of such a block"
)


def reading_of(attention: Attention) -> tuple[Reading[Attention], Task]:
    """The input of an attention, and what its model predicts.

    Raises:
        ValueError: no model is known that could be asked.
        TypeError: the model has no head that predicts words or classes.
    """
    reading = attention.intact.reading
    if reading is None:
        raise ValueError(_NOT_ASKED)
    return reading, prediction_task(reading.model.hf_model)


def can_be_asked(attention: Attention) -> bool:
    """Whether a model that predicts is there to be asked about an attention's input."""
    try:
        reading_of(attention)
    except (TypeError, ValueError):
        return False
    return True


def stack_of_answers(attention: Attention) -> Stack:
    """The stack of the tokens that can be asked about: the decoder if there is one."""
    stacks = attention.stacks
    return stacks["decoder"] if "decoder" in stacks else next(iter(stacks.values()))


def masks_of(reading: Reading[Attention]) -> list[int]:
    """The positions of mask tokens."""
    mask = getattr(reading.model.tokenizer, "mask_token_id", None)
    return [i for i, token in enumerate(reading.inputs["input_ids"][0].tolist()) if token == mask]


def likeliest(predictions: Predictions) -> int:
    """The id of the first question's most probable answer."""
    return int(predictions.log_probabilities[0].argmax())


def id_of(predictions: Predictions, answer: str) -> int:
    """The id of an answer, as the vocabulary spells it.

    Raises:
        ValueError: there is none.
    """
    predictions.probability(answer)
    place = predictions.answers.found(answer)
    assert place is not None
    return place


class ShownQuestion(NamedTuple):
    """What is asked of the model, beside the input.

    Attributes:
        position: one of `Predictions.positions`.
        answer: the id of the answer that is followed.
    """

    position: int
    answer: int


class Row(NamedTuple):
    """One answer: as a reader sees it, as the vocabulary has it, its id and probabilities."""

    answer: str
    token: str
    id: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """By how much the probability rises."""
        return self.after - self.before


@dataclass(frozen=True, eq=False)
class Answered:
    """Both answers to a question.

    Attributes:
        before: with all heads on.
        after: with heads off; the same object where none are.
        question: the position, and the answer followed.
    """

    before: Predictions
    after: Predictions
    question: ShownQuestion

    @property
    def name(self) -> str:
        """The answer followed, as readers see it."""
        return self.before.answers.spelt([self.question.answer])[0][0]

    def rows(self, top: int) -> list[Row]:
        """The `top` answers of both and the one followed.

        By the size of the change, or by the probability where no heads are off.
        """
        both = [predictions.probabilities[0] for predictions in (self.before, self.after)]
        best = [np.argsort(-shares, kind="stable")[:top] for shares in both]
        ids = sorted({self.question.answer, *map(int, np.concatenate(best))})
        spelt = self.before.answers.spelt(ids)
        rows = [
            Row(*names, i, float(both[0][i]), float(both[1][i]))
            for i, names in zip(ids, spelt, strict=True)
        ]
        if self.after is self.before:
            return sorted(rows, key=lambda row: -row.before)
        return sorted(rows, key=lambda row: -abs(row.change))


def ask(
    reading: Reading[Attention],
    position: int,
    heads: Sequence[Head],
    method: EditMethod | None,
    before: Predictions,
) -> Predictions:
    """What the model answers at a position with heads off; `before` where none are."""
    if not heads:
        return before
    return reading.predict(heads, method, at=None if position < 0 else [position])


def to_wire(answered: Answered, rows: Sequence[Row], **about: Any) -> dict[str, Any]:
    """The answers as the page has them."""
    return {
        "task": answered.before.task,
        "position": answered.question.position,
        "followed": answered.before.answers.spelt([answered.question.answer])[0][1],
        "name": answered.name,
        "model": answered.after.model_name,
        "rows": [
            {"answer": row.answer, "token": row.token, "before": row.before, "after": row.after}
            for row in rows
        ],
        **about,
    }
