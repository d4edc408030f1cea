"""Input tensors of a model, from encoded texts or from a caller's dict."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnwidget.inputs.pad_id import pad_id_of
from attnwidget.inputs.text_encoder import Encoded
from attnwidget.model_facts.plain_forward import uncompiled
from attnwidget.model_facts.weight_placement import device_of
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens

# A text has one row. Pictures and sounds in the same input may have several rows.
TEXTS = ("input_ids", "inputs_embeds")
# Names of text masks: a token mask has two dimensions, and a query-key mask has four. Masks with
# other names, such as pixel masks, may have any number of dimensions.
_MASKS = ("attention_mask", "decoder_attention_mask", "encoder_attention_mask")
# Keys and values of an earlier pass, by their names before and since transformers 5.24.
_EARLIER_KEYS = ("past_key_values", "cache")
_BESIDE_TEXT = re.compile(r"pixel|visual|image|video|audio|feature|spatial_shapes|grid")


def input_names(hf_model: Any) -> set[str]:
    """Return the argument names of the model's forward."""
    return set(inspect.signature(uncompiled(hf_model).forward).parameters)


def is_of_text(name: str) -> bool:
    """Return whether the input with this name has one or more numbers per text token.

    Example:
        >>> is_of_text("attention_mask"), is_of_text("pixel_values")
        (True, False)
    """
    suffixes = ("_ids", "_mask", "_embeds")
    return name.endswith(suffixes) and _BESIDE_TEXT.search(name) is None


def count_inputs(inputs: Mapping[str, Tensor]) -> int:
    """Return the number of inputs in a batch.

    Pictures and sounds of one text may have any first dimension: pictures, tiles, or patches.

    Example:
        >>> count_inputs({"pixel_values": torch.zeros(24, 12), "input_ids": torch.zeros(1, 9)})
        1
    """
    texts = (*TEXTS, "decoder_input_ids")
    first = next((inputs[name] for name in texts if name in inputs), None)
    if first is None:
        first = next(value for value in inputs.values() if value.ndim)
    return int(first.shape[0])


@dataclass(frozen=True, eq=False)
class ModelBatch:
    """Inputs of one forward pass, with their sizes.

    Attributes:
        tensors: Tensors of the batch by name.
        tokens: Tokens that attend in the first stack, for each input; None if they are unknown.
        media: Pictures and sounds of the input.
        n_prompt: Number of prompt tokens if the model generated the rest, otherwise None.
        n_cut_of_target: Number of tokens that were cut off the text for the decoder.

    Example:
        >>> batch = ModelBatch({"input_ids": torch.zeros(2, 7)}, [None, None])
        >>> batch.n_inputs, batch.text_length
        (2, 7)
    """

    tensors: Mapping[str, Tensor]
    tokens: Sequence[Tokens | None]
    media: Media = field(default_factory=Media)
    n_prompt: int | None = None
    n_cut_of_target: int = 0

    @cached_property
    def n_inputs(self) -> int:
        """Number of inputs in the batch."""
        return count_inputs(self.tensors)

    @cached_property
    def first_length(self) -> int:
        """Number of text tokens in the first stack; 0 without a text."""
        return max(
            (self.tensors[name].shape[1] for name in TEXTS if name in self.tensors), default=0
        )

    @cached_property
    def text_length(self) -> int:
        """Number of tokens in the longer text of encoder and decoder; 0 without texts."""
        decoded = self.tensors.get("decoder_input_ids")
        return self.first_length if decoded is None else max(self.first_length, decoded.shape[1])

    @cached_property
    def hiding_mask(self) -> str | None:
        """Name of a text mask that hides tokens, or None."""
        names = ("attention_mask", "decoder_attention_mask")
        present = (name for name in names if name in self.tensors)
        return next((name for name in present if not self.tensors[name].all()), None)

    def real_positions(self, mask_name: str) -> list[Tensor | None]:
        """Return each input's token positions without padding; None = all positions."""
        mask = self.tensors.get(mask_name)
        if mask is None or mask.ndim != 2:
            return [None] * self.n_inputs
        return [None if bool(row.all()) else row.nonzero()[:, 0] for row in mask != 0]

    def single(self, item: int) -> ModelBatch:
        """Return one input of the batch as a batch of one."""
        if self.n_inputs == 1:
            # The pictures of a single input may have any first dimension, so do not slice them.
            return self
        tensors = {name: value[item : item + 1] for name, value in self.tensors.items()}
        return replace(self, tensors=tensors, tokens=self.tokens[item : item + 1])


def without_cache(hf_model: Any) -> dict[str, Any]:
    """Return the arguments that keep a model from storing keys and values for later passes.

    Example:
        >>> from attnwidget import load_model
        >>> without_cache(load_model(device="cpu").hf_model)
        {}
    """
    return {"use_cache": False} if "use_cache" in input_names(hf_model) else {}


