"""Layers from attention weights computed elsewhere, in any usual form, with checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attnwidget.capture.maps.given_maps import GivenMaps
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.real_numbers import real_numbers
from attnwidget.kernels.array_library import Array, beside, converted, copied, library_of
from attnwidget.text.tokens import Tokens

_STACK_OF_FIELD = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
_GET_WEIGHTS = (
    "load_model(model, tokenizer).attend(text) reads them whatever the implementation; else load "
    'the model with attn_implementation="eager" and call it with output_attentions=True'
)
# Tolerances for rounding errors in entries, and in sums over thousands of entries.
_TOLERANCE = {"float16": 2e-2, "bfloat16": 5e-2}
_FLOAT32_TOLERANCE = 1e-3


def weights_by_stack(
    weights: object, stack: str, *, allow_unnormalized: bool = False
) -> dict[str, list[Array]]:
    """Return the maps of each stack, one [H, Q, K] array per layer.

    Numpy arrays, nested lists, and (if torch is not installed) arrays of other libraries become
    numpy arrays; others become torch tensors.

    Args:
        weights: Array [L, H, Q, K], sequence of layers [H, Q, K] or [1, H, Q, K], or model output
            with such sequences.
        stack: Stack of an array or a sequence.
        allow_unnormalized: Whether to accept rows that do not sum to 1, and any finite values.

    Raises:
        TypeError: `weights` has none of these forms.
        ValueError: There are no attention weights, several inputs, other shapes, or values outside
            of the attention-weight range.
    """
    fields = _fields(weights)
    if fields is None:
        fields = {stack: weights}
    stacks = {name: _layers(value, name) for name, value in fields.items()}
    for name, layers in stacks.items():
        for index, layer in enumerate(layers):
            _check_values(layer, f"layer {index} of {name!r}", allow_unnormalized)
    return stacks


def _fields(weights: object) -> dict[str, object] | None:
    """Return the attention fields of a model output, or None if it has no attention."""
    if isinstance(weights, Mapping):
        stacks = {_STACK_OF_FIELD[k]: v for k, v in weights.items() if k in _STACK_OF_FIELD}
        if not stacks:
            raise ValueError(f"this output holds no attention weights: {_GET_WEIGHTS}")
        return stacks
    return None


def _layers(weights: object, stack: str) -> list[Array]:
    if weights is None:
        raise ValueError(f"there are no attention weights of {stack!r}, only None: {_GET_WEIGHTS}")
    if hasattr(weights, "__array__") or hasattr(weights, "__dlpack__"):
        array = _array(weights)
        if array.ndim == 5 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 4:
            raise ValueError(
                f"weights of all layers have the shape [layers, heads, queries, keys], got "
                f"{list(array.shape)}"
            )
        layers: list[Array] = list(array)
    elif isinstance(weights, Sequence) and not isinstance(weights, (str, bytes)):
        layers = _in_one_library([_one_layer(layer, i) for i, layer in enumerate(weights)])
    else:
        raise TypeError(
            "weights must be an array, a sequence of layers or a model output with attentions, got "
            f"{type(weights).__name__}"
        )
    if not layers:
        raise ValueError(
            "the weights are empty: a model loaded with sdpa attention returns none even with "
            f"output_attentions=True. {_GET_WEIGHTS}"
        )
    for index, layer in enumerate(layers):
        if layer.shape != layers[0].shape or 0 in layer.shape:
            raise ValueError(
                f"all layers need the same shape [heads, queries, keys] without 0: layer 0 has "
                f"{list(layers[0].shape)}, layer {index} {list(layer.shape)}"
            )
    return layers


def _one_layer(layer: object, index: int) -> Array:
    if layer is None:
        raise ValueError(
            f"layer {index} is None: the model ran with sdpa attention, which computes no weights. "
            f"{_GET_WEIGHTS}"
        )
    if isinstance(layer, tuple):
        raise ValueError(
            f"layer {index} is a tuple: generate() returns one tuple a step. "
            "load_model(model, tokenizer).generate(text) gives one map over prompt and continuation"
        )
    array = _array(layer)
    if array.ndim == 4 and array.shape[0] != 1:
        raise ValueError(
            f"layer {index} has a batch of {array.shape[0]} inputs, {list(array.shape)}: pass one "
            "of them, [layer[i] for layer in attentions]"
        )
    array = array[0] if array.ndim == 4 else array
    if array.ndim != 3:
        raise ValueError(
            f"layer {index} has the shape {list(array.shape)}; expected [heads, queries, keys] or "
            "[1, heads, queries, keys]"
        )
    return array


def _array(array: Any) -> Array:
    form = "[layers, heads, queries, keys]"
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray):
        # torch reads the memory of devices, which numpy would copy or refuse.
        try:
            from attnwidget.capture.maps.array_tensor import tensor_of
        except ImportError:
            pass  # Without torch, numpy reads the array.
        else:
            tensor = tensor_of(array, "weights", form)
            return tensor if tensor.is_floating_point() else tensor.float()
    values = real_numbers(array, "weights", form)
    return values if values.dtype.kind == "f" else values.astype(np.float32)


def _in_one_library(layers: list[Array]) -> list[Array]:
    """Return all arrays in one library: numpy arrays or torch tensors; tensors for a mixture."""
    if len({library_of(layer).__name__ for layer in layers}) < 2:
        return layers
    from attnwidget.capture.maps.array_tensor import tensor_of

    return [tensor_of(layer, "weights", "[heads, queries, keys]") for layer in layers]


def _check_values(layer: Array, where: str, allow_unnormalized: bool) -> None:
    library = library_of(layer)
    maps = converted(layer, "float32")
    if not bool(library.isfinite(maps).all()):
        head, query, key = library.argwhere(~library.isfinite(maps))[0].tolist()
        raise ValueError(
            f"{where} has the value {maps[head, query, key].item()} at head {head}, query {query}, "
            f"key {key}: attention weights are finite"
        )
    if allow_unnormalized:
        return
    kind = str(layer.dtype).removeprefix("torch.")
    tolerance = _TOLERANCE.get(kind, _FLOAT32_TOLERANCE)
    low = maps.min().item()
    high = maps.max().item()
    if low < -tolerance or high > 1 + tolerance:
        raise ValueError(
            f"{where} has values from {low:.4g} to {high:.4g}, attention weights lie between 0 and "
            "1: are these scores before the softmax? (allow_unnormalized=True takes them so)"
        )
    sums = maps.sum(-1)
    head, query = divmod(int(abs(sums - 1).argmax()), sums.shape[-1])
    if abs(sums[head, query].item() - 1) > tolerance:
        raise ValueError(
            f"{where}: the row of head {head}, query {query} sums to "
            f"{sums[head, query].item():.4g}, not 1. Padding, attention sinks or "
            "dropout can cause that; allow_unnormalized=True takes the weights as they are"
        )


def layers_of_weights(maps: Sequence[Array], stack: str) -> list[Layer]:
    """Return a `Layer` for each map [H, Q, K], with a causal mask if no query sees a later key.

    Maps are copied, so that the caller may write the next maps into the same memory.
    """
    n_heads, n_query, n_key = maps[0].shape
    mask = None
    if stack in ("self", "decoder") and n_query == n_key > 1:
        lower = np.tri(n_query, n_key, dtype=bool)
        lower = beside(lower, maps[0])
        if not any(bool(layer[:, ~lower].any()) for layer in maps):
            mask = lower[None]
    return [
        Layer(n_heads, n_heads, n_query, n_key, weights=GivenMaps(copied(layer)), mask=mask)
        for layer in maps
    ]


def axes_of_stack(
    stack: str, query: Tokens, key: Tokens | None, layer: Layer
) -> tuple[Tokens, Tokens]:
    """Return the axes of a stack from the attending tokens, and the attended tokens if they differ.

    Raises:
        ValueError: The tokens do not fit the layer's maps.
    """
    if key is None or stack == "decoder":
        axes = (query, query)
    else:
        axes = (key, key) if stack == "encoder" else (query, key)
    counts = (("queries", layer.n_query), ("keys", layer.n_key))
    for axis, (name, count) in zip(axes, counts, strict=True):
        if len(axis) != count:
            raise ValueError(
                f"the weights of {stack!r} have {count} {name}, the tokens for them are {len(axis)}"
                ": pass all tokens with the special tokens (and key_tokens= if the attended "
                "tokens differ)"
            )
    return axes
