"""The logits of a model's answers in its output, whatever the output calls them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from torch import Tensor

# Models with a second head beside the words (sentence pairs, relations to pictures) name the logits
# of words "prediction_logits".
_NAMES = ("logits", "prediction_logits")
#: Places of the first and the last token of a span.
TokenSpan = tuple[int, int]


def answer_logits(output: Any) -> Tensor:
    """Return the logits of words, labels or classes in the output of a model.

    Raises:
        TypeError: The output has no logits.

    Example:
        >>> import torch
        >>> from transformers.models.bert.modeling_bert import BertForPreTrainingOutput
        >>> from attnwidget.model_facts.answer_logits import answer_logits
        >>> output = BertForPreTrainingOutput(prediction_logits=torch.zeros(1, 5, 99))
        >>> answer_logits(output).shape
        torch.Size([1, 5, 99])
    """
    for name in _NAMES:
        logits = getattr(output, name, None)
        if isinstance(logits, Tensor):
            return logits
    raise TypeError(
        f"{type(output).__name__} has neither {' nor '.join(_NAMES)}: load the model with its head"
    )


def span_logits(output: Any, spans: Sequence[TokenSpan]) -> Tensor:
    """Return the sums of the logits of the first and the last token of spans, [B, S]."""
    firsts, lasts = (list(places) for places in zip(*spans, strict=True))
    start: Tensor = output.start_logits.float()
    end: Tensor = output.end_logits.float()
    return start[:, firsts] + end[:, lasts]


@cache
def predicts_masked_words(model_class: Any) -> bool:
    """Return whether a class for pre-training predicts masked words, by what its forward returns.

    BertForPreTraining and its relatives predict words beside another task. ElectraForPreTraining
    finds replaced tokens, and further classes predict pictures or sounds.

    Example:
        >>> import transformers
        >>> from attnwidget.model_facts.answer_logits import predicts_masked_words
        >>> predicts_masked_words(transformers.BertForPreTraining)
        True
        >>> predicts_masked_words(transformers.ElectraForPreTraining)
        False
    """
    from transformers.modeling_outputs import MaskedLMOutput
    from transformers.models.auto.modeling_auto import MODEL_FOR_PRETRAINING_MAPPING_NAMES

    listed = set(MODEL_FOR_PRETRAINING_MAPPING_NAMES.values())
    if not any(base.__name__ in listed for base in model_class.__mro__):
        return False
    return any(
        kind is MaskedLMOutput or "prediction_logits" in {field.name for field in fields(kind)}
        for kind in _outputs_of(model_class)
    )


def _outputs_of(model_class: Any) -> Iterator[Any]:
    """Yield the dataclasses that the forward of a class, or of the class below it, returns."""
    for base in model_class.__mro__:
        forward = vars(base).get("forward")
        try:
            returned = get_type_hints(forward).get("return") if forward is not None else None
        except (NameError, TypeError):  # names that are imported for type checkers only
            continue
        kinds = [kind for kind in get_args(returned) or (returned,) if is_dataclass(kind)]
        if kinds:
            yield from kinds
            return