def padded_inputs(encoded: Sequence[Encoded], hf_model: Any, tokenizer: Any) -> dict[str, Tensor]:
    """Return the inputs of B texts, [B, longest], padded on the right to keep positions.

    Raises:
        TypeError: The model's forward has no argument for the inputs.
    """
    longest = max(len(text.ids) for text in encoded)
    pad_id = pad_id_of(hf_model, tokenizer)

    def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
        padded_rows = [[*row, *[filler] * (longest - len(row))] for row in rows]
        return torch.tensor(padded_rows, dtype=torch.long, device=device_of(hf_model))

    inputs = {
        "input_ids": padded([text.ids for text in encoded], pad_id),
        "attention_mask": padded([[1] * len(text.ids) for text in encoded], 0),
    }
    if any(text.token_types is not None for text in encoded):
        types = [text.token_types or [0] * len(text.ids) for text in encoded]
        inputs["token_type_ids"] = padded(types, 0)
    names = input_names(hf_model)
    accepted_inputs = {name: value for name, value in inputs.items() if name in names}
    if not accepted_inputs:
        raise TypeError(
            f"the forward of {type(hf_model).__name__} names none of {', '.join(inputs)}: pass the "
            "transformers model itself to load_model, not what wraps it"
        )
    return accepted_inputs


def given_inputs(raw_inputs: Mapping[str, Any], hf_model: Any) -> dict[str, Tensor]:
    """Return a caller's dict of inputs on the model's device, without padding around a text.

    With padding on the left, some models would read the text with shifted positions. With padding
    on the right, the token after the text would be predicted from padding. Booleans, for example
    `interpolate_pos_encoding`, become tensors without dimensions.

    In an input with a text, pictures and sounds keep their first dimension, which may count the
    pictures, tiles or patches of this one input.

    Raises:
        TypeError: The model has no input of that name, or ids are not integers.
        ValueError: There are no inputs or tokens, several inputs in the batch, only hidden tokens,
            or keys of an earlier pass.
    """
    names = input_names(hf_model)
    inputs: dict[str, Tensor] = {}
    for name, value in raw_inputs.items():
        if name == "use_cache":
            continue  # Every pass is read without a cache.
        if name in _EARLIER_KEYS:
            raise ValueError(
                f"{name} has no ids of the tokens before, so their keys have no names: "
                "leave it out, and pass the ids of the whole text"
            )
        if name not in names:
            accepted_names = ", ".join(
                sorted(names - {"self", "kwargs", "use_cache", *_EARLIER_KEYS})
            )
            raise TypeError(
                f"{type(hf_model).__name__} has no input {name!r}; it takes {accepted_names}"
            )
        if isinstance(value, bool):
            inputs[name] = torch.tensor(value, dtype=torch.bool, device=device_of(hf_model))
            continue
        # Convert lists with numpy, because torch would round floats to its default dtype.
        tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))
        is_with_text = (
            not raw_inputs.keys().isdisjoint(TEXTS) and _BESIDE_TEXT.search(name) is not None
        )
        if tensor.ndim == 1 and not is_with_text:
            tensor = tensor[None]
        _check_input(name, tensor, is_with_text)
        if name in _MASKS and tensor.ndim > 2:
            _check_added(name, tensor, hf_model)
        if tensor.is_inference():
            tensor = tensor.clone()  # A tensor of torch.inference_mode() cannot be in a graph.
        dtype = hf_model.dtype if tensor.is_floating_point() else None
        inputs[name] = tensor.to(device_of(hf_model), dtype)
    if all(value.ndim == 0 for value in inputs.values()):
        raise ValueError("the dict of inputs is empty: pass input_ids, pixel_values...")
    _check_types(inputs, hf_model)
    return _without_padding(_without_padding(inputs, ""), "decoder_")


def _check_types(inputs: Mapping[str, Tensor], hf_model: Any) -> None:
    """Raise ValueError unless each token has as many types as the model expects."""
    types = inputs.get("token_type_ids")
    ids = inputs.get("input_ids")
    if types is None or ids is None:
        return
    # A model for tables has separate types for segment, column, row and others.
    type_sizes = getattr(hf_model.config, "type_vocab_sizes", None)
    expected = (
        [*ids.shape, len(type_sizes)] if isinstance(type_sizes, (list, tuple)) else [*ids.shape]
    )
    if list(types.shape) != expected:
        raise ValueError(
            f"token_type_ids has the shape {list(types.shape)} for input_ids of the shape "
            f"{list(ids.shape)}, and must have the shape {expected}: pass what the tokenizer of "
            "the model writes"
        )


