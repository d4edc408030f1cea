"""Passes of one model over one input with other heads off each: each from the edited layer on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.edits import Change, Edits, LayerChanges
from attnwidget.capture.head import Head
from attnwidget.capture.held_attributes import Hold, held
from attnwidget.capture.inputs import input_names
from attnwidget.capture.sites import find_sites
from attnwidget.capture.tap import pass_layer_by, tap
from attnwidget.capture.weights_seen import WeightsSeen

Changes = Mapping[Head, Change]
Places = tuple[Tensor, Tensor]

# Tokens that go through a layer at once when several heads are off, one in each part of a batch.
_TOKENS = 768
_SAME = 1e-5


@dataclass(frozen=True, eq=False)
class _Parts(LayerChanges):
    """Changes of one layer that differ between equal parts of the batch."""

    parts: tuple[LayerChanges, ...] = ()

    @property
    def replaces_outputs(self) -> bool:
        return any(part.replaces_outputs for part in self.parts)

    def weights(self, weights: Tensor, visible: Tensor | None) -> Tensor:
        count = len(self.parts)
        shared = visible is None or visible.ndim < 4 or len(visible) == 1
        seen = [visible] * count if shared else visible.chunk(count)  # type: ignore[union-attr]
        chunks = zip(self.parts, weights.chunk(count), seen, strict=True)
        return torch.cat([part.weights(own, mask) for part, own, mask in chunks])

    def outputs(self, outputs: Tensor) -> Tensor:
        chunks = zip(self.parts, outputs.chunk(len(self.parts)), strict=True)
        return torch.cat([part.outputs(own) for part, own in chunks])


@dataclass(frozen=True, eq=False)
class _Switched(Edits):
    """Edits that a tap has as long as it is open, with more of them now and then.

    Attributes:
        parts: what is changed too in each equal part of the batch; none = nothing anywhere.
    """

    parts: list[Changes] = field(default_factory=list)

    def of_layer(self, module: nn.Module, layer: int) -> LayerChanges | None:
        own = super().of_layer(module, layer)
        outer = dict(own.heads) if own else {}
        stack = self.stacks.get(module)
        found = [
            LayerChanges(
                outer | {h.head: c for h, c in part.items() if (h.layer, h.stack) == (layer, stack)}
            )
            for part in self.parts
        ]
        if not any(part.heads for part in found):
            return own
        return found[0] if len(found) == 1 else _Parts({}, tuple(found))


class Replay:
    """Runs a model with units of heads off, one unit after the other or several at once.

    Below the layer of a unit nothing changes, so that what the layers there put out is kept from
    one pass of the intact model and put in their place. Where layers cannot be passed by in this
    way, or not with the same result, every unit takes a pass through the whole model, and `note`
    says so. Made by `replaying`.

    Attributes:
        note: "", or why every pass goes through the whole model.
        narrows: whether logits are computed only where they are asked for.
        checked: whether `without` has seen that layers can be passed by, or not.
    """

    def __init__(self, hf_model: Any, edits: _Switched, layers: Sequence[nn.Module] | None) -> None:
        self._hf_model = hf_model
        self._weights = WeightsSeen(hf_model)
        self._parts = edits.parts
        self._layers = layers
        self._kept: dict[int, Any] = {}
        self._first = 0
        self._repeats = 1
        self._recording = False
        self.checked = False
        self._intact: Tensor | None = None  # until it is checked
        self._reading: Places | None = None
        self.narrows = False
        self._thread = threading.get_ident()
        self._options = {"use_cache": False} if "use_cache" in input_names(hf_model) else {}
        self.note = "" if layers is not None else self._no_replay("are in no list")

    def intact(self, inputs: Mapping[str, Tensor]) -> Any:
        """The model's output with all heads on; what its layers put out is kept.

        Raises:
            RuntimeError: the model's weights are others than they were in the pass before.
        """
        self._weights.refuse_changed(self._hf_model, "the first pass: start over")
        self._kept, self._recording = {}, True
        try:
            output = self._run(inputs)
        finally:
            self._recording = False
        if self._layers is not None and len(self._kept) < len(self._layers):
            self._give_up("are not all run, or not one after the other")
        self._intact = None if self.checked else _numbers(output)
        return output

    def without(
        self,
        inputs: Mapping[str, Tensor],
        units: Sequence[Changes],
        *,
        places: Places | None = None,
        together: bool = True,
    ) -> Iterator[tuple[int, int, Any]]:
        """The outputs with each unit off, as (first unit, the one after the last, output).

        An output is of as many units as stand in one batch after the other, each with all of
        `inputs`. The last pass of `intact` has to be of the same inputs.

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
        size = max((value.numel() for value in inputs.values() if value.ndim == 2), default=_TOKENS)
        limit = max(1, _TOKENS // size) if together and self._layers is not None else 1
        start = 0
        while start < len(units):
            layer = _layer(units[start])
            stop = start + 1
            while stop < min(start + limit, len(units)) and _layer(units[stop]) == layer:
                stop += 1
            first = layer if self._layers is not None else 0
            given = _repeated(inputs, stop - start)
            reading = places if self.narrows else None
            yield start, stop, self._run(given, units[start:stop], first, reading)
            start = stop

    def _check(
        self, inputs: Mapping[str, Tensor], unit: Changes, layer: int, places: Places | None
    ) -> None:
        """Compare a replayed pass, with a unit off in half of it, with passes of the whole model.

        What an edit refuses, it refuses here in the first of these.
        """
        assert self._intact is not None
        whole = torch.stack([_numbers(self._run(inputs, [unit])), self._intact])
        self.checked, self._intact = True, None
        allowed = _SAME * max(1.0, float(whole.abs().max()))
        why = ""
        for reading in (places, None) if places is not None else (None,):
            wanted = whole.flatten(0, 1)
            if reading is not None:
                wanted = whole[(slice(None), *reading)]  # [2, P, V]
            given = _repeated(inputs, 2)
            try:
                found = _numbers(self._run(given, [unit, {}], layer, reading))
            except (RuntimeError, TypeError, ValueError, IndexError, AttributeError):
                why = "fail with inputs of an earlier pass"
                continue
            if found.shape == wanted.shape and bool((found - wanted).abs().max() <= allowed):
                self.narrows = reading is not None
                return
            why = "give other results with inputs of an earlier pass"
        self._give_up(why)

    def _run(
        self,
        inputs: Mapping[str, Tensor],
        units: Sequence[Changes] = (),
        first: int = 0,
        reading: Places | None = None,
    ) -> Any:
        self._parts[:], self._first, self._repeats = units, first, max(1, len(units))
        self._reading = reading
        try:
            return self._hf_model(**inputs, **self._options)
        finally:
            self._parts[:], self._first, self._repeats = [], 0, 1
            self._reading = None

    def _narrow(self, _: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Hand what is asked for alone to the projection onto the vocabulary, [k, P, D]."""
        if threading.get_ident() != self._thread or self._reading is None or given[0].ndim != 3:
            return None
        parts = given[0].unflatten(0, (self._repeats, -1))  # [k, B, n, D]
        return parts[(slice(None), *self._reading)], *given[1:]

    def settle(self, note: str, narrows: bool) -> None:
        """Do as another replay of the same model does, whose `note` and `narrows` these are."""
        self.checked, self.narrows = True, narrows
        if note:
            self._layers, self.note = None, note

    def _no_replay(self, why: str) -> str:
        name = type(self._hf_model).__name__
        return f"every head took a pass through the whole model: the layers of {name} {why}"

    def _give_up(self, why: str) -> None:
        self._layers, self._kept, self.note = None, {}, self._no_replay(why)
        self.narrows = False

    def _standing_in(
        self, index: int, attention: nn.Module, forward: Callable[..., Any]
    ) -> Callable[..., Any]:
        """What is called in the place of a layer's forward."""

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread or self._layers is None:
                return forward(*args, **kwargs)
            if index < self._first:
                pass_layer_by(attention)
                # The next one that is passed by looks at no input.
                times = self._repeats if index == self._first - 1 else 1
                return _repeated(self._kept[index], times)
            output = forward(*args, **kwargs)
            if self._recording and index == len(self._kept):
                self._kept[index] = output
            return output

        return stand_in


@contextmanager
def replaying(hf_model: Any, outer: Edits, edits: Edits) -> Iterator[Replay]:
    """A `Replay` of a model for changes of `edits`, which knows the model's heads and stacks.

    Those of `outer` hold in all passes, the intact one too. Other threads' passes through the model
    are as ever.
    """
    found = _layers_of(hf_model)
    switched = _Switched(outer.changes, edits.heads_of, edits.stacks)
    replay = Replay(hf_model, switched, None if found is None else [layer for layer, _ in found])
    holds = [
        Hold(layer, "forward", replay._standing_in(index, attention, layer.forward))
        for index, (layer, attention) in enumerate(found or ())
    ]
    with ExitStack() as undo:
        undo.enter_context(torch.no_grad())
        undo.enter_context(tap(hf_model, lambda _: None, switched))
        undo.enter_context(held(holds))
        vocabulary = hf_model.get_output_embeddings()
        if vocabulary is not None:
            undo.callback(vocabulary.register_forward_pre_hook(replay._narrow).remove)
        yield replay


def _layers_of(hf_model: nn.Module) -> list[tuple[nn.Module, nn.Module]] | None:
    """Each layer with its attention module, where a list has one layer for each of these."""
    attentions = [site.module for site in find_sites(hf_model)]
    for module in hf_model.modules():
        if not isinstance(module, nn.ModuleList) or len(module) != len(attentions):
            continue
        found = list(zip(module, attentions, strict=True))
        if all(layer is not own and own in set(layer.modules()) for layer, own in found):
            return found
    return None


def _layer(unit: Changes) -> int:
    return min(head.layer for head in unit)


def _repeated(value: Any, times: int) -> Any:
    """A tensor, or all tensors of a tuple or a dict, so many times one after the other."""
    if times == 1:
        return value
    if isinstance(value, Tensor):
        return value.repeat(times, *[1] * (value.ndim - 1))
    if isinstance(value, Mapping):
        return {name: _repeated(one, times) for name, one in value.items()}
    return tuple(_repeated(one, times) for one in value) if isinstance(value, tuple) else value


def _numbers(output: Any) -> Tensor:
    """What a model gives first: logits, or hidden states."""
    found: Tensor = output[0]
    return found.float()
