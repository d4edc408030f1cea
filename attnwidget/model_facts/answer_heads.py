"""Output type of prediction heads that do not predict words: label, class, span or numbers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

AnswerHead: TypeAlias = Literal["label", "class", "span", "numbers"]

_NO_CHOICE = ("multi_label_classification", "regression")


def answer_head(hf_model: Any) -> AnswerHead | None:
    """Return the output type of a tagger, classifier or question answering model, or None.

    The type is "numbers" for regression heads, heads with a single number and multi-label heads,
    because they do not choose between answers.

    Args:
        hf_model: Hugging Face model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.model_facts.answer_heads import answer_head
        >>> answer_head(load_model("attnwidget/genre").hf_model)
        'class'
    """
    from transformers.models.auto import modeling_auto as auto

    heads: dict[AnswerHead, tuple[Any, ...]] = {
        "span": (auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,),
        "label": (auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,),
        "class": (
            auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
            auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
            auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES,
        ),
    }
    names = {base.__name__ for base in type(hf_model).__mro__}
    for head, mappings in heads.items():
        if any(names & set(mapping.values()) for mapping in mappings):
            config = hf_model.config
            chooses = config.num_labels > 1 and config.problem_type not in _NO_CHOICE
            return head if head == "span" or chooses else "numbers"
    return None
