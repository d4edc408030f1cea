"""The question that an effect or a lens is about: an input, a token, and two answers."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index as as_index
from typing import Any

from torch import Tensor

from attnwidget.capture.hub_model.predictions import Answers
from attnwidget.capture.hub_model.question import Question
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.predict import prediction_task, vocabulary_answers
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.mechanisms.model_reading import whole_reading_of


@dataclass(frozen=True, eq=False)
class AskedAnswers:
    """A question to a language model, an answer, and the answer that it competes with.

    Attributes:
        reading: The input.
        question: The question at one token.
        position: The token, as in `Predictions.positions`.
        answer: Vocabulary id of the answer.
        versus: Vocabulary id of the other answer.
        names: Both as a reader sees them.
    """

    reading: Reading[Attention]
    question: Question
    position: int
    answer: int
    versus: int
    names: tuple[str, str]

    def difference(self, logits: Tensor) -> Tensor:
        """Return the logit difference of the two answers, [...], from logits [..., V]."""
        return logits[..., self.answer].double() - logits[..., self.versus].double()

    @property
    def row(self) -> int:
        """The token at whose place the model answers."""
        assert self.question.row is not None  # a language model answers at a token
        return self.question.row


def asked_answers(
    attention: Attention,
    answer: str | int,
    versus: str | int,
    position: int | None,
    what: str,
) -> AskedAnswers:
    """Return the question of two answers at a token.

    Args:
        attention: The attention of one input.
        answer: A vocabulary entry as the vocabulary spells it, or its id.
        versus: The other one.
        position: The token to predict, as in `AttentionModel.predict`. None stands for the token
            after the text or the mask token.
        what: What is asked of the model, to begin an error message.

    Raises:
        TypeError: The model has no head that predicts words.
        ValueError: As `whole_reading_of`; no such token or answer; both answers are the same.
    """
    reading = whole_reading_of(attention, what)
    model = language_model(reading, what)
    place = asked_position(reading, model, position)
    question = model.question(reading.inputs, place)
    size = int(model.hf_model.config.get_text_config().vocab_size)
    answers = vocabulary_answers(model.tokenizer, size)
    ids = [_id(answers, name) for name in (answer, versus)]
    if ids[0] == ids[1]:
        raise ValueError(
            f"answer and versus are both {answer!r}, so the logits do not differ: name two answers"
        )
    first, second = (name for name, _ in answers.spelt(ids))
    return AskedAnswers(reading, question, place, ids[0], ids[1], (first, second))


def language_model(reading: Reading[Attention], what: str) -> AttentionModel:
    """Return the model of an input, if it predicts words.

    Raises:
        TypeError: It has no head, or classes; or it is an encoder-decoder.
    """
    model: Any = reading.model
    name = type(model.hf_model).__name__
    if {site.stack for site in find_sites(model.hf_model)} != {"self"}:
        raise TypeError(
            f"{what} is of models with one stack, and {name} is an encoder-decoder: its decoder "
            "reads the encoder beside its own residual stream"
        )
    if (task := prediction_task(model.hf_model)) not in ("masked", "next"):
        kinds = {"class": "classes", "label": "labels", "span": "spans"}
        raise TypeError(
            f"{what} is about words, and {name} predicts {kinds[task]}: it has no unembedding"
        )
    checked: AttentionModel = model
    return checked


def asked_position(reading: Reading[Attention], model: AttentionModel, position: int | None) -> int:
    """Return the token to predict; by default the token after the text or the mask token.

    Raises:
        ValueError: A masked language model's input has no mask token, or several.
    """
    if position is not None:
        return as_index(position)
    ids = reading.inputs["input_ids"][0]
    if prediction_task(model.hf_model) == "next":
        return len(ids)
    masks = (ids == model.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    if len(masks) != 1:
        raise ValueError(
            f"the text has {len(masks)} mask tokens: name the token to predict, position=3"
        )
    return int(masks[0])


def _id(answers: Answers, name: str | int) -> int:
    found = answers.found(name) if isinstance(name, str) else as_index(name)
    if found is None or not 0 <= found < answers.count:
        raise ValueError(
            f"{name!r} is none of the {answers.count:,} vocabulary entries: write it as the column "
            "'token' of model.predict(text).to_frame() does, or pass its id"
        )
    return found
