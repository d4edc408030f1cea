"""A layer's mask as a function that computes any part of the mask on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.capture.tapping.torch_functions import visible_in
from attnwidget.kernels.streaming import Spans

_COMPUTES_WITH_MASK = (
    "this model computes with its attention mask before its attention function gets it, so it "
    "cannot be read without whole maps: shorten the input, or pass long=False"
)


@dataclass(frozen=True, eq=False)
class LazyMask:
    """A transformers mask function, which computes any part of the mask.

    A model passes this object to its attention function in place of the mask.

    Attributes:
        rule: Mask function of transformers: (item, head, query position, key position).
        queries: Positions of the queries, int64 [Q].
        first_key: Position of the first key.
        n_key: Number of keys.
        real: False at padding, bool [B, n]; None if there is no padding.
        spans: Query spans of each input, which are stored because a model passes one mask to many
            layers.
    """

    rule: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    queries: Tensor
    first_key: int
    n_key: int
    real: Tensor | None
    spans: dict[int, Spans] = field(default_factory=dict)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> LazyMask:
        """Make a mask from the arguments of a mask function in transformers 4.57 or later."""
        device = arguments.get("device", "cpu")
        queries = arguments.get("cache_position")
        if queries is None:
            queries = torch.arange(
                arguments["q_length"], dtype=torch.long, device=device
            ) + arguments.get("q_offset", 0)
        real = arguments.get("attention_mask")
        return cls(
            rule=arguments["mask_function"],
            queries=queries,
            first_key=int(arguments.get("kv_offset", 0)),
            n_key=int(arguments["kv_length"]),
            real=None if real is None else real.bool(),
        )

    def __getattr__(self, name: str) -> Any:
        # accelerate moves every object with a method `to`, so a mask must not appear to have one.
        if name.startswith("__") or name == "to" or not hasattr(Tensor, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise ValueError(_COMPUTES_WITH_MASK)

    def __getitem__(self, _: object) -> Tensor:
        raise ValueError(_COMPUTES_WITH_MASK)

    def item(self, number: int) -> LazyRows:
        """Return the mask of one input in the batch."""
        spans = self.spans.setdefault(number, {})
        return LazyRows(1, lambda queries, keys: self._part(number, queries, keys), spans)

    def _part(self, item: int, queries: Index, keys: Index) -> Tensor:
        device = self.queries.device
        positions = torch.arange(self.n_key, dtype=torch.long, device=device)[keys] + self.first_key
        batch, head = (
            torch.full((1, 1, 1, 1), number, dtype=torch.long, device=device)
            for number in (item, 0)
        )
        rows = self.queries[queries][:, None]
        columns = positions[None, :]
        visible = self.rule(batch, head, rows[None, None], columns[None, None])
        visible = visible.expand(1, 1, len(rows), len(positions))[0]
        if self.real is not None:
            is_inside = positions < self.real.shape[1]
            real = self.real[item, positions.clamp(max=self.real.shape[1] - 1)]
            visible = visible & (real & is_inside)
        return visible


def split_mask(added: Tensor) -> tuple[LazyRows | None, LazyRows | None]:
    """Return the visible cells and the remaining bias of a mask [1 or H, Q, K].

    The mask is bool, or is added to the scores.
    """
    if added.dtype == torch.bool:
        return LazyRows(len(added), lambda rows, keys: added[:, rows][..., keys]), None

    def seen(rows: Index, keys: Index) -> Tensor:
        return visible_in(added[:, rows][..., keys])

    def rest(rows: Index, keys: Index) -> Tensor:
        part = added[:, rows][..., keys]
        return torch.where(visible_in(part), part, 0)

    return LazyRows(len(added), seen), LazyRows(len(added), rest)
