"""Queries and keys of a layer, and the attention weights that follow."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnwidget.capture.maps.layer_parts import AxisPart, part_of, place_of
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.capture.tapping.torch_functions import additive
from attnwidget.kernels.streaming import Streamed
from attnwidget.kernels.weights import attention_scores, attention_weights


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
class Products:
    """Attention weights that are computed from queries and keys.

    Attributes:
        query: Queries after position encoding, [H, Q, D].
        key: Keys after position encoding, [Hkv, K, D].
        scaling: Factor of the products.
        softcap: Bound of the products; None = no bound.
        mask: Which keys each query may see, [1 or H, Q, K]; None = all keys.
        bias: Numbers added to the scores, [1 or H, Q, K]; None = nothing.
        sinks: Scores of the attention sinks, [H]; None = no sinks.
        streamed: Largest score and weight of each query, if a pass over a long input has found
            them. Each weight then follows from its score alone. None = a softmax over whole rows.
    """

    query: Tensor
    key: Tensor
    scaling: float
    softcap: float | None = None
    mask: Tensor | LazyRows | None = None
    bias: Tensor | LazyRows | None = None
    sinks: Tensor | None = None
    streamed: Streamed | None = None

    keeps_maps = False
    is_numpy = False

    @property
    def products(self) -> Products:
        """These queries and keys."""
        return self

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        pick = place_of(rows)
        among = place_of(keys)
        n_heads = len(self.query)
        first, last, _ = heads.indices(n_heads)
        group = n_heads // len(self.key)
        if first % group or last % group:  # no whole groups: give every query head its own key head
            shared = torch.arange(first, last, dtype=torch.long, device=self.key.device) // group
            key = self.key[shared]
        else:
            key = self.key[first // group : last // group]
        query = self.query[heads][:, pick]
        if self.streamed is not None:
            return self._cells(heads, pick, among, query, key)
        visible = part_of(self.mask, heads, pick, slice(None))
        weights = attention_weights(
            query,
            key,
            scaling=self.scaling,
            softcap=self.softcap,
            position_bias=part_of(self.bias, heads, pick, slice(None)),
            mask=None if visible is None else additive(visible, self.query.dtype),
            sinks=None if self.sinks is None else self.sinks[heads],
        )
        return weights[..., among]

    def _cells(
        self, heads: slice, rows: AxisPart, keys: AxisPart, query: Tensor, key: Tensor
    ) -> Tensor:
        """Return weights from the largest score and weight of each row; other cells cost nothing.

        Args:
            heads: The heads.
            rows: The queries.
            keys: The keys.
            query: The queries of these heads and rows.
            key: All keys of these heads.
        """
        assert self.streamed is not None
        visible = part_of(self.mask, heads, rows, keys)
        span = slice(None)
        if visible is not None and isinstance(keys, slice) and visible.device.type == "cpu":
            # Half of a causal map, and most of a map with a sliding window, need no score. A query
            # that sees no key attends to all keys.
            flat = visible.flatten(0, -2)
            shown = flat.any(0).nonzero()[:, 0]
            if len(shown) and bool(flat.any(-1).all()):
                span = slice(int(shown[0]), int(shown[-1]) + 1)
                first = keys.indices(key.shape[1])[0]
                keys = slice(first + span.start, first + span.stop)
        top, largest = (
            row_numbers[heads][:, rows, None]
            for row_numbers in (self.streamed.top, self.streamed.largest)
        )
        scores = attention_scores(
            query,
            key[:, keys],
            scaling=self.scaling,
            softcap=self.softcap,
            position_bias=part_of(self.bias, heads, rows, keys),
        ).float()
        seen = None if visible is None else visible[..., span]
        weights = _streamed_weights(scores, top, largest, seen)
        if visible is None or weights.shape[-1] == visible.shape[-1]:
            return weights
        whole = weights.new_zeros((*weights.shape[:-1], visible.shape[-1]))
        whole[..., span] = weights
        return whole

    def gives_weights_of(self, other: Products) -> bool:
        """Return whether both give the same weights, as far as this is known without the weights.

        Args:
            other: Products of another pass.
        """
        names = ("query", "key", "bias", "sinks", "mask")
        parts = [(getattr(self, name), getattr(other, name)) for name in names]
        return (self.scaling, self.softcap) == (other.scaling, other.softcap) and all(
            torch.equal(own, its)
            if isinstance(own, Tensor) and isinstance(its, Tensor) and own.device == its.device
            else own is its
            for own, its in parts
        )

    def row_of_each_head(self, queries: Tensor) -> Tensor:
        """Return one row of every map of a streamed layer, [H, K]: the row of `queries[h]`.

        Args:
            queries: The query of each head, int64 [H] on the device of the layer.
        """
        assert self.streamed is not None
        every = torch.arange(len(self.query), dtype=torch.long, device=self.query.device)
        group = len(self.query) // len(self.key)
        own = slice(None)

        def of_heads(array: Tensor | LazyRows | None) -> Tensor | None:
            """Return the row of each head of a mask or bias, [H, 1, K]."""
            rows = part_of(array, own, queries, own)
            if rows is None:
                return None
            heads = every if len(rows) > 1 else torch.zeros_like(every)
            of_each: Tensor = rows[heads, every][:, None]
            return of_each

        # Heads are grouped by their key head: [Hkv, group, D], as the queries of one head.
        query = self.query[every, queries].view(len(self.key), group, -1)
        bias = of_heads(self.bias)
        scores = attention_scores(
            query,
            self.key,
            scaling=self.scaling,
            softcap=self.softcap,
            position_bias=None if bias is None else bias.view(len(self.key), group, -1),
        ).float()
        top, largest = (
            row_numbers[every, queries][:, None, None]
            for row_numbers in (self.streamed.top, self.streamed.largest)
        )
        scores = scores.reshape(len(every), 1, -1)
        return _streamed_weights(scores, top, largest, of_heads(self.mask))[:, 0]

    def score_parts(
        self, head: int, rows: Index | None = None, keys: Index | None = None
    ) -> ScoreParts:
        """Return the parts of the scores of a head before the softmax."""
        one = slice(head, head + 1)
        pick = place_of(rows)
        among = place_of(keys)
        key_head = head // (len(self.query) // len(self.key))
        bias = part_of(self.bias, one, pick, among)
        visible = part_of(self.mask, one, pick, among)
        return ScoreParts(
            query=self.query[head, pick].cpu().double(),
            key=self.key[key_head, among].cpu().double(),
            scaling=self.scaling,
            softcap=self.softcap,
            bias=None if bias is None else bias[0].cpu().double(),
            visible=None if visible is None else visible[0].cpu(),
            sink=None if self.sinks is None else float(self.sinks[head]),
        )


def _streamed_weights(
    scores: Tensor, top: Tensor, largest: Tensor, visible: Tensor | None
) -> Tensor:
    """Return the weights of a streamed layer from the scores of some queries, float32."""
    weights = scores.sub_(top).exp_().mul_(largest)
    if visible is not None:
        weights = weights.masked_fill_(~visible, 0)
    without_keys = top == torch.finfo(torch.float32).min
    if top.device.type == "cpu" and not bool(without_keys.any()):
        return weights
    return torch.where(without_keys, largest, weights)
