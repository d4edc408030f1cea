"""Input tensors of a model, from encoded texts or from a dict of the caller."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.hub_model.plain_forward import uncompiled
from attnwidget.capture.hub_model.text_encoder import Encoded
from attnwidget.capture.hub_model.token_axes import patch_axis, position_axis
from attnwidget.capture.hub_model.weight_placement import device_of
from attnwidget.text.tokens import Tokens


def input_names(hf_model: Any) -> set[str]:
    """Return the names of the arguments of the model's forward."""
    return set(inspect.signature(uncompiled(hf_model).forward).parameters)


def without_cache(hf_model: Any) -> dict[str, Any]:
    """Return the arguments with which the model keeps no keys and values for later passes.

    Example:
        >>> from attnwidget import load_model
        >>> without_cache(load_model(device="cpu").hf_model)
        {}
    """
    return {"use_cache": False} if "use_cache" in input_names(hf_model) else {}


def padded_inputs(encoded: Sequence[Encoded], hf_model: Any, tokenizer: Any) -> dict[str, Tensor]:
    """Return inputs [B, longest] of B texts, padded on the right so that positions do not shift.

    Raises:
        TypeError: the model's forward has no argument for the inputs.
    """
    longest = max(len(text.ids) for text in encoded)
    pad = getattr(tokenizer, "pad_token_id", None) or 0

    def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
        full = [[*row, *[filler] * (longest - len(row))] for row in rows]
        return torch.tensor(full, dtype=torch.long, device=device_of(hf_model))

    inputs = {
        "input_ids": padded([text.ids for text in encoded], pad),
        "attention_mask": padded([[1] * len(text.ids) for text in encoded], 0),
    }
    if any(text.token_types is not None for text in encoded):
        types = [text.token_types or [0] * len(text.ids) for text in encoded]
        inputs["token_type_ids"] = padded(types, 0)
    names = input_names(hf_model)
    known = {name: value for name, value in inputs.items() if name in names}
    if not known:
        raise TypeError(
            f"the forward of {type(hf_model).__name__} names none of {', '.join(inputs)}: pass the "
            "transformers model itself to load_model, not what wraps it"
        )
    return known


def given_inputs(raw_inputs: Mapping[str, Any], hf_model: Any) -> dict[str, Tensor]:
    """Return a caller's dict of inputs on the model's device, without padding on the left.

    With this padding, some models would read the text with shifted positions.

    Raises:
        TypeError: the model has no input of that name.
        ValueError: if there are no inputs, several inputs in the batch, or only hidden tokens.
    """
    names = input_names(hf_model)
    inputs = {}
    for name, value in raw_inputs.items():
        if name not in names:
            listed = ", ".join(sorted(names - {"self", "kwargs"}))
            raise TypeError(f"{type(hf_model).__name__} has no input {name!r}; it takes {listed}")
        # Through numpy, because torch would round lists of floats to its default dtype.
        tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
        if tensor.ndim == 1:
            tensor = tensor[None]
        if tensor.shape[:1] != (1,):
            raise ValueError(
                f"input {name!r} has the shape {list(tensor.shape)}: attend reads one input, a "
                "batch of 1; for several texts use attend_batch(texts)"
            )
        if name.endswith("attention_mask") and tensor.ndim == 2 and not bool((tensor != 0).any()):
            raise ValueError(
                f"{name} is 0 at all {tensor.shape[1]} positions, so no token is left: "
                "pass 1 for each token to read and 0 for padding"
            )
        if tensor.is_inference():
            tensor = tensor.clone()  # A tensor of torch.inference_mode() cannot be in a graph.
        dtype = hf_model.dtype if tensor.is_floating_point() else None
        inputs[name] = tensor.to(device_of(hf_model), dtype)
    if not inputs:
        raise ValueError("the dict of inputs is empty: pass input_ids, pixel_values...")
    return _without_left_padding(_without_left_padding(inputs, ""), "decoder_")


def _without_left_padding(inputs: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the decoder's inputs, or the other inputs, without padding on the left.

    All inputs with an entry per token are cut, except pictures.
    """
    mask = inputs.get(f"{prefix}attention_mask")
    if mask is None or mask.ndim != 2:
        return dict(inputs)
    first = int(mask[0].nonzero()[0])

    def cut(name: str, value: Tensor) -> bool:
        decoded = "decoder_input_ids" in inputs
        side = next((p for p in ("decoder_", "encoder_") if name.startswith(p)), "")
        side = "decoder_" if decoded and name == "labels" else side
        return side == prefix and value.shape[:2] == mask.shape and not name.startswith("pixel")

    return {name: value[:, first:] if cut(name, value) else value for name, value in inputs.items()}


def unpadded(
    inputs: Mapping[str, Tensor], name: str, mask_name: str, item: int = 0
) -> list[int] | None:
    """Return the visible ids of an item, or None without ids."""
    ids = inputs.get(name)
    mask = inputs.get(mask_name)
    if ids is None:
        return None
    if mask is None or mask.shape != ids.shape:
        return [int(i) for i in ids[item]]
    return [int(i) for i in ids[item][mask[item] != 0]]


def fitting_axis(
    tokens: Tokens | None, length: int, inputs: Mapping[str, Tensor], config: Any
) -> Tokens:
    """Return `tokens` if they fit the axis of a map, else patches of an image or positions."""
    if tokens is not None and len(tokens) == length:
        return tokens
    pixels = inputs.get("pixel_values")
    patch = getattr(config, "patch_size", None)
    if pixels is not None and isinstance(patch, int):
        return patch_axis(length, pixels.shape[-2] // patch, pixels.shape[-1] // patch)
    return position_axis(length)
