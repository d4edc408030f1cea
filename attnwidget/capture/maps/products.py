"""Queries and keys of a layer, and the attention weights that follow from them."""

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
    """Score parts of one head, float64 on the CPU.

    A score is `softcap` * tanh(scaling * query . key / `softcap`) + bias, or -inf where the mask
    hides the key.

    Attributes:
        query: Queries after position encoding, [Q, D].
        key: Keys after position encoding, [K, D].
        scaling: Factor of the products.
        softcap: Bound of the products; None for no bound.
        bias: Bias added to the scores, [Q, K]; None for no bias.
        visible: Mask, bool [Q, K]; None if every query sees every key.
        sink: Score of the head's attention sink; None for no sink.
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
        softcap: Bound of the products; None for no bound.
        mask: Keys that each query may see, bool [1 or H, Q, K]; None for all keys.
        bias: Bias added to the scores, [1 or H, Q, K]; None for no bias.
        sinks: Scores of the attention sinks, [H]; None for no sinks.
        streamed: Largest score and largest weight of each query, if a pass over a long input has
            computed them. Each weight then follows from its own score only. None for a softmax over
            whole rows.
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
        """The object itself, as a source of queries and keys."""
        return self

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        row_index = place_of(rows)
        key_index = place_of(keys)
        n_heads = len(self.query)
        first, last, _ = heads.indices(n_heads)
        group = n_heads // len(self.key)
        # For a range that splits a group of heads, give every query head its own key head.
        if first % group or last % group:
            key_heads = torch.arange(first, last, dtype=torch.long, device=self.key.device) // group
            key = self.key[key_heads]
        else:
            key = self.key[first // group : last // group]
        query = self.query[heads][:, row_index]
        if self.streamed is not None:
            return self._cells(heads, row_index, key_index, query, key)
        visible = part_of(self.mask, heads, row_index, slice(None))
        weights = attention_weights(
            query,
            key,
            scaling=self.scaling,
            softcap=self.softcap,
            position_bias=part_of(self.bias, heads, row_index, slice(None)),
            mask=None if visible is None else additive(visible, self.query.dtype),
            sinks=None if self.sinks is None else self.sinks[heads],
        )
        return weights[..., key_index]

    def _cells(
        self, heads: slice, rows: AxisPart, keys: AxisPart, query: Tensor, key: Tensor
    ) -> Tensor:
        """Return weights from the largest score and weight of each row; other cells cost nothing.

        Args:
            heads: Slice of the heads.
            rows: Indices of the queries.
            keys: Indices of the keys.
            query: Queries of these heads and rows.
            key: All keys of these heads.
        """
        assert self.streamed is not None
        top, largest = (
            row_numbers[heads][:, rows, None]
            for row_numbers in (self.streamed.top, self.streamed.largest)
        )

        def weights_of(keys: AxisPart, masked: AxisPart, inside: slice = slice(None)) -> Tensor:
            """Return the weights of some keys, of which the mask may hide only `masked`."""
            scores = attention_scores(
                query,
                key[:, keys],
                scaling=self.scaling,
                softcap=self.softcap,
                position_bias=part_of(self.bias, heads, rows, keys),
            ).float()
            visible = part_of(self.mask, heads, rows, masked)
            return _streamed_weights(scores, top, largest, visible, inside)

        mask = self.mask if query.device.type == "cpu" else None
        if not (isinstance(mask, LazyRows) and isinstance(rows, slice) and isinstance(keys, slice)):
            return weights_of(keys, keys)
        # Half of a causal map, and most of a map with a sliding window, needs no score.
        shape = (self.query.shape[1], key.shape[1])
        seen, partly_seen = mask.span(rows, keys, shape)
        inside = slice(partly_seen.start - seen.start, partly_seen.stop - seen.start)
        weights = weights_of(seen, partly_seen, inside)
        first, last, _ = keys.indices(key.shape[1])
        if weights.shape[-1] == last - first:
            return weights
        all_weights = weights.new_zeros((*weights.shape[:-1], last - first))
        all_weights[..., seen.start - first : seen.stop - first] = weights
        return all_weights

    def gives_weights_of(self, other: Products) -> bool:
        """Return whether both give the same weights, as far as this follows without the weights.

        Args:
            other: Products of another pass.
        """
        names = ("query", "key", "bias", "sinks", "mask")
        parts = [(getattr(self, name), getattr(other, name)) for name in names]
        return (self.scaling, self.softcap) == (other.scaling, other.softcap) and all(
            torch.equal(first, second)
            if isinstance(first, Tensor)
            and isinstance(second, Tensor)
            and first.device == second.device
            else first is second
            for first, second in parts
        )

    def row_of_each_head(self, queries: Tensor) -> Tensor:
        """Return one row of every map in a streamed layer, [H, K]: the row of `queries[h]`.

        Args:
            queries: Query of each head, int64 [H] on the layer's device.
        """
        assert self.streamed is not None
        head_indices = torch.arange(len(self.query), dtype=torch.long, device=self.query.device)
        group = len(self.query) // len(self.key)
        everything = slice(None)

        def of_heads(array: Tensor | LazyRows | None) -> Tensor | None:
            """Return each head's row in a mask or bias, [H, 1, K]."""
            rows = part_of(array, everything, queries, everything)
            if rows is None:
                return None
            heads = head_indices if len(rows) > 1 else torch.zeros_like(head_indices)
            head_rows: Tensor = rows[heads, head_indices][:, None]
            return head_rows

        # Group the heads by key head, as queries of one head: [Hkv, group, D].
        query = self.query[head_indices, queries].view(len(self.key), group, -1)
        bias = of_heads(self.bias)
        scores = attention_scores(
            query,
            self.key,
            scaling=self.scaling,
            softcap=self.softcap,
            position_bias=None if bias is None else bias.view(len(self.key), group, -1),
        ).float()
        top, largest = (
            row_numbers[head_indices, queries][:, None, None]
            for row_numbers in (self.streamed.top, self.streamed.largest)
        )
        scores = scores.reshape(len(head_indices), 1, -1)
        return _streamed_weights(scores, top, largest, of_heads(self.mask))[:, 0]

    def score_parts(
        self, head: int, rows: Index | None = None, keys: Index | None = None
    ) -> ScoreParts:
        """Return a head's score parts before the softmax."""
        head_slice = slice(head, head + 1)
        row_index = place_of(rows)
        key_index = place_of(keys)
        key_head = head // (len(self.query) // len(self.key))
        bias = part_of(self.bias, head_slice, row_index, key_index)
        visible = part_of(self.mask, head_slice, row_index, key_index)
        return ScoreParts(
            query=self.query[head, row_index].cpu().double(),
            key=self.key[key_head, key_index].cpu().double(),
            scaling=self.scaling,
            softcap=self.softcap,
            bias=None if bias is None else bias[0].cpu().double(),
            visible=None if visible is None else visible[0].cpu(),
            sink=None if self.sinks is None else float(self.sinks[head]),
        )


def _streamed_weights(
    scores: Tensor,
    top: Tensor,
    largest: Tensor,
    visible: Tensor | None,
    masked: slice = slice(None),
) -> Tensor:
    """Return a streamed layer's weights from the scores of some queries, float32.

    Args:
        scores: Scores, which are overwritten.
        top: Largest score of each query.
        largest: Weight of the largest score.
        visible: Mask of the keys in `masked`; None if all of them are visible.
        masked: Keys in `scores` to which the mask belongs. All other keys are visible.
    """
    weights = scores.sub_(top).exp_().mul_(largest)
    if visible is not None:
        weights[..., masked].masked_fill_(~visible, 0)
    without_keys = top == torch.finfo(torch.float32).min
    if top.device.type == "cpu" and not bool(without_keys.any()):
        return weights
    return torch.where(without_keys, largest, weights)
