"""A question about an input that a model has read, with an answer and the answer's rival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from attnwidget.capture.predict import vocabulary_answers
from attnwidget.inputs.example import ExampleBatch

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def rival_answers(
    model: AttentionModel,
    inputs: Mapping[str, Tensor],
    position: int,
    answer: str | int,
    versus: str | int,
) -> tuple[ExampleBatch, tuple[str, str]]:
    """Return the question of two answers at a token, and both answers as a reader sees them.

    Args:
        model: A language model.
        inputs: The input, as the model has read it.
        position: The token to predict, as in `AttentionModel.predict`.
        answer: A vocabulary entry as the vocabulary spells it, or its id.
        versus: The answer that it competes with.

    Raises:
        ValueError: No such token or answer; both answers are the same.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.rival_answers import rival_answers
        >>> model = load_model(device="cpu")
        >>> inputs = model.attend("The woman washed [MASK] hands.").reading.inputs
        >>> batch, names = rival_answers(model, inputs, 4, "her", "his")
        >>> names, batch.columns
        (('her', 'his'), tensor([4]))
    """
    question = model.question(inputs, position)
    size = int(model.hf_model.config.get_text_config().vocab_size)
    answers = vocabulary_answers(model.tokenizer, size)
    ids = [answers.index(name) for name in (answer, versus)]
    if ids[0] == ids[1]:
        raise ValueError(
            f"answer and versus are both {answer!r}, so the logits do not differ: name two answers"
        )
    question = replace(question, targets=(ids[0],), rivals=(ids[1],))
    first, second = (name for name, _ in answers.spelt(ids))
    return ExampleBatch(question.encoded, (question,)), (first, second)
