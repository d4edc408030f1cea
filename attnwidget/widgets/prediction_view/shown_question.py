"""The question about a text, and the model's answers with heads on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnwidget.capture.answers.predictions import Predictions, Task
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.maps.patch_probe import PIXELS
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.predict import prediction_task
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.mask_token import mask_places
from attnwidget.text.tokens import Tokens


def predicted_input(attention: Attention) -> tuple[Reading[Attention], Task]:
    """Return the input of an attention with all heads on, and what its model predicts.

    Raises:
        ValueError: no model is known that could be asked.
        TypeError: the model has no head that predicts words or classes.
    """
    reading = reading_of(attention.intact, "a prediction")
    return reading, prediction_task(reading.model.hf_model)


def can_be_asked(attention: Attention) -> bool:
    """Whether a model that predicts is there to be asked about an attention's input."""
    try:
        predicted_input(attention)
    except (TypeError, ValueError):
        return False
    return True


def stack_of_answers(attention: Attention) -> Stack:
    """The stack of the tokens that can be asked about: the decoder if there is one."""
    stacks = attention.stacks
    return stacks["decoder"] if "decoder" in stacks else next(iter(stacks.values()))


def what_is_read(reading: Reading[Attention]) -> str:
    """What a class is the class of: "text", "picture" or "sound"."""
    inputs = reading.inputs
    if "input_ids" in inputs:
        return "text"
    if reading.media is not None and reading.media.sounds:
        return "sound"
    return "picture" if any(name in inputs for name in PIXELS) else "sound"


def masks_of(reading: Reading[Attention]) -> list[int]:
    """The positions of mask tokens."""
    return mask_places(reading.model.tokenizer, reading.inputs["input_ids"][0].tolist())


def default_position(reading: Reading[Attention]) -> int | None:
    """The token that a masked model is asked about if no other is chosen: its first mask token."""
    return next(iter(masks_of(reading)), None)


def position_after(axis: Tokens, entry: int, unit: str, task: Task) -> int | None:
    """The position that a locked entry of an axis asks about; None if there is no such entry.

    A masked model answers what stands there, and a causal model what follows.
    """
    index = entry
    if unit == "words":
        groups = axis.word_groups()
        if index >= len(groups):
            return None
        # What follows a word follows its last token.
        index = groups[index][-1 if task == "next" else 0]
    return index + (task == "next") if index < len(axis) else None


def as_at(position: int) -> list[int] | None:
    """Return one of `Predictions.positions` as the option `at` of `AttentionModel.predict`."""
    return None if position < 0 else [position]


def asked_places(reading: Reading[Attention], position: int | None) -> tuple[int, ...] | None:
    """Return the tokens that a question asks about; None for the default of the model.

    The first piece of a masked word is asked about together with the other pieces of the word.
    """
    if position is None or position < 0:
        return None
    tokens = reading.tokens
    if tokens is None or prediction_task(reading.model.hf_model) != "masked":
        return (position,)
    pieces = tokens.pieces_of_word(position)
    return tuple(pieces) if pieces[0] == position else (position,)


#: Number of answers whose changes an explorer says.
LIKELIEST = 5


class OwnWord(NamedTuple):
    """The asked word of the text: as readers see it, and the ids of its pieces."""

    text: str
    ids: tuple[int, ...]


def own_word(reading: Reading[Attention], predictions: Predictions) -> OwnWord | None:
    """Return the word of the text that a model masked to be asked.

    Return None if the model masked no word, or if the vocabulary lacks the word.
    """
    if predictions.task != "masked":
        return None
    places = predictions.positions
    ids = reading.inputs["input_ids"][0].tolist()
    own = tuple(int(ids[place]) for place in places)
    tokenizer = reading.model.tokenizer
    if mask_places(tokenizer, own) or getattr(tokenizer, "unk_token_id", None) in own:
        return None
    spelt = reading.tokens.added if reading.tokens is not None else predictions.tokens
    return OwnWord("".join(spelt[place] for place in places).strip(), own)


def likeliest(predictions: Predictions) -> int:
    """The id of the first question's most probable answer."""
    return int(predictions.log_probabilities[0].argmax())


def id_of(predictions: Predictions, answer: str) -> int:
    """The id of an answer, as the vocabulary spells it.

    Raises:
        ValueError: there is none.
    """
    place = predictions.answers.found(answer, warns=False)
    return predictions.answers.index(answer) if place is None else place


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
        answer: the id of the answer that is followed.
        own: the word of the text; None without a word that was masked.
    """

    before: Predictions
    after: Predictions
    answer: int
    own: OwnWord | None = None

    @property
    def position(self) -> int:
        """The token that is predicted, as in `Predictions.positions`."""
        return self.before.positions[0]

    @property
    def name(self) -> str:
        """The answer followed, as readers see it."""
        return self.before.answers.spelt([self.answer])[0][0]

    def own_share(self, predictions: Predictions) -> float:
        """The probability of the word of the text.

        Each piece was predicted with masks in the later pieces, so this is the product over pieces.
        """
        assert self.own is not None
        ids = self.own.ids
        return float(np.exp(predictions.log_probabilities[range(len(ids)), ids].sum()))

    def likely_answers(self) -> tuple[int, ...]:
        """The ids of the likeliest answers and of the word of the text, without `answer`."""
        best = np.argsort(-self.before.log_probabilities[0], kind="stable")[:LIKELIEST].tolist()
        own = self.own.ids if self.own is not None and len(self.own.ids) == 1 else ()
        return tuple(i for i in dict.fromkeys((*best, *own)) if i != self.answer)

    def rows(self, top: int) -> list[Row]:
        """The `top` answers of both and the one followed.

        By the size of the change, or by the probability where no heads are off.
        """
        both = [predictions.probabilities[0] for predictions in (self.before, self.after)]
        best = [np.argsort(-shares, kind="stable")[:top] for shares in both]
        ids = sorted({self.answer, *map(int, np.concatenate(best))})
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
    return reading.predict(heads, method, positions=asked_places(reading, position))


def answers_to_wire(answered: Answered, rows: Sequence[Row], **about: Any) -> dict[str, Any]:
    """The answers as the page has them."""
    own = answered.own
    return {
        "task": answered.before.task,
        "position": answered.position,
        "piece": list(answered.before.pieces[0]) if answered.before.pieces else [1, 1],
        "own": own
        and {
            "answer": own.text,
            "token": "" if len(own.ids) > 1 else answered.before.answers.spelt(own.ids)[0][1],
            "before": answered.own_share(answered.before),
            "after": answered.own_share(answered.after),
        },
        "followed": answered.before.answers.spelt([answered.answer])[0][1],
        "name": answered.name,
        "model": answered.after.model_name,
        "rows": [
            {"answer": row.answer, "token": row.token, "before": row.before, "after": row.after}
            for row in rows
        ],
        **about,
    }
