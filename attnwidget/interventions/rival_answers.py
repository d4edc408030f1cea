"""Question about an encoded input, with an answer and a competing answer."""

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
    """Return the question with two answers at a token, and both answers in readable form.

    Args:
        model: Language model.
        inputs: Encoded input of the model.
        position: Token to predict, as in `AttentionModel.predict`.
        answer: Vocabulary entry in the spelling of the vocabulary, or its id.
        versus: Competing answer, in the same forms.

    Raises:
        ValueError: If there is no such token or answer, or both answers are the same.

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
