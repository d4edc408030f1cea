"""What a forward pass leaves behind: the kept layers of every input of a batch, padding removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.layers import KeptLayer, Shared, keep_layer
from attnwidget.capture.tap import LayerAttention, tap

_WINDOWED = (
    "{} computed no attention map over all tokens: models with sliding windows in a layout of "
    "their own (Longformer, LED) cannot be read"
)


class Collected:
    """The layers that one forward pass over `inputs` left, for each input of its batch.

    `options` are passed on to the model.
    `items` holds, for each input, its layers by stack. Memory: queries and keys of all layers, or
    their weights where these do not follow from queries and keys.

    Raises:
        ValueError: the model shows no maps, or maps that one grid of heads cannot hold.
    """

    def __init__(
        self, hf_model: Any, inputs: Mapping[str, Tensor], options: Mapping[str, Any]
    ) -> None:
        self._batch = next(iter(inputs.values())).shape[0]
        self._model = type(hf_model).__name__
        own = _kept_positions(inputs.get("attention_mask"), self._batch)
        target = _kept_positions(inputs.get("decoder_attention_mask"), self._batch)
        other = _kept_positions(inputs.get("encoder_attention_mask"), self._batch)
        # Queries and keys of each stack. Cross-attention within one stack reads given states.
        decodes = "decoder_input_ids" in inputs
        self._positions = {
            "self": (own, own),
            "encoder": (own, own),
            "decoder": (target, target),
            "cross": (target, own) if decodes else (own, other),
        }
        self.items: list[dict[str, list[KeptLayer]]] = [{} for _ in range(self._batch)]
        self._shared = [Shared() for _ in range(self._batch)]
        with torch.no_grad(), tap(hf_model, self._keep):
            hf_model(**inputs, **options)
        self._check()

    def _keep(self, seen: LayerAttention) -> None:
        if seen.weights.shape[0] != self._batch:
            raise ValueError(
                f"{self._model} attends within {seen.weights.shape[0]} windows for {self._batch} "
                "inputs; maps over whole inputs exist only where every layer attends to all of them"
            )
        queries, keys = self._positions[seen.stack]
        for item, stacks in enumerate(self.items):
            layer = keep_layer(
                seen,
                item,
                _matching(queries[item], seen.weights.shape[-2]),
                _matching(keys[item], seen.weights.shape[-1]),
                self._shared[item],
            )
            stacks.setdefault(seen.stack, []).append(layer)

    def _check(self) -> None:
        for stacks in self.items:
            if not stacks:
                raise ValueError(_WINDOWED.format(self._model))
            for name, layers in stacks.items():
                if name != "cross" and layers[0].n_query != layers[0].n_key:
                    raise ValueError(_WINDOWED.format(self._model))
                sizes = {(kept.n_heads, kept.n_query, kept.n_key) for kept in layers}
                if len(sizes) > 1:
                    listed = ", ".join(map(str, sorted(sizes)))
                    raise ValueError(
                        f"the {name!r} layers of {self._model} differ in (heads, queries, keys): "
                        f"{listed}; one grid of heads needs layers of one size"
                    )


def _kept_positions(mask: Tensor | None, batch: int) -> list[Tensor | None]:
    """For each input the indices that are not padding; None = no padding."""
    if mask is None or mask.ndim != 2:
        return [None] * batch
    return [None if bool(row.all()) else row.nonzero()[:, 0] for row in mask != 0]


def _matching(positions: Tensor | None, length: int) -> Tensor | None:
    """`positions` where they can be of an axis of this length."""
    return None if positions is None or int(positions[-1]) >= length else positions
