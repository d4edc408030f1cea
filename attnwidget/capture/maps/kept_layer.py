"""The attention of one layer for one input: queries and keys, or the maps themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.tapping.lazy_mask import Index, LazyRows
from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.capture.tapping.torch_functions import additive, visible_in
from attnwidget.capture.tapping.weights_agree import spread_rows, weights_agree
from attnwidget.kernels.norms import norm_maps, norms_of_products, summed_norm_maps
from attnwidget.kernels.streaming import Streamed
from attnwidget.kernels.weights import attention_scores, attention_weights

_ROWS_CHECKED = 12
# Cells of a layer's maps held at a time, so that long texts do not fill the memory.
_CELLS_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class Products:
    """The tensors from which the maps of one layer are computed.

    `query` [H, Q, D], `key` [Hkv, K, D], `bias` [1 or H, Q, K] added to the scores, `sinks` [H].
    `streamed` is what a pass over a long input found, of which no map was whole; else None.
    """

    query: Tensor
    key: Tensor
    scaling: float
    softcap: float | None = None
    bias: Tensor | LazyRows | None = None
    sinks: Tensor | None = None
    streamed: Streamed | None = None


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The parts of the scores of one head, float64 on the CPU.

    A score is `softcap` * tanh(scaling * query . key / `softcap`) + bias, or -inf where the mask
    hides the key.

    Attributes:
        query: [Q, D] after position encoding.
        key: [K, D] after position encoding.
        scaling: Factor of the products.
        softcap: Bound of the products; None = no bound.
        bias: [Q, K] added to the scores; None = nothing.
        visible: Bool [Q, K]; None = every query sees every key.
        sink: Score of the attention sink of the head; None = no sink.
    """

    query: Tensor
    key: Tensor
    scaling: float
    softcap: float | None
    bias: Tensor | None
    visible: Tensor | None
    sink: float | None

    def products(self) -> Tensor:
        """Return scaling * query . key, [Q, K]."""
        return self.scaling * self.query @ self.key.T


