"""What a forward pass leaves behind: the kept layers of every input of a batch, padding removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.gradients import LayerGradient
from attnwidget.capture.kept_layer import KeptLayer, Shared, cut_map, keep_layer
from attnwidget.capture.losses import Loss, Task
from attnwidget.capture.plain_forward import uncompiled
from attnwidget.capture.projection import Projections
from attnwidget.capture.sites import find_sites
from attnwidget.capture.tap import LayerAttention, tap

_NO_MAPS = (
    "{} computed no attention map over all tokens: {} calls neither an attention function of "
    "transformers nor torch's softmax over the scores of all tokens (windows in a layout of its "
    "own, or integers)"
)


class Collected:
    """The layers that one forward pass over `inputs` left, for each input of its batch.

    `options` are passed on to the model; `projections` are its own, found anew where
    not given.
    `items` holds, for each input, its layers by stack. Memory: queries and keys of all layers, or
    their weights where these do not follow from queries and keys. `no_norms` says why there are no
    norms; "" where there are. `output` is what the model gave.

    Raises:
        ValueError: the model shows no maps, or maps that one grid of heads cannot hold.
    """

    def __init__(
        self,
        hf_model: Any,
        inputs: Mapping[str, Tensor],
        options: Mapping[str, Any],
        projections: Projections | None = None,
    ) -> None:
        self._batch = next(iter(inputs.values())).shape[0]
        self._hf_model = uncompiled(hf_model)
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
        projections = Projections(hf_model) if projections is None else projections
        self._projections = projections
        with torch.no_grad(), projections.checking(), tap(hf_model, self._keep):
            self.output = hf_model(**inputs, **options)
        self._check()
        self.no_norms = projections.refused
        if self.no_norms:
            for stacks in self.items:
                for layers in stacks.values():
                    layers[:] = [replace(kept, moved=None) for kept in layers]

    def _keep(self, seen: LayerAttention) -> None:
        if seen.weights.shape[0] != self._batch:
            raise ValueError(
                f"{self._model} attends within {seen.weights.shape[0]} windows for {self._batch} "
                "inputs; maps over whole inputs exist only where every layer attends to all of them"
            )
        self._projections.see(seen)
        moved = self._projections.value_products(seen)
        queries, keys = self._positions[seen.stack]
        for item, stacks in enumerate(self.items):
            layer = keep_layer(
                seen,
                item,
                _matching(queries[item], seen.weights.shape[-2]),
                _matching(keys[item], seen.weights.shape[-1]),
                self._shared[item],
                moved,
            )
            stacks.setdefault(seen.stack, []).append(layer)

    def add_gradients(
        self, task: Task, gradients: Sequence[LayerGradient], values: Tensor
    ) -> list[Loss]:
        """Keep |dL/da| of every layer; returns the loss of every input, their `values` [B]."""
        for found in gradients:
            queries, keys = self._positions[found.stack]
            for item, stacks in enumerate(self.items):
                kept = stacks[found.stack][found.layer]
                magnitudes = cut_map(
                    found.values[item].abs(),
                    _matching(queries[item], found.values.shape[-2]),
                    _matching(keys[item], found.values.shape[-1]),
                )
                if isinstance(kept.mask, Tensor):
                    magnitudes = magnitudes.masked_fill(~kept.mask, 0)
                stacks[found.stack][found.layer] = replace(kept, gradients=magnitudes)
        losses = []
        for item, value in enumerate(values.tolist()):
            masked = None if task.selected is None else task.selected[item]
            if masked is not None and (own := self._positions["self"][0][item]) is not None:
                masked = masked[own]
            positions = () if masked is None else tuple(masked.nonzero()[:, 0].tolist())
            losses.append(Loss(task.name, value, positions))
        return losses

    def _check(self) -> None:
        for stacks in self.items:
            if not stacks:
                sites = find_sites(self._hf_model)
                modules = sorted({type(site.module).__name__ for site in sites})
                raise ValueError(_NO_MAPS.format(self._model, ", ".join(modules)))
            for name, layers in stacks.items():
                for kept in layers:
                    if name != "cross" and kept.n_query != kept.n_key:
                        raise ValueError(
                            f"{self._model} computed no attention map over all tokens: a layer of "
                            f"{name!r} has {kept.n_query} queries and {kept.n_key} keys, so its "
                            "keys are not the tokens (compressed, pooled or windowed keys)"
                        )
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
