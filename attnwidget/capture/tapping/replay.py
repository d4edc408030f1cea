"""Passes of a model over one input with different heads off.

Each pass starts at the edited layer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.model_lock import uninterrupted
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.edits import KEPT, Change, Edits, LayerChanges
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
from attnwidget.capture.tapping.link_factors import LinkTexts
from attnwidget.capture.tapping.projection import projection_of
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.tap import tap
from attnwidget.capture.tapping.text_positions import TextPositions
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.kernels.scaled_links import scaled_links
from attnwidget.model_facts.answer_logits import answer_logits
from attnwidget.model_facts.weights_seen import WeightsSeen

Changes = Mapping[Head, Change]
RowPlaces = tuple[Tensor, Tensor]

# Number of tokens per layer in one batch, in which each part of the batch has another head off.
_TOKENS = 768
# On a GPU, a small batch takes as long as a large one.
_TOKENS_ON_A_GPU = 4096
# Differences that rounding explains, relative to the largest output. In half precision, batches of
# different sizes round differently, and each layer passes the difference on.
_SAME = {torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(eq=False)
class UnitPass:
    """One pass through the model.

    Attributes:
        units: Additional changes in each equal part of the batch; empty for no changes.
        lowest: Lowest layer that the units change; layers below it are skipped if their outputs are
            stored.
        places: Inputs [P] and tokens [P] whose logits are computed; None for all tokens.
        spreads: Whether the lowest layer receives one input for all units, because their queries,
            keys and values are equal.
        outputs: Head outputs of the lowest layer if it spreads, [k, H, Q, Dv], until its output
            projection reads them.
    """

    units: Sequence[Changes] = ()
    lowest: int = 0
    places: RowPlaces | None = None
    spreads: bool = False
    outputs: Tensor | None = None
    _changes: dict[tuple[int, str], list[dict[int, Change]]] = field(
        default_factory=dict, repr=False, init=False
    )

    def of_layer(self, layer: int, stack: str) -> list[dict[int, Change]]:
        """Return the changes of each unit in one layer, by head index."""
        if not self._changes:
            for index, unit in enumerate(self.units):
                for head, change in unit.items():
                    parts = self._changes.setdefault(
                        (head.layer, head.stack), [{} for _ in self.units]
                    )
                    parts[index][head.head] = change
        return self._changes.get((layer, stack), [])

    @property
    def repeats(self) -> int:
        return max(1, len(self.units))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Parts(LayerChanges):
    """Changes of one layer that differ between equal parts of the batch.

    Attributes:
        parts: Changes of each part.
        spreading: Pass in which this layer receives one input for all parts, or None.
    """

    parts: Sequence[LayerChanges]
    spreading: UnitPass | None

    @property
    def replaces_outputs(self) -> bool:
        return any(part.replaces_outputs for part in self.parts)

    def in_pass(
        self, n_inputs: int | None, positions: TextPositions, texts: LinkTexts
    ) -> LayerChanges:
        # Each part is a copy of the same inputs.
        return replace(self, parts=[part.in_pass(None, positions, texts) for part in self.parts])

    def weights(
        self, weights: Tensor, visible: Tensor | None, sink: Tensor | None = None
    ) -> Tensor:
        count = len(self.parts)
        if self.spreading is not None:
            weights = weights.expand(count, *weights.shape[1:])
        factors = self._link_factors(weights)
        if factors is not None:
            sink = None if sink is None else sink.expand(len(weights), *sink.shape[1:])
            return scaled_links(weights, factors, sink)
        is_shared = visible is None or visible.ndim < 4 or len(visible) == 1
        visible_parts = [visible] * count if is_shared else visible.chunk(count)  # type: ignore[union-attr]
        sinks: Sequence[Tensor | None] = [None] * count
        if sink is not None:
            sinks = sink.expand(len(weights), *sink.shape[1:]).chunk(count)
        chunks = zip(self.parts, weights.chunk(count), visible_parts, sinks, strict=True)
        return torch.cat(
            [part.weights(rows, mask, part_sink) for part, rows, mask, part_sink in chunks]
        )

    def _link_factors(self, weights: Tensor) -> Tensor | None:
        """Return the factors of all parts, [k * B, 1, Q, K], if parts only scale links.

        None if a part changes something else, or does not scale the same links in all heads.
        """
        n_inputs, n_heads, n_query, n_key = weights.shape
        shape = n_inputs // len(self.parts), n_query, n_key
        exact = torch.promote_types(weights.dtype, torch.float32)
        factors = []
        for part in self.parts:
            changes = set(part.heads.values())
            if not changes:
                factors.append(torch.ones(shape, dtype=exact, device=weights.device))
                continue
            is_alike = len(changes) == 1 and len(part.heads) == n_heads
            change = changes.pop()
            if not is_alike or change.method != KEPT or any(x.keeps_sum for x in change.links):
                return None
            product = torch.ones(shape, dtype=exact, device=weights.device)
            for links in change.links:
                product = product * links.factors(
                    shape, part.positions, part.texts, weights, is_cross=part.is_cross
                )
            factors.append(product)
        return torch.cat(factors)[:, None]

    def outputs(self, outputs: Tensor) -> Tensor:
        chunks = zip(self.parts, outputs.chunk(len(self.parts)), strict=True)
        outputs = torch.cat([part.outputs(rows) for part, rows in chunks])
        if self.spreading is None:
            return outputs
        self.spreading.outputs = outputs
        return outputs[:1]  # The module that reshapes the outputs expects one input.


@dataclass(frozen=True, eq=False)
class SwitchedEdits(Edits):
    """Edits that apply while a tap is open, and additional edits for the current pass."""

    running: list[UnitPass] = field(default_factory=lambda: [UnitPass()])

    def of_layer(self, module: nn.Module, layer: int) -> LayerChanges | None:
        outer_changes = super().of_layer(module, layer)
        outer = dict(outer_changes.heads) if outer_changes else {}
        current_pass = self.running[0]
        stack = self.stacks.get(module) or ""
        unit_changes = current_pass.of_layer(layer, stack)
        if not unit_changes:
            return outer_changes
        parts = [
            LayerChanges(
                outer | {head: change.after(outer.get(head)) for head, change in changes.items()},
                is_cross=is_cross(stack),
            )
            for changes in unit_changes
        ]
        if len(parts) == 1:
            return parts[0]
        spreading = current_pass if current_pass.spreads and layer == current_pass.lowest else None
        return _Parts({}, parts=parts, spreading=spreading)


class Replay:
    """Runner of a model with head units off, unit by unit or several in a batch.

    Layers below a unit do not change, so their outputs are stored from one pass of the intact
    model. If layers cannot be skipped, or skipping changes the result, every unit takes a full
    pass, and `note` says so. Made by `replaying`.

    Attributes:
        note: Reason why every pass goes through the whole model, or "".
        narrows: Whether logits are computed only for requested tokens.
        checked: Whether `without` has checked that layers can be skipped.
    """

    def __init__(self, hf_model: Any, edits: SwitchedEdits, layers: Layers | None) -> None:
        self._hf_model = hf_model
        self._weights = WeightsSeen(hf_model)
        self._running = edits.running
        self._layers = layers
        self._outputs = LayerOutputs()
        self.checked = False
        self._intact: Tensor | None = None  # Output of the intact pass, until it has been checked.
        self.narrows = False
        self._spreads: bool | None = None  # None until it has been tried.
        self._options = without_cache(hf_model)
        self.note = "" if layers is not None else self._no_replay("are in no list")

    def intact(self, inputs: Mapping[str, Tensor]) -> Any:
        """Return the model's output with all heads on, and store the outputs of its layers.

        Raises:
            RuntimeError: The model's weights have changed since the previous pass.
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
        """Yield the outputs with each unit off, as (first unit, end of the units, output).

        The batch of an output has one copy of all `inputs` per unit. The last pass of `intact` must
        have read the same inputs.

        Args:
            inputs: Inputs of the model, [B, ...].
            units: Changes of each unit; the heads of one unit may be in several layers.
            places: Inputs [P] and tokens [P] whose logits are requested. If the result is the same,
                which `narrows` says, the logits of k units are [k, P, V], for these tokens only.
            together: Whether to run several units in one pass if the input is small.
        """
        deepest_unit = max(units, key=_layer)
        if self._layers is not None and not self.checked:
            self._check(inputs, deepest_unit, _layer(deepest_unit), places)
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
            unit_pass = UnitPass(units[start:stop], layer, places if self.narrows else None)
            if self._spreads is None and unit_pass.repeats > 1 and is_one:
                pair = replace(unit_pass, units=[deepest_unit, {}], lowest=_layer(deepest_unit))
                self._spreads = self._spreads_alike(inputs, pair)
            yield start, stop, self._run_units(inputs, unit_pass, spread=is_one)
            start = stop

    def from_first_layer(
        self,
        inputs: Mapping[str, Tensor],
        units: Sequence[Changes],
        *,
        places: RowPlaces | None = None,
    ) -> Iterator[tuple[int, int, Any]]:
        """Yield outputs as `without`, for units that change the first layer.

        No layer can be skipped, so that no complete pass is needed for comparison. A copy of the
        input without a change checks whether logits may be computed for the requested tokens only.

        Args:
            inputs: Inputs of the model, [B, ...].
            units: Changes of each unit.
            places: Inputs [P] and tokens [P] whose logits are requested, as in `without`.
        """
        shapes = [value.shape for value in inputs.values() if value.ndim == 2]
        on_cpu = all(value.device.type == "cpu" for value in inputs.values())
        tokens = _TOKENS if on_cpu else _TOKENS_ON_A_GPU
        size = max((shape.numel() for shape in shapes), default=tokens)
        limit = max(1, tokens // size) if self._layers is not None else 1
        narrows = places is not None and self._intact is not None and limit > 1
        start = 0
        while start < len(units):
            checks = narrows and start == 0
            stop = min(start + max(1, limit - checks), len(units))
            parts = [*units[start:stop], *([{}] if checks else [])]
            self.narrows = narrows
            unit_pass = UnitPass(parts, places=places if narrows else None)
            output = self._run_units(inputs, unit_pass)
            if checks:
                narrows = self._narrows_alike(output, len(parts), places)
                if not narrows:
                    continue
                output = _without_last_part(output, len(parts))
            yield start, stop, output
            start = stop

    def _narrows_alike(self, output: Any, count: int, places: RowPlaces | None) -> bool:
        """Return whether the unchanged last part of an output has the logits of the intact pass."""
        assert self._intact is not None and places is not None
        expected = self._intact[places]
        numbers = _numbers(output)
        if numbers.shape != (count, *expected.shape):
            return False
        return bool((numbers[-1] - expected).abs().max() <= self._allowed(expected))

    def _check(
        self, inputs: Mapping[str, Tensor], unit: Changes, layer: int, places: RowPlaces | None
    ) -> None:
        """Compare a replayed pass, with a unit off in one half, with passes of the whole model.

        An edit that the model does not allow raises its error in the first of these passes.
        """
        assert self._intact is not None
        full_outputs = torch.stack([_numbers(self._run(inputs, UnitPass([unit]))), self._intact])
        self.checked = True
        self._intact = None
        tolerance = self._allowed(full_outputs)
        reason = ""
        for positions in (places, None) if places is not None else (None,):
            expected = full_outputs.flatten(0, 1)
            if positions is not None:
                expected = full_outputs[(slice(None), *positions)]  # [2, P, V]
            unit_pass = UnitPass([unit, {}], layer, positions)
            reason = difference(partial(self._unit_numbers, inputs, unit_pass), expected, tolerance)
            if not reason:
                self.narrows = positions is not None
                return
        self._give_up(reason)

    def _spreads_alike(self, inputs: Mapping[str, Tensor], now: UnitPass) -> bool:
        """Return whether the first layer gives equal results for one input and for copies of it."""
        expected = self._unit_numbers(inputs, now)
        spread_pass = replace(now, spreads=True)
        tolerance = self._allowed(expected)
        return not difference(lambda: _numbers(self._run(inputs, spread_pass)), expected, tolerance)

    def _allowed(self, outputs: Tensor) -> float:
        """Return the output difference that rounding explains."""
        dtype = next(self._hf_model.parameters()).dtype
        return _SAME.get(dtype, 1e-5) * max(1.0, float(outputs.abs().max()))

    def _run_units(
        self, inputs: Mapping[str, Tensor], now: UnitPass, *, spread: bool = False
    ) -> Any:
        """Run a pass over a copy of `inputs` per unit, or over a single input that is spread."""
        if spread and self._spreads and now.repeats > 1:
            try:
                return self._run(inputs, replace(now, spreads=True))
            except CANNOT_START_ABOVE:
                self._spreads = False
        return self._run(repeated(inputs, now.repeats), now)

    def _unit_numbers(self, inputs: Mapping[str, Tensor], now: UnitPass) -> Tensor:
        return _numbers(self._run_units(inputs, now))

    def _run(
        self, inputs: Mapping[str, Tensor], now: UnitPass | None = None, *, below: int = 0
    ) -> Any:
        """Run a pass, and store the outputs of its lowest `below` layers."""
        now = now or UnitPass()
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
                self._running[0] = UnitPass()

        return uninterrupted(run)

    def narrow(
        self, _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Pass only the requested tokens to the projection onto the vocabulary, [k, P, D]."""
        current_pass = self._running[0]
        if current_pass.places is None or arguments[0].ndim != 3:
            return None
        parts = arguments[0].unflatten(0, (current_pass.repeats, -1))  # [k, B, n, D]
        return (parts[(slice(None), *current_pass.places)], *arguments[1:]), named

    def spread(
        self, _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Pass the head outputs of all units to the output projection, [k, Q, H * Dv]."""
        current_pass = self._running[0]
        if current_pass.outputs is None:
            return None
        outputs, current_pass.outputs = current_pass.outputs.transpose(1, 2).flatten(2), None
        return (outputs, *arguments[1:]), named

    def settle(self, note: str, narrows: bool) -> None:
        """Take over `note` and `narrows` from another replay of the same model."""
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
    """Yield a `Replay` of a model; `edits` has the model's heads and stacks.

    The edits of `outer` apply in all passes, including the intact pass. Passes in other threads are
    not affected.
    """
    switchable_edits = SwitchedEdits(outer.changes, edits.heads_of, edits.stacks, outer.spell)
    replay = Replay(hf_model, switchable_edits, layers_of(hf_model))
    vocabulary = hf_model.get_output_embeddings()
    projections = [projection_of(hf_model, site) for site in find_sites(hf_model)]
    with (
        torch.no_grad(),
        tap(hf_model, lambda _: None, switchable_edits),
        hooked([vocabulary] if vocabulary is not None else [], before=replay.narrow),
        hooked([p for p in projections if p is not None], before=replay.spread),
    ):
        yield replay


def _layer(unit: Changes) -> int:
    return min(head.layer for head in unit)


def _without_last_part(output: Any, count: int) -> SimpleNamespace:
    """Return the logits of an output without the last of `count` equal parts of the batch."""
    logits = answer_logits(output)
    return SimpleNamespace(logits=logits[: len(logits) // count * (count - 1)])


def _numbers(output: Any) -> Tensor:
    """Return the first output of a model, logits or hidden states, as float32."""
    numbers: Tensor = output[0]
    return numbers.float()