def _check_input(name: str, tensor: Tensor, beside_text: bool) -> None:
    """Raise an error if a tensor does not contain a single input, or valid tokens."""
    if tensor.shape[:1] != (1,) and not beside_text:
        raise ValueError(
            f"input {name!r} has the shape {list(tensor.shape)}: attend reads one input, a "
            "batch of 1; for several texts use attend_batch(texts)"
        )
    if name in ("input_ids", "decoder_input_ids") and not _are_whole(tensor):
        raise TypeError(
            f"{name} must be integers, got {str(tensor.dtype).removeprefix('torch.')}: pass "
            "vocabulary ids, and vectors of tokens as inputs_embeds"
        )
    if name in ("input_ids", "decoder_input_ids") and tensor.ndim > 2:
        raise ValueError(
            f"{name} has the shape {list(tensor.shape)}: pass the ids of one text, [1, tokens]"
        )
    if name.removeprefix("decoder_") in TEXTS and not tensor.numel():
        raise ValueError(
            f"input {name!r} has the shape {list(tensor.shape)}: pass at least one token"
        )
    if name.endswith("attention_mask") and tensor.ndim == 2 and not bool((tensor != 0).any()):
        raise ValueError(
            f"{name} is 0 at all {tensor.shape[1]} positions, so no token is left: "
            "pass 1 for each token to read and 0 for padding"
        )


def _check_added(name: str, mask: Tensor, hf_model: Any) -> None:
    """Raise ValueError for a query-key mask whose 0 and 1 attention would add to the scores."""
    if mask.ndim == 3:
        raise ValueError(
            f"{name} has the shape {list(mask.shape)}: pass [1, tokens] with 1 for each token to "
            "read. A mask of queries and keys has the shape [1, 1, queries, keys] and numbers to "
            f"add, torch.where({name} != 0, 0.0, -torch.inf)[:, None]"
        )
    is_used_as_mask = mask.dtype is torch.bool and hf_model.config._attn_implementation != "eager"
    # A mask of zeros hides nothing. In a mask of ones and zeros, zero means a hidden key.
    is_additive = mask.is_floating_point() and not bool((mask > 0).any())
    if not is_used_as_mask and not is_additive:
        raise ValueError(
            f"{name} has the shape {list(mask.shape)} and the type "
            f"{str(mask.dtype).removeprefix('torch.')}, and its numbers would be added to the "
            f"scores: pass 0.0 for each visible key and -inf for each hidden key, "
            f"torch.where({name} != 0, 0.0, -torch.inf)"
        )


def _are_whole(tensor: Tensor) -> bool:
    return tensor.dtype is not torch.bool and not (
        tensor.is_floating_point() or tensor.is_complex()
    )


def _without_padding(inputs: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the decoder's inputs, or the other inputs, without padding at both ends.

    All inputs with an entry per token are cut. Pictures and sounds are not cut, even if they have
    as many patches, boxes or frames as the text has tokens. Padding after a sound stays, because
    models compute the last frames from the sound and its padding.
    """
    mask = inputs.get(f"{prefix}attention_mask")
    if mask is None or mask.ndim != 2:
        return dict(inputs)
    texts = [inputs[f"{prefix}{name}"] for name in TEXTS if f"{prefix}{name}" in inputs]
    for tensor in texts:
        if tensor.shape[:2] != mask.shape and all(map(is_of_text, inputs)):
            raise ValueError(
                f"{prefix}attention_mask has the shape {list(mask.shape)} for a text of "
                f"{tensor.shape[1]} tokens: pass 1 for each token to read and 0 for each hidden "
                "token"
            )
    visible_positions = mask[0].nonzero()
    first = int(visible_positions[0])
    end = int(visible_positions[-1]) + 1 if texts else mask.shape[1]

    def cut(name: str, value: Tensor) -> bool:
        has_decoder = "decoder_input_ids" in inputs
        own_prefix = next((p for p in ("decoder_", "encoder_") if name.startswith(p)), "")
        own_prefix = "decoder_" if has_decoder and name == "labels" else own_prefix
        is_text = _BESIDE_TEXT.search(name) is None
        return own_prefix == prefix and value.shape[:2] == mask.shape and is_text

    return {
        name: value[:, first:end] if cut(name, value) else value for name, value in inputs.items()
    }


def unpadded(
    inputs: Mapping[str, Tensor], name: str, mask_name: str, item: int = 0
) -> list[int] | None:
    """Return the visible ids of a batch item; None if the inputs have no ids."""
    ids = inputs.get(name)
    mask = inputs.get(mask_name)
    if ids is None:
        return None
    if mask is None or mask.shape != ids.shape:
        return [int(i) for i in ids[item].tolist()]
    return [int(i) for i in ids[item][mask[item] != 0].tolist()]
