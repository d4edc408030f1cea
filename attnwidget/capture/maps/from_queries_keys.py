"""Layers from queries and keys that another program recorded, with checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from attnwidget.capture.maps.array_tensor import tensor_of
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.norm_maps import NormMaps
from attnwidget.capture.maps.products import Products
from attnwidget.capture.maps.whole_maps import LONG_FROM
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.norms import (
    head_projections,
    projection_factors,
    value_norms,
    value_products,
)
from attnwidget.kernels.streaming import stream_attention
from attnwidget.text.counted import counted

_T = TypeVar("_T")

# Larger scores leave no room for sums and exponentials in float32.
_LARGEST_SCORE = 1e30
_AXES = {
    "queries": "[heads, queries, size]",
    "keys": "[key heads, keys, size]",
    "values": "[value heads, keys, size]",
    "output": "[hidden units, heads * size]",
}


def layers_of_states(
    queries: object,
    keys: object,
    n_tokens: tuple[int, int],
    *,
    scale: object,
    bias: object = None,
    mask: object = None,
    values: object = None,
    output: object = None,
    softcap: float | None = None,
    sinks: object = None,
    long: bool | None = None,
) -> list[Layer]:
    """Return a `Layer` for each layer of queries and keys; no array is shared with the caller.

    Args:
        queries: Queries, [L, H, Q, D], or a sequence of layers.
        keys: Keys, [L, Hkv, K, D], or a sequence of layers.
        n_tokens: Numbers of query tokens and key tokens.
        scale: Factor of the products, one number or one per layer.
        bias: Numbers added to the scores; None for no bias.
        mask: True where the query sees the key, "causal", or None if it sees everything.
        values: Values, [L, Hv, K, Dv], or a sequence of layers; None for no norms.
        output: Output projections, [L, d, H * Dv], or a sequence of layers; None for no norms.
        softcap: Bound of the scores before the bias; None for no bound.
        sinks: Scores of attention sinks, [L, H]; None for no sinks.
        long: Whether to compute maps row by row, without whole maps; None does so above 1,024
            tokens.

    Raises:
        TypeError: Array values are not real numbers, or mask values are not booleans.
        ValueError: Shapes do not fit each other or the tokens, a value is not finite, a query sees
            no key, or scores would exceed float32.
    """
    query_layers = _layers(queries, "queries")
    device = query_layers[0].device
    arrays = _RecordedArrays(
        queries=query_layers,
        keys=_layers(keys, "keys", device),
        values=None if values is None else _layers(values, "values", device),
        output=None if output is None else _layers(output, "output", device),
    )
    sizes = arrays.check(n_tokens)
    n_layers = len(query_layers)
    by_rows = max(n_tokens) > LONG_FROM if long is None else long
    scales = _scales(scale, n_layers)
    softcap = None if softcap is None else _positive(softcap, "softcap")
    sink_scores = _sinks(sinks, n_layers, sizes.n_heads, device)
    masks = _of_every_layer(
        mask, n_layers, "mask", lambda one, where: _mask(one, sizes, where, device, by_rows)
    )
    biases = _of_every_layer(
        bias, n_layers, "bias", lambda one, where: _bias(one, sizes, where, device)
    )
    layers = []
    for index in range(n_layers):
        products = Products(
            query=arrays.queries[index],
            key=arrays.keys[index],
            scaling=scales[index],
            softcap=softcap,
            mask=masks[index],
            bias=biases[index],
            sinks=None if sink_scores is None else sink_scores[index],
        )
        _refuse_large_scores(products, f"layer {index}")
        layer = _layer(_streamed(products) if by_rows else products)
        layers.append(arrays.with_norms(layer, index))
    return layers


@dataclass(frozen=True)
class _Sizes:
    n_heads: int
    n_query: int
    n_key: int


@dataclass(frozen=True, eq=False)
class _RecordedArrays:
    """Recorded arrays of all layers, in float32. Each array is a copy."""

    queries: list[Tensor]
    keys: list[Tensor]
    values: list[Tensor] | None
    output: list[Tensor] | None

    def check(self, n_tokens: tuple[int, int]) -> _Sizes:
        """Return the sizes of all layers; raise ValueError if shapes do not fit each other."""
        if (self.values is None) != (self.output is None):
            argument, absent = ("output", "values") if self.values is None else ("values", "output")
            raise ValueError(
                f"norms need values and the output projection, got {argument} without {absent}: "
                f"pass {absent}= too, or neither of them"
            )
        other_arrays = {"keys": self.keys, "values": self.values, "output": self.output}
        for name, layers in other_arrays.items():
            if layers is not None and len(layers) != len(self.queries):
                raise ValueError(
                    f"there are queries of {counted(len(self.queries), 'layer')} and {name} of "
                    f"{len(layers)}: pass the same layers of both"
                )
        n_heads, n_query, _ = self.queries[0].shape
        sizes = _Sizes(n_heads, n_query, self.keys[0].shape[1])
        for index, (query, key) in enumerate(zip(self.queries, self.keys, strict=True)):
            layer_sizes = _Sizes(query.shape[0], query.shape[1], key.shape[1])
            if layer_sizes != sizes:
                raise ValueError(
                    "all layers need the same numbers of heads, queries and keys: layer 0 has "
                    f"{sizes.n_heads}, {sizes.n_query} and {sizes.n_key}, layer {index} "
                    f"{layer_sizes.n_heads}, {layer_sizes.n_query} and {layer_sizes.n_key}"
                )
            if query.shape[-1] != key.shape[-1]:
                raise ValueError(
                    f"layer {index} has queries of size {query.shape[-1]} and keys of size "
                    f"{key.shape[-1]}: their product needs equal sizes, the last axis of both"
                )
            _refuse_uneven(n_heads, key.shape[0], f"layer {index}", "key")
        self._check_tokens(n_tokens, sizes)
        self._check_values(sizes)
        return sizes

    def _check_tokens(self, n_tokens: tuple[int, int], sizes: _Sizes) -> None:
        sides = (
            ("queries", self.queries[0], sizes.n_query, n_tokens[0]),
            ("keys", self.keys[0], sizes.n_key, n_tokens[1]),
        )
        for name, array, count, expected in sides:
            if count == expected:
                continue
            advice = (
                "pass all tokens with the special tokens, and key_tokens= if the attended tokens "
                "differ"
            )
            if array.shape[0] == expected:
                advice = f"if the first axis has the tokens, swap it with the heads: {_AXES[name]}"
            raise ValueError(
                f"a layer of {name}, {list(array.shape)}, is of {counted(count, 'token')}, and the "
                f"tokens for it are {expected}: {advice}"
            )

    def _check_values(self, sizes: _Sizes) -> None:
        if self.values is None or self.output is None:
            return
        for index, (value, output) in enumerate(zip(self.values, self.output, strict=True)):
            where = f"layer {index}"
            if value.shape[1] != sizes.n_key:
                raise ValueError(
                    f"{where} has values of {counted(value.shape[1], 'key')}, and the keys are "
                    f"{sizes.n_key}: pass the value of every key, {_AXES['values']}"
                )
            _refuse_uneven(sizes.n_heads, value.shape[0], where, "value")
            width = sizes.n_heads * value.shape[-1]
            if output.shape[1] == width:
                continue
            advice = "pass the weight as torch.nn.Linear keeps it"
            if output.shape[0] == width:
                advice = "pass its transpose, as torch.nn.Linear keeps the weight"
            raise ValueError(
                f"the output projection of {where} has the shape {list(output.shape)}, expected "
                f"[hidden units, {width}] for {sizes.n_heads} heads with values of size "
                f"{value.shape[-1]}: {advice}"
            )

    def with_norms(self, layer: Layer, index: int) -> Layer:
        """Return a layer with the data for its norms, if values and output are known."""
        if self.values is None or self.output is None:
            return layer
        value = self.values[index]
        shares = head_projections(self.output[index], layer.n_heads)
        if layer.by_rows:
            lengths = value_norms(value, projection_factors(shares))
            return replace(layer, norms=NormMaps(layer.weights, lengths=lengths))
        pairs = value_products(value, shares)
        return replace(layer, norms=NormMaps(layer.weights, pairs=pairs))


def _layer(products: Products) -> Layer:
    n_heads, n_query, _ = products.query.shape
    n_key_heads, n_key, _ = products.key.shape
    return Layer(
        n_heads,
        n_key_heads,
        n_query,
        n_key,
        weights=products,
        mask=products.mask,
        maxima=products.streamed,
        by_rows=products.streamed is not None,
    )


def _streamed(products: Products) -> Products:
    """Return queries and keys after one pass over their rows, without making a whole map."""
    mask = products.mask
    bias = products.bias
    n_key_heads, n_key, _ = products.key.shape
    _, streamed = stream_attention(
        products.query,
        products.key,
        products.key.new_zeros(n_key_heads, n_key, 1),  # The outputs of the heads are not needed.
        scaling=products.scaling,
        softcap=products.softcap,
        sinks=products.sinks,
        visible=None if mask is None else lambda rows, keys: mask[:, rows, keys],
        bias=None if bias is None else lambda rows, keys: bias[:, rows, keys],
    )
    return replace(products, streamed=streamed)


def _layers(states: object, name: str, device: torch.device | None = None) -> list[Tensor]:
    """Return copies of the layers in an array [layers, ...] or a sequence.

    The copies are on `device`, by default on the device of the first layer.
    """
    form = f"[layers, {_AXES[name][1:]}"
    n_axes = _AXES[name].count(",") + 1
    if isinstance(states, (list, tuple)):
        layers = [
            _one_layer(layer, f"layer {index} of the {name}", name, n_axes)
            for index, layer in enumerate(states)
        ]
    else:
        array = tensor_of(states, name, form)
        if array.ndim != n_axes + 1:
            raise ValueError(
                f"{name} of all layers have the shape {form}, got {list(array.shape)}: for one "
                f"layer, pass a list of one array {_AXES[name]}"
            )
        layers = list(array)
    if not layers or not all(layer.numel() for layer in layers):
        shapes = [list(layer.shape) for layer in layers]
        raise ValueError(f"{name} are empty, got layers of the shapes {shapes}: pass {form}")
    device = layers[0].device if device is None else device
    return [
        _own(layer, f"layer {index} of the {name}", device) for index, layer in enumerate(layers)
    ]


def _one_layer(states: object, where: str, name: str, n_axes: int) -> Tensor:
    array = tensor_of(states, name, _AXES[name])
    if array.ndim == n_axes + 1 and array.shape[0] != 1:
        raise ValueError(
            f"{where} has a batch of {array.shape[0]} inputs, {list(array.shape)}: pass one of "
            f"them, [layer[i] for layer in {name}]"
        )
    array = array[0] if array.ndim == n_axes + 1 else array
    if array.ndim != n_axes:
        raise ValueError(f"{where} has the shape {list(array.shape)}, expected {_AXES[name]}")
    return array


def _own(array: Tensor, where: str, device: torch.device) -> Tensor:
    """Return a float32 copy, because the caller may record the next input into the same memory."""
    copy = array.to(device, torch.float32, copy=True, memory_format=torch.contiguous_format)
    if not bool(torch.isfinite(copy).all()):
        index = (~torch.isfinite(copy)).nonzero()[0].tolist()
        raise ValueError(
            f"{where} has the value {array[tuple(index)].item()} at {index}, expected a finite "
            "number of float32: record it again, or leave this token out"
        )
    return copy


def _scales(scale: object, n_layers: int) -> list[float]:
    values = scale if isinstance(scale, (list, tuple)) else [scale] * n_layers
    if len(values) != n_layers:
        raise ValueError(
            f"scale has {counted(len(values), 'number')} for {counted(n_layers, 'layer')}: pass "
            "one number, or one per layer"
        )
    return [_positive(value, "scale") for value in values]


def _positive(value: object, name: str) -> float:
    try:
        number = float(cast(Any, value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error
    if not 0 < number < float("inf"):
        advice = "; usually the size of the queries to the power -0.5" if name == "scale" else ""
        raise ValueError(f"{name} must be a finite number above 0, got {number}{advice}")
    return number


def _sinks(sinks: object, n_layers: int, n_heads: int, device: torch.device) -> Tensor | None:
    if sinks is None:
        return None
    scores = _own(tensor_of(sinks, "sinks", "[layers, heads]"), "the array of sinks", device)
    if scores.shape != (n_layers, n_heads):
        raise ValueError(
            f"sinks have the shape {list(scores.shape)}, expected [{n_layers}, {n_heads}]: the "
            "score of one sink for every layer and head"
        )
    return scores


def _of_every_layer(
    given: object, n_layers: int, name: str, read: Callable[[object, str], _T]
) -> list[_T]:
    """Return the result of `read` for each layer's entry in an argument.

    The argument is for all layers, or has one entry per layer: a sequence, or an array with four
    axes. `read` receives an entry and its name.
    """
    array = given
    if not isinstance(given, (list, tuple, str)) and given is not None:
        array = tensor_of(given, name, "[layers, heads, queries, keys]")
    if isinstance(array, (list, tuple)) or (isinstance(array, Tensor) and array.ndim == 4):
        if len(array) != n_layers:
            raise ValueError(
                f"{name} has {counted(len(array), 'array')} for "
                f"{counted(n_layers, 'layer')}: pass one array [heads, queries, keys] for all "
                "layers, or one per layer"
            )
        return [read(entry, f"{name} of layer {index}") for index, entry in enumerate(array)]
    return [read(array, name)] * n_layers


def _mask(
    mask: object, sizes: _Sizes, where: str, device: torch.device, by_rows: bool
) -> Tensor | LazyRows | None:
    """Return the keys that each query sees, [1 or H, Q, K] bool; None if it sees every key."""
    if mask is None:
        return None
    if isinstance(mask, str):
        if mask != "causal":
            raise ValueError(f'{where} must be "causal", a boolean array or None, got {mask!r}')
        return _causal(sizes, where, device, by_rows)
    visible = tensor_of(mask, "masks", "[queries, keys]")
    if visible.dtype != torch.bool:
        raise TypeError(
            f"{where} has numbers of {visible.dtype}, expected booleans, True where the query sees "
            "the key: pass `added == 0` of a mask that is added to the scores, and other numbers "
            "as bias="
        )
    visible = _map_of(visible, sizes, where).to(device, copy=True)
    empty_rows = (~visible.any(-1)).nonzero()
    if len(empty_rows):
        head, query = empty_rows[0].tolist()
        raise ValueError(
            f"{where} hides every key from query {query} of head {head}, and implementations "
            "disagree about the weights of such a query: leave padding out of queries, keys and "
            "tokens"
        )
    return None if bool(visible.all()) else visible


def _causal(
    sizes: _Sizes, where: str, device: torch.device, by_rows: bool
) -> Tensor | LazyRows | None:
    """Return the causal mask for queries that are the last of the keys."""
    n_earlier = sizes.n_key - sizes.n_query
    if n_earlier < 0:
        raise ValueError(
            f'{where} is "causal" with {sizes.n_query} queries and {sizes.n_key} keys, so the '
            "first queries would see no key: pass the keys of all queries"
        )
    if sizes.n_query == 1:
        return None
    queries = torch.arange(sizes.n_query, dtype=torch.long, device=device) + n_earlier
    keys = torch.arange(sizes.n_key, dtype=torch.long, device=device)

    def part(rows: Index, among: Index) -> Tensor:
        return (keys[among] <= queries[rows, None])[None]

    everything = slice(None)
    return LazyRows(1, part) if by_rows else part(everything, everything)


def _bias(bias: object, sizes: _Sizes, where: str, device: torch.device) -> Tensor | None:
    """Return the bias of the scores, [1 or H, Q, K] float32."""
    if bias is None:
        return None
    numbers = _map_of(tensor_of(bias, "biases", "[heads, queries, keys]"), sizes, where)
    if not bool(torch.isfinite(numbers).all()):
        value = numbers[~torch.isfinite(numbers)][0].item()
        raise ValueError(
            f"{where} has the value {value}, expected finite numbers that are added to scores: "
            "pass hidden keys as mask=, and 0 in their place"
        )
    return numbers.to(device, torch.float32, copy=True)


def _map_of(array: Tensor, sizes: _Sizes, where: str) -> Tensor:
    """Return an array of one layer as [1 or H, Q, K]."""
    shape = list(array.shape)
    array = array[None] if array.ndim == 2 else array
    heads = array.shape[0] if array.ndim == 3 else 0
    if heads not in (1, sizes.n_heads) or array.shape[1:] != (sizes.n_query, sizes.n_key):
        raise ValueError(
            f"{where} has the shape {shape}, expected [{sizes.n_query}, {sizes.n_key}] or "
            f"[{sizes.n_heads}, {sizes.n_query}, {sizes.n_key}]: queries and keys, with one map or "
            "one per head"
        )
    return array


def _refuse_uneven(n_heads: int, n_shared: int, where: str, kind: str) -> None:
    if n_heads % n_shared:
        raise ValueError(
            f"{where} has {counted(n_heads, 'query head')} and {counted(n_shared, f'{kind} head')}"
            f", which do not share evenly: the heads are the first axis of both, and query head h "
            f"reads {kind} head h // (query heads / {kind} heads)"
        )


def _refuse_large_scores(products: Products, where: str) -> None:
    """Raise ValueError if scores could exceed float32, because rows would then not sum to 1."""
    query, key = (float(states.abs().max()) for states in (products.query, products.key))
    largest = products.scaling * products.query.shape[-1] * query * key
    if isinstance(products.bias, Tensor):
        largest += float(products.bias.abs().max())
    if not largest < _LARGEST_SCORE:
        raise ValueError(
            f"{where} has queries up to {query:.3g} and keys up to {key:.3g}, whose scores may "
            f"reach {largest:.3g}, expected scores below {_LARGEST_SCORE:.0e}: check scale and "
            "bias, and that the states were recorded without overflow"
        )
