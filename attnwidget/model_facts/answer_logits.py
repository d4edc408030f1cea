"""Logits of a model's answers, which have different names in different model outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from torch import Tensor

# Models with a second prediction head in addition to words (sentence pairs, text-image relations)
# call the word logits "prediction_logits".
_NAMES = ("logits", "prediction_logits")
#: Indices of the first and the last token of a span.
TokenSpan = tuple[int, int]


def answer_logits(output: Any) -> Tensor:
    """Return the logits of words, labels or classes in a model output.

    Args:
        output: Output of a Hugging Face model.

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
    """Return the logits of spans, the sums for their first and last tokens, [B, S].

    Args:
        output: Output of a question answering model.
        spans: S spans.
    """
    firsts, lasts = (list(indices) for indices in zip(*spans, strict=True))
    start: Tensor = output.start_logits.float()
    end: Tensor = output.end_logits.float()
    return start[:, firsts] + end[:, lasts]


@cache
def predicts_masked_words(model_class: Any) -> bool:
    """Return whether a pre-training class predicts masked words, from the type of its output.

    BertForPreTraining and related classes predict words in addition to another task.
    ElectraForPreTraining detects replaced tokens, and other classes predict pictures or sounds.

    Args:
        model_class: Class of a Hugging Face model.

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

    pretraining_classes = set(MODEL_FOR_PRETRAINING_MAPPING_NAMES.values())
    if not any(base.__name__ in pretraining_classes for base in model_class.__mro__):
        return False
    return any(
        kind is MaskedLMOutput or "prediction_logits" in {field.name for field in fields(kind)}
        for kind in _outputs_of(model_class)
    )


def _outputs_of(model_class: Any) -> Iterator[Any]:
    """Yield the dataclasses that `forward` of a class, or of its nearest base class, returns."""
    for base in model_class.__mro__:
        forward = vars(base).get("forward")
        try:
            return_type = get_type_hints(forward).get("return") if forward is not None else None
        # Some annotations use names that are imported only for type checkers.
        except (NameError, TypeError):
            continue
        output_types = [
            output_type
            for output_type in get_args(return_type) or (return_type,)
            if is_dataclass(output_type)
        ]
        if output_types:
            yield from output_types
            return
