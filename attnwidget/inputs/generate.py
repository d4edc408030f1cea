"""Generated texts: the continuation of a prompt, or the target of an encoder-decoder."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnwidget.model_facts.plain_forward import plain_forward

# Options that `max_new_tokens` and greedy decoding would silently override, or whose result is not
# a list of tokens.
_REFUSED = {
    "max_length": "pass max_new_tokens, the number of tokens after the prompt",
    "generation_config": "pass its options by name, such as do_sample=True, temperature=0.7",
    "return_dict_in_generate": "the attention has the tokens, and predict(ids) the probabilities",
}


def continuation(
    hf_model: Any, tokenizer: Any, inputs: Mapping[str, Tensor], max_new_tokens: int, **options: Any
) -> list[int]:
    """Return the ids of a prompt (a batch of one) and its continuation by `hf_model`.

    Raises:
        ValueError: The model does not generate text.
    """
    check_generates(hf_model, "attend(text) reads a text as it is")
    pad = next(
        (
            token_id
            for owner, name in (
                (tokenizer, "pad_token_id"),
                (tokenizer, "eos_token_id"),
                (hf_model.generation_config, "pad_token_id"),
            )
            if (token_id := getattr(owner, name, None)) is not None
        ),
        0,
    )
    if "stop_strings" in options:
        options.setdefault("tokenizer", tokenizer)
    generated = _generate(hf_model, inputs, max_new_tokens, {"pad_token_id": pad} | options)
    ids: list[int] = generated[0].tolist()
    return ids


def translation(
    hf_model: Any, inputs: Mapping[str, Tensor], max_new_tokens: int, **options: Any
) -> tuple[Tensor, int]:
    """Return a generated text's decoder ids [1, T], and the number of ids before the text.

    Raises:
        ValueError: The model does not generate text.
    """
    check_generates(hf_model, "pass the decoder's text: attend(text, target=...)")
    encoder_arguments = set(inspect.signature(hf_model.get_encoder().forward).parameters)
    inputs = {name: value for name, value in inputs.items() if name in encoder_arguments}
    first_inputs: list[Tensor] = []

    def see(ids: Tensor, scores: Tensor) -> Tensor:
        if not first_inputs:
            first_inputs.append(ids[:1])
        return scores

    processors = options.pop("logits_processor", ())
    generated = _generate(
        hf_model, inputs, max_new_tokens, {**options, "logits_processor": [*processors, see]}
    )
    return (
        (_with_beginning(generated, first_inputs[0]), first_inputs[0].shape[1])
        if first_inputs
        else (generated, 1)
    )


def _with_beginning(written: Tensor, begun: Tensor) -> Tensor:
    """Return generated ids, preceded by all ids that the decoder read first.

    Whisper reads tokens for the start, the language and the task, and does not return all of them.

    Example:
        >>> import torch
        >>> _with_beginning(torch.tensor([[6, 9]]), torch.tensor([[5, 6]])).tolist()
        [[5, 6, 9]]
    """
    first, prefix = written[0].tolist(), begun[0].tolist()
    if first[: len(prefix)] == prefix or prefix[: len(first)] == first:
        return written
    overlap = next(n for n in range(len(prefix), -1, -1) if prefix[len(prefix) - n :] == first[:n])
    return torch.cat([begun, written[:, overlap:]], dim=1)


def decoder_ids(hf_model: Any, target: Sequence[int]) -> list[int]:
    """Return the ids of `target`, preceded by the decoder's start token.

    Raises:
        ValueError: The model's config names no start token.
    """
    start = next(
        (
            token_id
            for name in ("decoder_start_token_id", "bos_token_id")
            for owner in (hf_model.config, getattr(hf_model, "generation_config", None))
            if isinstance(token_id := getattr(owner, name, None), int)
        ),
        None,
    )
    if start is None:
        raise ValueError(
            f"the config of {type(hf_model).__name__} names no decoder_start_token_id; pass a dict "
            "of inputs with decoder_input_ids"
        )
    return list(target) if target and target[0] == start else [start, *target]


def check_generates(hf_model: Any, instead: str) -> None:
    """Raise ValueError if the model cannot generate text; `instead` names the call to use."""
    can_generate = getattr(hf_model, "can_generate", None)
    if can_generate is None or not can_generate():
        raise ValueError(
            f"{type(hf_model).__name__} generates no text: {instead}; a causal model generates, "
            "such as load_model('attnwidget/induction')"
        )


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for options without effect, and for several continuations."""
    for name, instead in _REFUSED.items():
        if options.get(name) not in (None, False):
            raise ValueError(f"generate does not take {name}={options[name]!r}: {instead}")
    if options.get("num_return_sequences", 1) not in (None, 1):
        raise ValueError(
            "an attention is of one continuation, got "
            f"num_return_sequences={options['num_return_sequences']!r}: call generate once for "
            "each, with do_sample=True"
        )


def _generate(
    hf_model: Any, inputs: Mapping[str, Tensor], max_new_tokens: int, options: Mapping[str, Any]
) -> Tensor:
    _check_options(options)
    greedy_options = {"do_sample": False, "num_beams": 1}
    with torch.no_grad(), plain_forward(hf_model):
        ids: Tensor = hf_model.generate(
            **inputs, max_new_tokens=max_new_tokens, **(greedy_options | dict(options))
        )
    return ids
