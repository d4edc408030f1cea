"""Texts that a server generated: their token ids, and a check of their log probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.inputs.listed_ids import listed
from attnwidget.inputs.model_tensors import input_names
from attnwidget.inputs.text_encoder import Encoded, Encoder, Text, is_ids
from attnwidget.kernels.sequence_scores import next_token_log_probabilities
from attnwidget.model_facts.plain_forward import plain_forward
from attnwidget.text.counted import counted
from attnwidget.text.whole_number import whole_number


def generated_ids(encoder: Encoder, text: Text, prompt: Encoded, generated: Text) -> list[int]:
    """Return the vocabulary ids of a generated text.

    Args:
        encoder: Encoder of the model's texts.
        text: Prompt as the caller passed it.
        prompt: Encoded prompt; for an encoder-decoder, the prompt of the decoder.
        generated: Generated text, or its ids.

    Raises:
        ValueError: There is no generated token, or the text's tokens do not begin with the prompt's
            tokens.
        TypeError: `generated` is neither a string nor a list of ids.
    """
    text_or_ids: Any = listed(generated)
    if not isinstance(text_or_ids, str):
        is_list = isinstance(text_or_ids, Sequence)
        if not is_list or not all(hasattr(token_id, "__index__") for token_id in text_or_ids):
            raise TypeError(
                "generated must be a string or a list of vocabulary ids, got "
                f"{type(generated).__name__}: pass the ids that the server generated"
            )
        ids = [whole_number("a vocabulary id", token_id) for token_id in text_or_ids]
    elif prompt.chat is not None or not is_ids(text):
        if prompt.chat is not None:
            full_ids = encoder.texts.alone(prompt.chat.text + text_or_ids)
        else:
            prompt_text = text if isinstance(text, str) else " ".join(map(str, listed(text)))
            full_ids = encoder(prompt_text + text_or_ids).ids
        n_prompt = len(prompt.ids)
        if list(full_ids[:n_prompt]) != list(prompt.ids):
            raise ValueError(
                "the tokens of text + generated do not begin with the tokens of text, so it is not "
                "known which tokens the server generated: pass their vocabulary ids"
            )
        ids = list(full_ids[n_prompt:])
    else:
        ids = encoder.texts.alone(text_or_ids)
    if not ids:
        raise ValueError("generated has no tokens: pass at least one, or use attend(text)")
    return ids


def check_log_probabilities(
    hf_model: Any,
    inputs: Mapping[str, Tensor],
    written: Tensor,
    names: Sequence[str],
    given: object,
    tolerance: float,
) -> None:
    """Raise ValueError if the model and a server give generated tokens other log probabilities.

    Args:
        hf_model: Transformers model.
        inputs: Inputs of the model, a batch of one.
        written: Ids of prompt and generated tokens, [1, n].
        names: Texts of the generated tokens.
        given: Log probabilities of the generated tokens from the server, in nats.
        tolerance: Largest accepted difference, in nats.

    Raises:
        ValueError: The number of log probabilities is wrong, a value is not a log probability, the
            tolerance is not positive, or a token differs.
        TypeError: The model has no head that predicts tokens.
    """
    expected = _log_probabilities(given, len(names))
    if not tolerance > 0:
        raise ValueError(f"tolerance must be a number of nats above 0, got {tolerance}")
    computed = _of_model(hf_model, inputs, written, len(names))
    # A token of probability 0 on both sides agrees, and inf - inf would be NaN.
    with np.errstate(invalid="ignore"):
        differences = np.where(computed == expected, 0, np.abs(computed - expected))
    indices = np.flatnonzero(~(differences <= tolerance))
    if len(indices):
        first = int(indices[0])
        position = written.shape[1] - len(names) + first
        raise ValueError(
            f"the model gives generated token {first} ({names[first]!r}, token {position} of the "
            f"whole text) the log probability {computed[first]:.3f}, and log_probabilities has "
            f"{expected[first]:.3f}, which is more than {tolerance:g} apart: check that weights, "
            "prompt, special tokens and ids are those of the server, and that its numbers are "
            "natural logarithms without temperature and penalties. A server in half precision may "
            "need a larger tolerance"
        )


def _log_probabilities(given: object, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (count,):
        raise ValueError(
            f"log_probabilities has one number per generated token, {count} here, got the shape "
            f"{list(values.shape)}: if the server splits the text otherwise, pass the ids of its "
            "tokens as generated"
        )
    indices = np.flatnonzero(~(values <= 1e-6))
    if len(indices):
        raise ValueError(
            f"log probabilities must be at most 0, got {values[indices[0]]} for generated token "
            f"{indices[0]}: pass natural logarithms of probabilities"
        )
    return values


def _of_model(
    hf_model: Any, inputs: Mapping[str, Tensor], written: Tensor, count: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the model's log probabilities of the last `count` tokens, in nats."""
    # Keep only the last logits: for a long text, logits of the whole prompt need much memory.
    options = {"logits_to_keep": count + 1} if "logits_to_keep" in input_names(hf_model) else {}
    with torch.no_grad(), plain_forward(hf_model):
        logits = getattr(hf_model(**inputs, **options), "logits", None)
    if logits is None:
        raise TypeError(
            f"{type(hf_model).__name__} has no head that predicts tokens, so log_probabilities "
            f"of {counted(count, 'token')} cannot be checked: load the model with its head"
        )
    last = slice(-(count + 1), None)
    steps = next_token_log_probabilities(logits[:, last], written[:, last])
    return np.asarray(steps[0].double().cpu().numpy(), dtype=np.float64)
