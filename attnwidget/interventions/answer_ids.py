"""Ids of user-supplied answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnwidget.capture.predict import found_entry
from attnwidget.text.whole_number import is_whole_number, whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


def answer_id(model: AttentionModel, task: str, label: object, index: int) -> int:
    """Return the index of an answer, from its name or number.

    Args:
        model: Model that answers.
        task: Prediction task: "class" for labels of a classifier; otherwise answers are vocabulary
            entries.
        label: Name or number of the answer.
        index: Number of the example, for errors.

    Warns:
        UserWarning: As in `found_entry`.

    Raises:
        ValueError: If there is no such answer.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions.answer_ids import answer_id
        >>> answer_id(load_model("attnwidget/genre"), "class", "email", 0)
        1
    """
    config = model.hf_model.config
    if task == "class":
        names = [str(config.id2label.get(i, i)) for i in range(config.num_labels)]
        description = f"a class, {', '.join(map(repr, names[:12]))}, or its number"
        count = len(names)
        answer = names.index(label) if label in names else None
    else:
        description = (
            "a vocabulary entry, written as in the column 'token' of "
            "model.predict(text).to_frame(), or its id"
        )
        count = int(config.get_text_config().vocab_size)
        answer = found_entry(model.tokenizer, label) if isinstance(label, str) else None
    if answer is None and is_whole_number(label):
        answer = whole_number("label", label)
    if answer is None or not 0 <= answer < count:
        raise ValueError(f"example {index} has the label {label!r}: a label is {description}")
    return answer
