"""Padding of batches, and models that find the end of a text by their padding token."""

from __future__ import annotations

from typing import Any

from attnwidget.model_facts.answer_heads import answer_head


def pad_id_of(hf_model: Any, tokenizer: Any) -> int:
    """Return the id that pads the rows of a batch.

    The configuration's id takes precedence over the tokenizer's id, because classifiers with a
    decoder read the last token that is not this id.

    Args:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the model, or None.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.pad_id import pad_id_of
        >>> model = load_model(device="cpu")
        >>> pad_id_of(model.hf_model, model.tokenizer)
        0
    """
    config = hf_model.config.get_text_config()
    config_id = getattr(config, "pad_token_id", None)
    if isinstance(config_id, int) and 0 <= config_id < getattr(config, "vocab_size", 0):
        return config_id
    return getattr(tokenizer, "pad_token_id", None) or 0


def reads_single_texts(hf_model: Any) -> bool:
    """Return whether a model refuses batches, as a classifier with an unknown padding token does.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.inputs.pad_id import reads_single_texts
        >>> reads_single_texts(load_model("attnwidget/genre").hf_model)
        False
    """
    config = hf_model.config.get_text_config()
    is_known = getattr(config, "pad_token_id", None) is not None
    reads_text = hf_model.main_input_name == "input_ids"
    return not is_known and reads_text and answer_head(hf_model) in ("class", "numbers")
