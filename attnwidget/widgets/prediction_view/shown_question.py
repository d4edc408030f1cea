"""Question about a text, and the model's answers with all heads and with disabled heads."""

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
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.inputs.mask_token import mask_places
from attnwidget.text.tokens import Tokens


def predicted_input(attention: Attention) -> tuple[Reading[Attention], Task]:
    """Return an attention's input with all heads on, and the prediction task of its model.

    Args:
        attention: Attention of the input.

    Raises:
        ValueError: If the attention has no model.
        TypeError: If the model has no prediction head for words or classes.
    """
    reading = reading_of(attention.intact, "a prediction")
    return reading, prediction_task(reading.model.hf_model)


def can_be_asked(attention: Attention) -> bool:
    """Return True if the attention has a model that can predict."""
    try:
        predicted_input(attention)
    except (TypeError, ValueError):
        return False
    return True


def stack_of_answers(attention: Attention) -> Stack:
    """Return the stack whose tokens the model predicts: the decoder if there is one."""
    stacks = attention.stacks
    return stacks["decoder"] if "decoder" in stacks else next(iter(stacks.values()))


def what_is_read(reading: Reading[Attention]) -> str:
    """Return the kind of input that a model classifies: "text", "picture" or "sound"."""
    inputs = reading.inputs
    if "input_ids" in inputs:
        return "text"
    if reading.media is not None and reading.media.sounds:
        return "sound"
    return "picture" if any(name in inputs for name in PIXELS) else "sound"


def masks_of(reading: Reading[Attention]) -> list[int]:
    """Return the positions of mask tokens."""
    return mask_places(reading.model.tokenizer, reading.inputs["input_ids"][0].tolist())


def default_position(reading: Reading[Attention]) -> int | None:
    """Return the position that a masked model predicts by default: the first mask token."""
    return next(iter(masks_of(reading)), None)


def position_after(axis: Tokens, entry: int, unit: str, task: Task) -> int | None:
    """Return the position that is predicted for a locked entry of an axis, or None.

    A masked model predicts the token at the entry, a causal model the token after it.

    Args:
        axis: Axis in tokens.
        entry: Index of the locked token or word.
        unit: Unit of the index, "tokens" or "words".
        task: Prediction task of the model.

    Returns:
        The position, or None if there is no such entry.
    """
    index = entry
    if unit == "words":
        groups = axis.word_groups()
        if index >= len(groups):
            return None
        # For a causal model, use the last token of the word.
        index = groups[index][-1 if task == "next" else 0]
    return index + (task == "next") if index < len(axis) else None


def as_at(position: int) -> list[int] | None:
    """Convert one of `Predictions.positions` to the argument `at` of `AttentionModel.predict`."""
    return None if position < 0 else [position]


def asked_places(reading: Reading[Attention], position: int | None) -> tuple[int, ...] | None:
    """Return the positions that a question asks about; None = the default of the model.

    At the first piece of a word, a masked model predicts all pieces of the word.

    Args:
        reading: Input with its model.
        position: Position of the question, or None.
    """
    if position is None or position < 0:
        return None
    tokens = reading.tokens
    if tokens is None or prediction_task(reading.model.hf_model) != "masked":
        return (position,)
    pieces = tokens.pieces_of_word(position)
    return tuple(pieces) if pieces[0] == position else (position,)


#: Number of answers whose changes an explorer describes.
LIKELIEST = 5


class OwnWord(NamedTuple):
    """Masked word of the text: its text and the ids of its pieces."""

    text: str
    ids: tuple[int, ...]


def own_word(reading: Reading[Attention], predictions: Predictions) -> OwnWord | None:
    """Return the word of the text that was masked for the question.

    Returns:
        The word; None if no word was masked, or if the vocabulary lacks the word.
    """
    if predictions.task != "masked":
        return None
    positions = predictions.positions
    ids = reading.inputs["input_ids"][0].tolist()
    word_ids = tuple(int(ids[position]) for position in positions)
    tokenizer = reading.model.tokenizer
    if mask_places(tokenizer, word_ids) or getattr(tokenizer, "unk_token_id", None) in word_ids:
        return None
    token_texts = reading.tokens.added if reading.tokens is not None else predictions.tokens
    return OwnWord("".join(token_texts[position] for position in positions).strip(), word_ids)


