"""Layers from the tensors of one forward pass, with whole maps or with queries and keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from attnwidget.capture.maps.given_maps import GivenMaps
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.map_source import MapSource
from attnwidget.capture.maps.norm_maps import NormMaps
from attnwidget.capture.maps.products import Products
from attnwidget.capture.tapping.of_latest import OfLatest
from attnwidget.capture.tapping.streamed_layer import StreamedItem
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.capture.tapping.torch_functions import visible_in
from attnwidget.capture.tapping.weights_agree import spread_rows, weights_agree

_ROWS_CHECKED = 12


@dataclass(frozen=True, eq=False)
class _Hidden:
    """The mask and bias of a layer for an input.

    Attributes:
        mask: Mask, bool [1 or H, Q, K]; None if every query may see every key.
        bias: Bias of the scores, [1 or H, Q, K], or None.
        rows: Queries whose weights are compared, int64 on the layer's device. They include some
            queries that may see no key.
    """

    mask: Tensor | None
    bias: Tensor | None
    rows: Tensor


@dataclass(eq=False)
class SharedTensors:
    """Masks and biases that several layers of a model share, each stored once.

    Attributes:
        hidden: Masks and biases of the latest layers.
        agreed: Unread answers on a GPU: whether the weights of each layer follow from its queries
            and keys. None reads every answer at once.
    """

    _stored: list[Tensor] = field(default_factory=list)
    hidden: OfLatest[_Hidden] = field(default_factory=OfLatest)
    agreed: list[Tensor] | None = None

    def __call__(self, tensor: Tensor) -> Tensor:
        """Return `tensor`, or an equal tensor that was stored before."""
        for stored in reversed(self._stored):
            is_same_type = stored.shape == tensor.shape and stored.dtype == tensor.dtype
            if is_same_type and torch.equal(stored, tensor):
                return stored
        self._stored.append(tensor)
        return tensor


def whole_layer(
    seen: LayerAttention,
    item: int,
    queries: Tensor | None,
    keys: Tensor | None,
    shared: SharedTensors,
    moved: Tensor | None = None,
) -> Layer:
    """Return the layer of one batch item in `seen`.

    Args:
        seen: Attention of one layer, with a batch of any size.
        item: Index in the batch.
        queries: Indices of the queries without padding; None for all.
        keys: Indices of the keys without padding; None for all.
        shared: Masks and biases of earlier layers. On a GPU, its answers may stay unread until the
            pass has ended.
        moved: Inner products of the heads' transformed vectors, [B, K, H, H]; None if unknown.
    """
    maps = cut_map(seen.weights[item].detach(), queries, keys)  # [H, Q, K]
    n_heads, n_query, n_key = maps.shape
    bias = seen.kwargs.get("position_bias")
    arguments = (seen.mask, bias, item, queries, keys, n_query, n_key, maps.device)
    mask_and_bias = shared.hidden(arguments, lambda: _hidden(seen, item, queries, keys, shared))
    n_key_heads = n_heads
    weights: MapSource | None = None
    if seen.query is not None and seen.key is not None and seen.scaling is not None:
        query = seen.query[item].detach()
        key = seen.key[item].detach()
        sinks = seen.kwargs.get("s_aux")
        products = Products(
            query=_copy(query if queries is None else query[:, queries]),
            key=_copy(key if keys is None else key[:, keys]),
            scaling=float(seen.scaling),
            softcap=seen.kwargs.get("softcap"),
            mask=mask_and_bias.mask,
            bias=mask_and_bias.bias,
            # Copy this parameter, because training would change it under the queries and keys.
            sinks=sinks.detach().reshape(-1).clone() if isinstance(sinks, Tensor) else None,
        )
        if _reproduces(products, maps, mask_and_bias.rows, shared.agreed):
            weights = products
            n_key_heads = key.shape[0]
    if weights is None:
        weights = GivenMaps(_copy(maps))
    norms = None
    if moved is not None:
        norms = NormMaps(weights, _copy(moved[item] if keys is None else moved[item, keys]))
    return Layer(
        n_heads, n_key_heads, n_query, n_key, weights=weights, mask=mask_and_bias.mask, norms=norms
    )


def streamed_layer(item: StreamedItem, lengths: Tensor | None = None) -> Layer:
    """Return the layer of one input that was read some rows at a time.

    Args:
        item: Record of the tap.
        lengths: Lengths of the heads' vectors, [H, K]; None if unknown.
    """
    products = Products(
        query=item.query,
        key=item.key,
        scaling=item.scaling,
        softcap=item.softcap,
        mask=item.mask,
        bias=item.bias,
        sinks=item.sinks,
        streamed=item.streamed,
    )
    (n_heads, n_query, _), (n_key_heads, n_key, _) = item.query.shape, item.key.shape
    norms = None if lengths is None else NormMaps(products, lengths=lengths)
    return Layer(
        n_heads,
        n_key_heads,
        n_query,
        n_key,
        weights=products,
        mask=item.mask,
        norms=norms,
        maxima=item.streamed,
        by_rows=True,
    )


def _reproduces(
    products: Products, maps: Tensor, rows: Tensor, waiting: list[Tensor] | None
) -> bool:
    """Return whether queries and keys give the model's `maps` [H, Q, K] in some rows.

    On a GPU, the answer is added to `waiting`, and is taken as true until the pass has ended.
    """
    query = products.query
    key = products.key
    if query.shape[:2] != maps.shape[:2] or key.shape[1] != maps.shape[2]:
        return False
    if not query.shape[0] or query.shape[0] % key.shape[0] or not maps.numel():
        return False
    try:
        computed = products.rows(slice(0, len(query)), rows)
    except (RuntimeError, IndexError):
        return False  # The formula does not know this layout of a mask or bias.
    agree = weights_agree(computed, maps[:, rows])
    if waiting is None or agree.device.type == "cpu":
        return bool(agree)
    waiting.append(agree)
    return True


def all_agree(shared: Iterable[SharedTensors]) -> bool:
    """Return whether all answers are true that passes left on a GPU."""
    answers = [answer for tensors in shared for answer in tensors.agreed or ()]
    # One copy for all layers, because every copy waits for a GPU.
    return not answers or bool(torch.stack([a.to(answers[0].device) for a in answers]).all())


def _hidden(
    seen: LayerAttention,
    item: int,
    queries: Tensor | None,
    keys: Tensor | None,
    shared: SharedTensors,
) -> _Hidden:
    """Return the mask and bias of a layer, stored once if other layers have equal ones."""
    mask, bias = _mask_and_bias(seen, item, queries, keys)
    mask = shared(mask) if mask is not None else None
    bias = shared(bias) if bias is not None else None
    # Implementations disagree about the weights of queries that may see no key.
    n_query = seen.weights.shape[-2] if queries is None else len(queries)
    rows = sorted({*spread_rows(n_query, _ROWS_CHECKED), *_rows_without_keys(mask)})
    return _Hidden(mask, bias, torch.tensor(rows, dtype=torch.long, device=seen.weights.device))


def _rows_without_keys(mask: Tensor | None) -> list[int]:
    """Return some of the queries that see no key."""
    if mask is None:
        return []
    rows = (~mask.any(-1)).any(0).nonzero()[:, 0].tolist()
    return [rows[index] for index in spread_rows(len(rows), _ROWS_CHECKED)] if rows else []


def _mask_and_bias(
    seen: LayerAttention, item: int, queries: Tensor | None, keys: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Return the mask as bool, and any bias of the scores, both [1 or H, Q, K] or None."""
    mask = None
    bias = None
    n_query, n_key = seen.weights.shape[-2:]
    for term in (seen.mask, seen.kwargs.get("position_bias")):
        if not isinstance(term, Tensor):
            continue
        term = term.detach()
        while term.ndim < 4:
            term = term[None]
        term = term[item if term.shape[0] > 1 else 0]
        term = cut_map(term.expand(-1, n_query, n_key), queries, keys)
        if term.dtype == torch.bool:
            visible = term
        else:
            visible = visible_in(term)
            finite_bias = torch.where(visible, term, 0)
            if bool(finite_bias.any()):
                bias = finite_bias if bias is None else bias + finite_bias
        if not bool(visible.all()):
            mask = visible if mask is None else mask & visible
    if mask is not None and mask.shape[0] > 1 and bool((mask == mask[:1]).all()):
        mask = mask[:1]
    return (None if mask is None else _copy(mask), None if bias is None else _copy(bias))


def cut_map(tensor: Tensor, queries: Tensor | None, keys: Tensor | None) -> Tensor:
    """Return the rows and columns of [H, Q, K] without padding."""
    tensor = tensor if queries is None else tensor[:, queries]
    return tensor if keys is None else tensor[..., keys]


def _copy(tensor: Tensor) -> Tensor:
    # A view would keep the whole batch, or queries, keys and values in one tensor, in memory.
    return tensor.contiguous() if tensor._base is None else tensor.clone()