@dataclass(frozen=True, eq=False)
class KeptLayer:
    """One layer of one input: `products`, or the maps `kept` [H, Q, K].

    Maps are kept if they do not follow from products.

    `mask` [1 or H, Q, K] is bool with True = the query may see the key; None = it may see all.
    `n_key_heads` is smaller than `n_heads` where query heads share key heads. `moved` [K, H, H] are
    the inner products of the heads' transformed vectors, f_h(x_j) . f_g(x_j), and `gradients`
    [H, Q, K] the magnitudes |dL/da|, 0 where masked; None where they are not known. A long input
    has `key_norms` [H, K], the lengths ||f_h(x_j)||, in place of `moved`.
    """

    n_heads: int
    n_key_heads: int
    n_query: int
    n_key: int
    products: Products | None = None
    kept: Tensor | None = None
    mask: Tensor | LazyRows | None = None
    moved: Tensor | None = None
    gradients: Tensor | None = None
    key_norms: Tensor | None = None

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Tensor:
        """The maps of a quantity that the layer has: "weights", "norms" or "gradients"."""
        if quantity == "weights":
            return self.weights(heads, rows, keys)
        if quantity == "gradients":
            assert self.gradients is not None
            return self.gradients[heads][:, _index(rows)][..., _index(keys)]
        norms = self.value_norms()[heads][:, _index(keys)]
        return norm_maps(self.weights(heads, rows, keys), norms)

    def value_norms(self) -> Tensor:
        """||f(x_j)|| of every head and key, [H, K]."""
        if self.key_norms is not None:
            return self.key_norms
        assert self.moved is not None
        return norms_of_products(self.moved)

    def summed_norms(self) -> Tensor:
        """||sum over heads of a f(x)||, [Q, K]."""
        assert self.moved is not None
        step = max(1, _CELLS_AT_ONCE // (self.n_heads * self.n_key))
        blocks = []
        for first in range(0, self.n_query, step):
            rows = range(first, min(first + step, self.n_query))
            blocks.append(summed_norm_maps(self.weights(slice(None), rows), self.moved))
        return torch.cat(blocks)

    def weights(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """The maps of `heads` (consecutive ones), [heads, Q or rows, K or keys] float32.

        Of a layer that was streamed nothing but the cells asked for is computed.
        """
        pick = _index(rows)
        among = _index(keys)
        if self.kept is not None:
            return self.kept[heads][:, pick][..., among].float()
        products = self.products
        assert products is not None
        first, last, _ = heads.indices(self.n_heads)
        group = self.n_heads // self.n_key_heads
        if first % group or last % group:  # no whole groups: give every query head its own key head
            shared = torch.arange(first, last, device=products.key.device) // group
            key = products.key[shared]
        else:
            key = products.key[first // group : last // group]
        seen: slice | list[int] = slice(None)
        if products.streamed is not None:
            seen, key = among, key[:, among]
        mask = _of_heads(self.mask, heads, pick, seen)
        scored: dict[str, Any] = {
            "scaling": products.scaling,
            "softcap": products.softcap,
            "position_bias": _of_heads(products.bias, heads, pick, seen),
        }
        query = products.query[heads][:, pick]
        if products.streamed is None:
            sinks = None if products.sinks is None else products.sinks[heads]
            hides = None if mask is None else additive(mask, products.query.dtype)
            return attention_weights(query, key, **scored, mask=hides, sinks=sinks)[..., among]
        scores = attention_scores(query, key, **scored).float()
        top, largest = (
            row_numbers[heads][:, pick, None]
            for row_numbers in (products.streamed.top, products.streamed.largest)
        )
        weights = scores.sub_(top).exp_().mul_(largest)
        if mask is not None:
            weights = weights.masked_fill_(~mask, 0)
        without_keys = top == torch.finfo(torch.float32).min
        return torch.where(without_keys, largest, weights) if bool(without_keys.any()) else weights

    def score_parts(
        self, head: int, rows: Index | None = None, keys: Index | None = None
    ) -> ScoreParts | None:
        """Return the parts of the scores of a head before the softmax; None without products."""
        products = self.products
        if products is None:
            return None
        one = slice(head, head + 1)
        pick = _index(rows)
        among = _index(keys)
        own = head // (self.n_heads // self.n_key_heads)
        bias = _of_heads(products.bias, one, pick, among)
        mask = _of_heads(self.mask, one, pick, among)
        return ScoreParts(
            query=products.query[head, pick].cpu().double(),
            key=products.key[own, among].cpu().double(),
            scaling=products.scaling,
            softcap=products.softcap,
            bias=None if bias is None else bias[0].cpu().double(),
            visible=None if mask is None else mask[0].cpu(),
            sink=None if products.sinks is None else float(products.sinks[head]),
        )

    def row_blocks(self, cells: int = _CELLS_AT_ONCE) -> Iterator[tuple[int, Tensor]]:
        """All weights, some queries at a time: the first of them, and [H, r, K] from it on."""
        step = max(1, cells // (self.n_heads * self.n_key))
        for first in range(0, self.n_query, step):
            rows = slice(first, min(first + step, self.n_query))
            yield first, self.weights(slice(0, self.n_heads), rows)

    def seen(
        self, head: int, rows: Index | None = None, keys: Index | None = None
    ) -> Tensor | None:
        """[Q or rows, K or keys] bool: which keys each query of `head` may see; None = all."""
        mask = _of_heads(self.mask, slice(head, head + 1), _index(rows), _index(keys))
        return None if mask is None else mask[0]

    def seen_by(self, heads: slice) -> Tensor | None:
        """[1 or heads, Q, K] bool: which keys each query may see; None = all keys."""
        return _of_heads(self.mask, heads, slice(None), slice(None))

    @property
    def is_streamed(self) -> bool:
        """Whether no map of it was ever whole."""
        return self.products is not None and self.products.streamed is not None


def _index(places: Index | None) -> slice | list[int]:
    if places is None:
        return slice(None)
    return places if isinstance(places, slice) else list(places)


def _of_heads(
    tensor: Tensor | LazyRows | None, heads: slice, rows: slice | list[int], keys: slice | list[int]
) -> Tensor | None:
    if tensor is None:
        return None
    heads = slice(None) if tensor.shape[0] == 1 else heads
    if isinstance(tensor, LazyRows):
        return tensor[heads, rows, keys]
    return tensor[heads][:, rows][..., keys]


@dataclass(eq=False)
class Shared:
    """Masks and biases that several layers of a model have in common, each stored once."""

    _stored: list[Tensor] = field(default_factory=list)

    def __call__(self, tensor: Tensor) -> Tensor:
        """`tensor`, or an equal one stored before."""
        for known in reversed(self._stored):
            alike = known.shape == tensor.shape and known.dtype == tensor.dtype
            if alike and torch.equal(known, tensor):
                return known
        self._stored.append(tensor)
        return tensor


def keep_layer(
    seen: LayerAttention,
    item: int,
    queries: Tensor | None,
    keys: Tensor | None,
    shared: Shared,
    moved: Tensor | None = None,
) -> KeptLayer:
    """Return the kept layer of one item of the batch in `seen`.

    Args:
        seen: one layer's attention, batch of any size.
        item: index in the batch.
        queries: indices of the queries to keep (the others are padding); None = all.
        keys: indices of the keys to keep; None = all.
        shared: masks and biases of the layers kept before.
        moved: [B, K, H, H], inner products of the heads' transformed vectors; None = not known.
    """
    maps = cut_map(seen.weights[item].detach(), queries, keys)  # [H, Q, K]
    n_heads, n_query, n_key = maps.shape
    if moved is not None:
        moved = _copy(moved[item] if keys is None else moved[item, keys])
    mask, bias = _mask_and_bias(seen, item, queries, keys)
    mask = shared(mask) if mask is not None else None
    if seen.query is not None and seen.key is not None and seen.scaling is not None:
        query = seen.query[item].detach()
        key = seen.key[item].detach()
        sinks = seen.kwargs.get("s_aux")
        products = Products(
            query=_copy(query if queries is None else query[:, queries]),
            key=_copy(key if keys is None else key[:, keys]),
            scaling=float(seen.scaling),
            softcap=seen.kwargs.get("softcap"),
            bias=shared(bias) if bias is not None else None,
            # A parameter, which training would change under the queries and keys.
            sinks=sinks.detach().reshape(-1).clone() if isinstance(sinks, Tensor) else None,
        )
        layer = KeptLayer(
            n_heads, key.shape[0], n_query, n_key, products=products, mask=mask, moved=moved
        )
        if _reproduces(layer, maps):
            return layer
    return KeptLayer(n_heads, n_heads, n_query, n_key, kept=_copy(maps), mask=mask, moved=moved)


def _reproduces(layer: KeptLayer, maps: Tensor) -> bool:
    """Whether the layer's own formula gives the model's `maps` [H, Q, K], on a few rows."""
    assert layer.products is not None
    query = layer.products.query
    key = layer.products.key
    if query.shape[:2] != maps.shape[:2] or key.shape[1] != maps.shape[2]:
        return False
    if not query.shape[0] or query.shape[0] % key.shape[0] or not maps.numel():
        return False
    rows = sorted({*spread_rows(layer.n_query, _ROWS_CHECKED), *_rows_without_keys(layer.mask)})
    try:
        computed = layer.weights(slice(0, layer.n_heads), rows)
    except (RuntimeError, IndexError):
        return False  # a mask or bias laid out in a way the formula does not know
    return weights_agree(computed, maps[:, rows])


def _rows_without_keys(mask: Tensor | LazyRows | None) -> list[int]:
    """Return the queries that may see no key: implementations disagree about their weights."""
    if not isinstance(mask, Tensor):
        return []
    rows = [int(row) for row in (~mask.any(-1)).any(0).nonzero()[:, 0]]
    return [rows[place] for place in spread_rows(len(rows), _ROWS_CHECKED)] if rows else []


def _mask_and_bias(
    seen: LayerAttention, item: int, queries: Tensor | None, keys: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Return the mask as bool, and any bias of the scores, both [1 or H, Q, K] or None."""
    mask = None
    bias = None
    n_query, n_key = seen.weights.shape[-2:]
    for added in (seen.mask, seen.kwargs.get("position_bias")):
        if not isinstance(added, Tensor):
            continue
        added = added.detach()
        while added.ndim < 4:
            added = added[None]
        added = added[item if added.shape[0] > 1 else 0]
        added = cut_map(added.expand(-1, n_query, n_key), queries, keys)
        if added.dtype == torch.bool:
            visible = added
        else:
            visible = visible_in(added)
            rest = torch.where(visible, added, 0)
            if bool(rest.any()):
                bias = rest if bias is None else bias + rest
        if not bool(visible.all()):
            mask = visible if mask is None else mask & visible
    if mask is not None and mask.shape[0] > 1 and bool((mask == mask[:1]).all()):
        mask = mask[:1]
    return (None if mask is None else _copy(mask), None if bias is None else _copy(bias))


def cut_map(tensor: Tensor, queries: Tensor | None, keys: Tensor | None) -> Tensor:
    """The rows and columns of [H, Q, K] that are not padding."""
    tensor = tensor if queries is None else tensor[:, queries]
    return tensor if keys is None else tensor[..., keys]


def _copy(tensor: Tensor) -> Tensor:
    # A view would keep the whole batch, or queries, keys and values in one tensor, alive.
    return tensor.contiguous() if tensor._base is None else tensor.clone()