def likeliest(predictions: Predictions) -> int:
    """Return the id of the most likely answer to the first question."""
    return int(predictions.log_probabilities[0].argmax())


def id_of(predictions: Predictions, answer: str) -> int:
    """Return the id of an answer.

    Args:
        predictions: Predictions with the vocabulary.
        answer: Answer in the spelling of the vocabulary.

    Raises:
        ValueError: If the vocabulary has no such answer.
    """
    answer_id = predictions.answers.found(answer, warns=False)
    return predictions.answers.index(answer) if answer_id is None else answer_id


class Row(NamedTuple):
    """Answer with its text, its vocabulary entry, its id and its probabilities."""

    answer: str
    token: str
    id: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Increase of the probability."""
        return self.after - self.before


@dataclass(frozen=True, eq=False)
class Answered:
    """Question with its answers before and after heads were disabled or links were scaled.

    Attributes:
        before: Predictions of the whole model.
        after: Predictions under the edits; the same object if there are none.
        answer: Id of the tracked answer.
        own: Masked word of the text; None if no word was masked.
    """

    before: Predictions
    after: Predictions
    answer: int
    own: OwnWord | None = None

    @property
    def position(self) -> int:
        """Position of the predicted token, as in `Predictions.positions`."""
        return self.before.positions[0]

    @property
    def name(self) -> str:
        """Text of the tracked answer."""
        return self.before.answers.spelt([self.answer])[0][0]

    def own_share(self, predictions: Predictions) -> float:
        """Return the probability of the masked word.

        Each piece was predicted with its later pieces masked, so the probability is the product
        over the pieces.
        """
        assert self.own is not None
        ids = self.own.ids
        return float(np.exp(predictions.log_probabilities[range(len(ids)), ids].sum()))

    def likely_answers(self) -> tuple[int, ...]:
        """Return the ids of the most likely answers and the masked word, without `answer`."""
        most_likely = np.argsort(-self.before.log_probabilities[0], kind="stable")[
            :LIKELIEST
        ].tolist()
        own_ids = self.own.ids if self.own is not None and len(self.own.ids) == 1 else ()
        return tuple(i for i in dict.fromkeys((*most_likely, *own_ids)) if i != self.answer)

    def rows(self, top: int) -> list[Row]:
        """Return the `top` answers of both predictions and the tracked answer.

        The rows are sorted by the size of the change, or by probability if no head is disabled.
        """
        distributions = [predictions.probabilities[0] for predictions in (self.before, self.after)]
        top_ids = [np.argsort(-distribution, kind="stable")[:top] for distribution in distributions]
        ids = sorted({self.answer, *map(int, np.concatenate(top_ids))})
        names_by_id = self.before.answers.spelt(ids)
        rows = [
            Row(*names, i, float(distributions[0][i]), float(distributions[1][i]))
            for i, names in zip(ids, names_by_id, strict=True)
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
    link_edits: Sequence[LinkEdit] = (),
) -> Predictions:
    """Return the predictions at a position under edits; `before` if there are none."""
    if not heads and not link_edits:
        return before
    positions = asked_places(reading, position)
    return reading.predict(heads, method, link_edits=link_edits, positions=positions)


def answers_to_wire(answered: Answered, rows: Sequence[Row], **about: Any) -> dict[str, Any]:
    """Return the answers for the page."""
    masked_word = answered.own
    return {
        "task": answered.before.task,
        "position": answered.position,
        "piece": list(answered.before.pieces[0]) if answered.before.pieces else [1, 1],
        "own": masked_word
        and {
            "answer": masked_word.text,
            "token": ""
            if len(masked_word.ids) > 1
            else answered.before.answers.spelt(masked_word.ids)[0][1],
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
