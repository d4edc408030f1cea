"""Passes of a model over one input with different heads off.

Each pass starts at the edited layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.model_lock import uninterrupted
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.edits import Change, Edits, LayerChanges
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.layer_outputs import (
    CANNOT_START_ABOVE,
    LayerOutputs,
    Layers,
    difference,
    layers_of,
    repeated,
)
from attnwidget.capture.tapping.projection import projection_of
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.tap import tap
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.model_facts.weights_seen import WeightsSeen

Changes = Mapping[Head, Change]
RowPlaces = tuple[Tensor, Tensor]

# Number of tokens per layer in one batch, with a different head off in each part of the batch.
_TOKENS = 768
# On a GPU a small batch takes as long as a large one.
_TOKENS_ON_A_GPU = 4096
# Differences that rounding explains, as a share of the largest output. In half precision, batches
# of two sizes round in different ways, and each layer passes the difference on.
_SAME = {torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(eq=False)
class _Pass:
    """One pass through the model.

    Attributes:
        units: what is changed too in each equal part of the batch; none = nothing anywhere.
        lowest: the lowest layer that the units change; those below are passed by where their
            outputs are known.
        places: inputs [P] and tokens [P] whose logits alone are computed; None = of all.
        spreads: whether the lowest layer gets one input for all units: their queries, keys and
            values are equal.
        outputs: of the heads of the lowest layer where it spreads, [k, H, Q, Dv], until its output
            projection takes them.
    """

    units: Sequence[Changes] = ()
    lowest: int = 0
    places: RowPlaces | None = None
    spreads: bool = False
    outputs: Tensor | None = None

    @property
    def repeats(self) -> int:
        return max(1, len(self.units))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parts(LayerChanges):
    """Changes of one layer that differ between equal parts of the batch.

    Attributes:
        parts: those of each part.
        spreading: the pass, where this layer gets one input for all parts.
    """

    parts: Sequence[LayerChanges]
    spreading: _Pass | None

    @property
    def replaces_outputs(self) -> bool:
        return any(part.replaces_outputs for part in self.parts)

    def weights(
        self, weights: Tensor, visible: Tensor | None, sink: Tensor | None = None
    ) -> Tensor:
        count = len(self.parts)
        if self.spreading is not None:
            weights = weights.expand(count, *weights.shape[1:])
        shared = visible is None or visible.ndim < 4 or len(visible) == 1
        seen = [visible] * count if shared else visible.chunk(count)  # type: ignore[union-attr]
        sinks: Sequence[Tensor | None] = [None] * count
        if sink is not None:
            sinks = sink.expand(len(weights), *sink.shape[1:]).chunk(count)
        chunks = zip(self.parts, weights.chunk(count), seen, sinks, strict=True)
        return torch.cat([part.weights(rows, mask, alone) for part, rows, mask, alone in chunks])

    def outputs(self, outputs: Tensor) -> Tensor:
        chunks = zip(self.parts, outputs.chunk(len(self.parts)), strict=True)
        outputs = torch.cat([part.outputs(rows) for part, rows in chunks])
        if self.spreading is None:
            return outputs
        self.spreading.outputs = outputs
        return outputs[:1]  # what reshapes them counts on one input


@dataclass(frozen=True, eq=False)
class _Switched(Edits):
    """Edits that hold while a tap is open, and more edits for the current pass."""

    running: list[_Pass] = field(default_factory=lambda: [_Pass()])

    def of_layer(self, module: nn.Module, layer: int) -> LayerChanges | None:
        replayed = super().of_layer(module, layer)
        outer = dict(replayed.heads) if replayed else {}
        now = self.running[0]
        stack = self.stacks.get(module)
        outputs = [
            LayerChanges(
                outer
                | {h.head: c for h, c in part.items() if (h.layer, h.stack) == (layer, stack)},
                is_cross=is_cross(stack or ""),
            )
            for part in now.units
        ]
        if not any(part.heads for part in outputs):
            return replayed
        if len(outputs) == 1:
            return outputs[0]
        spreading = now if now.spreads and layer == now.lowest else None
        return _Parts({}, parts=outputs, spreading=spreading)


class Replay:
    """Runs a model with units of heads off, unit by unit or several in a batch.

    Layers below a unit do not change, so their outputs are kept from one pass of the intact model.
    If layers cannot be skipped, or skipping changes the result, every unit takes a whole pass, and
    `note` says so. Made by `replaying`.

    Attributes:
        note: "", or why every pass goes through the whole model.
        narrows: whether logits are computed only where they are asked for.
        checked: whether `without` has seen that layers can be passed by, or not.
    """

    def __init__(self, hf_model: Any, edits: _Switched, layers: Layers | None) -> None:
        self._hf_model = hf_model
        self._weights = WeightsSeen(hf_model)
        self._running = edits.running
        self._layers = layers
        self._outputs = LayerOutputs()
        self.checked = False
        self._intact: Tensor | None = None  # until it is checked
        self.narrows = False
        self._spreads: bool | None = None  # until it was tried
        self._options = without_cache(hf_model)
        self.note = "" if layers is not None else self._no_replay("are in no list")

    def intact(self, inputs: Mapping[str, Tensor]) -> Any:
        """The model's output with all heads on; what its layers put out is kept.

        Raises:
            RuntimeError: the model's weights are others than they were in the pass before.
        """
        self._weights.refuse_changed(self._hf_model, "the first pass: start over")
        self._outputs.clear()
        output = self._run(inputs, below=len(self._layers or ()))
        if self._layers is not None and not self._outputs.in_order:
            self._give_up("are not all run, or not one after the other")
        self._intact = None if self.checked else _numbers(output)
        return output

    def without(
        self,
        inputs: Mapping[str, Tensor],
        units: Sequence[Changes],
        *,
        places: RowPlaces | None = None,
        together: bool = True,
    ) -> Iterator[tuple[int, int, Any]]:
        """The outputs with each unit off, as (first unit, the one after the last, output).

        The batch of an output has one copy of all `inputs` per unit. The last pass of `intact` must
        have read the same inputs.

        Args:
            inputs: [B, ...].
            units: what is changed; the heads of one unit may be of several layers.
            places: inputs [P] and tokens [P] whose logits are asked for; where the result is the
                same, and `narrows` says so, the logits of k units are [k, P, V] for these alone.
            together: several units in one pass where the input is small.
        """
        deepest = max(units, key=_layer)
        if self._layers is not None and not self.checked:
            self._check(inputs, deepest, _layer(deepest), places)
        shapes = [value.shape for value in inputs.values() if value.ndim == 2]
        on_cpu = all(value.device.type == "cpu" for value in inputs.values())
        tokens = _TOKENS if on_cpu else _TOKENS_ON_A_GPU
        size = max((shape.numel() for shape in shapes), default=tokens)
        limit = max(1, tokens // size) if together and self._layers is not None else 1
        is_one = all(value.ndim == 0 or len(value) == 1 for value in inputs.values())
        start = 0
        while start < len(units):
            layer = _layer(units[start])
            stop = start + 1
            while stop < min(start + limit, len(units)) and _layer(units[stop]) == layer:
                stop += 1
            now = _Pass(units[start:stop], layer, places if self.narrows else None)
            if self._spreads is None and now.repeats > 1 and is_one:
                pair = replace(now, units=[deepest, {}], lowest=_layer(deepest))
                self._spreads = self._spreads_alike(inputs, pair)
            yield start, stop, self._run_units(inputs, now, spread=is_one)
            start = stop

    def _check(
        self, inputs: Mapping[str, Tensor], unit: Changes, layer: int, places: RowPlaces | None
    ) -> None:
        """Compare a replayed pass, with a unit off in half of it, with passes of the whole model.

        What an edit refuses, it refuses here in the first of these.
        """
        assert self._intact is not None
        whole = torch.stack([_numbers(self._run(inputs, _Pass([unit]))), self._intact])
        self.checked = True
        self._intact = None
        allowed = self._allowed(whole)
        why = ""
        for reading in (places, None) if places is not None else (None,):
            wanted = whole.flatten(0, 1)
            if reading is not None:
                wanted = whole[(slice(None), *reading)]  # [2, P, V]
            now = _Pass([unit, {}], layer, reading)
            why = difference(partial(self._unit_numbers, inputs, now), wanted, allowed)
            if not why:
                self.narrows = reading is not None
                return
        self._give_up(why)

    def _spreads_alike(self, inputs: Mapping[str, Tensor], now: _Pass) -> bool:
        """Whether the first layer gives the same result for an input and for a copy per unit."""
        wanted = self._unit_numbers(inputs, now)
        alone = replace(now, spreads=True)
        allowed = self._allowed(wanted)
        return not difference(lambda: _numbers(self._run(inputs, alone)), wanted, allowed)

    def _allowed(self, outputs: Tensor) -> float:
        """Return the difference of outputs that rounding explains."""
        dtype = next(self._hf_model.parameters()).dtype
        return _SAME.get(dtype, 1e-5) * max(1.0, float(outputs.abs().max()))

    def _run_units(self, inputs: Mapping[str, Tensor], now: _Pass, *, spread: bool = False) -> Any:
        """Run a pass over a copy of `inputs` per unit, or over a single input that is to spread."""
        if spread and self._spreads and now.repeats > 1:
            try:
                return self._run(inputs, replace(now, spreads=True))
            except CANNOT_START_ABOVE:
                self._spreads = False
        return self._run(repeated(inputs, now.repeats), now)

    def _unit_numbers(self, inputs: Mapping[str, Tensor], now: _Pass) -> Tensor:
        return _numbers(self._run_units(inputs, now))

    def _run(
        self, inputs: Mapping[str, Tensor], now: _Pass | None = None, *, below: int = 0
    ) -> Any:
        """Run a pass, and keep the outputs of its lowest `below` layers."""
        now = now or _Pass()
        call = partial(self._hf_model, **inputs, **self._options)

        def run() -> Any:
            self._running[0] = now
            now.outputs = None
            try:
                if self._layers is None:
                    return call()
                return self._outputs.run(
                    self._layers,
                    call,
                    first=self._outputs.first_to_run(now.lowest),
                    below=below,
                    copies=1 if now.spreads else now.repeats,
                )
            finally:
                self._running[0] = _Pass()

        return uninterrupted(run)

    def narrow(
        self, _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Hand what is asked for alone to the projection onto the vocabulary, [k, P, D]."""
        now = self._running[0]
        if now.places is None or arguments[0].ndim != 3:
            return None
        parts = arguments[0].unflatten(0, (now.repeats, -1))  # [k, B, n, D]
        return (parts[(slice(None), *now.places)], *arguments[1:]), named

    def spread(
        self, _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Hand the outputs of all units' heads to the output projection, [k, Q, H * Dv]."""
        now = self._running[0]
        if now.outputs is None:
            return None
        outputs, now.outputs = now.outputs.transpose(1, 2).flatten(2), None
        return (outputs, *arguments[1:]), named

    def settle(self, note: str, narrows: bool) -> None:
        """Do as another replay of the same model does, whose `note` and `narrows` these are."""
        self.checked = True
        self.narrows = narrows
        if note:
            self._layers = None
            self.note = note

    def _no_replay(self, why: str) -> str:
        name = type(self._hf_model).__name__
        return f"every head took a pass through the whole model: the layers of {name} {why}"

    def _give_up(self, why: str) -> None:
        self._layers = None
        self._outputs.clear()
        self.note = self._no_replay(why)
        self.narrows = False


@contextmanager
def replaying(hf_model: Any, outer: Edits, edits: Edits) -> Iterator[Replay]:
    """A `Replay` of a model for changes of `edits`, which knows the model's heads and stacks.

    The edits of `outer` hold in all passes, the intact pass too. Passes in other threads are not
    affected.
    """
    switched = _Switched(outer.changes, edits.heads_of, edits.stacks)
    replay = Replay(hf_model, switched, layers_of(hf_model))
    vocabulary = hf_model.get_output_embeddings()
    projections = [projection_of(hf_model, site) for site in find_sites(hf_model)]
    with (
        torch.no_grad(),
        tap(hf_model, lambda _: None, switched),
        hooked([vocabulary] if vocabulary is not None else [], before=replay.narrow),
        hooked([p for p in projections if p is not None], before=replay.spread),
    ):
        yield replay


def _layer(unit: Changes) -> int:
    return min(head.layer for head in unit)


def _numbers(output: Any) -> Tensor:
    """What a model gives first: logits, or hidden states."""
    numbers: Tensor = output[0]
    return numbers.float()
