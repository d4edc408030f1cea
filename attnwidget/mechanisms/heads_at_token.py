"""Weights, values and output projections of heads at a token, recorded in a forward pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.projection import Projections, projection_bias, projection_of
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.mechanisms.value_bias import value_bias

_BIAS_STAYS = (
    "the values of layer {} pass through more than a linear layer, so a bias of theirs counts as "
    "written by the heads"
)


@dataclass(frozen=True, eq=False)
class HeadsAtToken:
    """Heads of an attention layer at a query. All tensors are float64.

    Attributes:
        weights: Attention weights of the query, [H, K].
        value: Values without their bias, [Hkv, K, Dv].
        value_bias: Bias of the values, [Hkv, Dv].
        projections: Parts of the output projection by head, [H, Dv, d].
        output_bias: Bias of the output projection, [d].
        output: Result of the output projection at the query, [d].
        note: Reason why the bias of the values is unknown, or "".
    """

    weights: Tensor
    value: Tensor
    value_bias: Tensor
    projections: Tensor
    output_bias: Tensor
    output: Tensor
    note: str

    def of_source(self, head: int) -> Tensor:
        """Return the output of a head, split by source token: a_j v_j W_O, [K, d]."""
        group = len(self.weights) // len(self.value)
        return self.weights[head][:, None] * self.value[head // group] @ self.projections[head]

    def along(self, direction: Tensor) -> Tensor:
        """Return each head's output along a direction [d], split by source token, [H, K]."""
        group = len(self.weights) // len(self.value)
        reading = (self.projections @ direction)[:, :, None]  # [H, Dv, 1]
        along = (self.value.repeat_interleave(group, 0) @ reading)[..., 0]
        return self.weights * along

    @property
    def bias(self) -> Tensor:
        """Constant that the layer writes for any attention, [d].

        The weights of a query sum to 1, so the bias of the values reaches every query as b_V W_O.
        With attention sinks, they sum to less, and only this share of the bias reaches the query.
        """
        group = len(self.weights) // len(self.value)
        biases = self.value_bias.repeat_interleave(group, 0)
        value_part = torch.einsum("h,hv,hvd->d", self.weights.sum(-1), biases, self.projections)
        return value_part + self.output_bias


def heads_at_token(
    reading: Reading[Attention], position: int, layer: int, stack: str
) -> HeadsAtToken:
    """Process an input again and return the heads of a layer at a query.

    Args:
        reading: Input and model.
        position: Index of the query, from 0.
        layer: Number of the layer.
        stack: Stack of the layer.

    Raises:
        ValueError: If the layer does not expose its values, or its output is not linear in the
            values. The message gives the reason.
    """
    hf_model = reading.model.hf_model
    options = without_cache(hf_model)
    with torch.no_grad(), watching_heads(hf_model, position, stack, [layer]) as watch:
        hf_model(**reading.inputs, **options)
    if layer not in watch.layers:
        raise ValueError(f"layer {layer} of {type(hf_model).__name__} did not show its values")
    return watch.at(layer)


@contextmanager
def watching_heads(
    hf_model: Any, position: int, stack: str, layers: Collection[int] | None = None
) -> Iterator[HeadsWatch]:
    """Record the heads at a query during a forward pass in the block."""
    projections = Projections(hf_model)
    watch = HeadsWatch(projections, position, stack, layers)
    attentions = [site for site in find_sites(hf_model) if site.stack == stack]
    linears: list[nn.Module] = []
    for site in attentions:
        projection = projection_of(hf_model, site)
        linears += _linears(site.module, projection)
        if projection is not None:
            watch.modules[projection] = site.module
    with (
        hooked([site.module for site in attentions], before=watch.enter),
        hooked(linears, after=watch.keep_linear),
        hooked(watch.modules, after=watch.keep_output),
        projections.checking(),
        tap(hf_model, watch.see),
    ):
        yield watch


class HeadsWatch:
    """Record of the heads at a query in a pass. Made by `watching_heads`.

    Attributes:
        modules: Attention module of each output projection.
        layer_of: Layer as which each attention module ran last.
    """

    def __init__(
        self, projections: Projections, position: int, stack: str, layers: Collection[int] | None
    ) -> None:
        self.modules: dict[nn.Module, nn.Module] = {}
        self.layer_of: dict[nn.Module, int] = {}
        self._projections = projections
        self._position = position
        self._stack = stack
        self._layers = layers
        self._linears: dict[nn.Module, Tensor] = {}
        self._seen: dict[int, tuple[nn.Module, Tensor, Tensor, Tensor | None]] = {}
        self._outputs: dict[int, tuple[nn.Module, Tensor]] = {}
        self._running: dict[nn.Module, int] = {}

    def enter(self, *_: object) -> None:
        """Reset the linear outputs before an attention module runs."""
        self._linears.clear()

    def keep_linear(self, linear: nn.Module, _: object, __: object, output: Any) -> None:
        """Store the output of a linear layer in an attention module."""
        if isinstance(output, Tensor):
            self._linears[linear] = output.detach()

    def see(self, seen: LayerAttention) -> None:
        """Record a layer whose output projection is about to run."""
        self._projections.see(seen)
        if seen.stack != self._stack:
            return
        self.layer_of[seen.module] = seen.layer
        if self._layers is not None and seen.layer not in self._layers:
            return
        self._running[seen.module] = seen.layer
        if seen.value is None:
            return
        value = seen.value.detach()
        # Copy the row, because a view would keep the whole map in memory.
        weights = seen.weights[0, :, self._position].detach().clone()
        self._seen[seen.layer] = (seen.module, weights, value[0], value_bias(self._linears, value))

    def keep_output(self, projection: nn.Module, _: object, __: object, output: Any) -> None:
        """Store the output of an output projection at the query."""
        layer = self._running.pop(self.modules[projection], None)
        if layer is not None and isinstance(output, Tensor):
            row = output.detach().reshape(-1, output.shape[-1])[self._position]
            self._outputs[layer] = projection, row

    @property
    def layers(self) -> list[int]:
        """Recorded layers, in the order of computation.

        Raises:
            ValueError: As in `heads_at_token`.
        """
        if reason := self._projections.refused:
            raise ValueError(f"what heads write is not known here: {reason}")
        return list(self._seen)

    def at(self, layer: int) -> HeadsAtToken:
        """Return the heads of one of `layers`. Each call makes new float64 copies."""
        module, weights, value, bias = self._seen[layer]
        shares = self._projections.of_heads(module, len(weights))
        assert shares is not None
        projection, output = self._outputs[layer]
        output_bias = projection_bias(projection)
        if output_bias is None:
            output_bias = torch.zeros_like(output)
        known_bias = torch.zeros_like(value[:, 0]) if bias is None else bias
        return HeadsAtToken(
            weights=weights.double(),
            value=value.double() - known_bias.double()[:, None],
            value_bias=known_bias.double(),
            projections=shares.double(),
            output_bias=output_bias.detach().double(),
            output=output.double(),
            note=_BIAS_STAYS.format(layer) if bias is None else "",
        )


def _linears(module: nn.Module, projection: nn.Module | None) -> list[nn.Module]:
    """Return the modules inside an attention module that map features to features."""
    return [
        child
        for child in module.modules()
        if child is not projection and getattr(getattr(child, "weight", None), "ndim", 0) == 2
    ]
