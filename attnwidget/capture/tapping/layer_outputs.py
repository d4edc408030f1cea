"""Outputs of model layers for one input, above which later passes start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.hooked import ReachedError, hooked
from attnwidget.capture.tapping.output_check import float_tensors
from attnwidget.capture.tapping.tap import pass_layer_by
from attnwidget.capture.tapping.tensor_sources import tensors_in
from attnwidget.capture.tapping.thread_forwards import replaced_forwards
from attnwidget.model_facts.latest_values import LatestValues

#: Layers of a model, each with its attention module.
Layers = Sequence[tuple[nn.Module, nn.Module]]

#: Exceptions of layers that cannot run on an earlier pass's output, or on one input for several
#: units.
CANNOT_START_ABOVE = (RuntimeError, TypeError, ValueError, LookupError, AttributeError)
# Difference between two passes that rounding explains, as a share of the largest output.
_ROUNDING = 1e-5


class _Output(NamedTuple):
    """The output of a layer.

    Attributes:
        value: Output of the layer.
        versions: Version counters of its tensors when the layer ended; None for tensors without
            counters (`torch.inference_mode`).
    """

    value: Any
    versions: tuple[int, ...] | None

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in tensors_in(self.value))


class LayerOutputs:
    """Outputs of a model's layers for one input.

    Layers below the edits of a pass compute the same outputs as in earlier passes. Such a pass can
    start with the last stored output.

    Args:
        limit: Largest total size of all outputs, in bytes. Above it, the least recently used
            outputs are dropped.

    Attributes:
        in_order: Whether the latest pass ran its layers one after the other, each once, including
            all layers whose outputs should be stored.
        last_is_end: Whether the latest pass ran all its layers in this way, and the attention of
            the last layer once.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.layer_outputs import LayerOutputs
        >>> layer, outputs = torch.nn.Identity(), LayerOutputs()
        >>> outputs.run([(layer, layer)], lambda: layer(torch.ones(2)), below=1)
        tensor([1., 1.])
        >>> outputs.run([(layer, layer)], lambda: layer(None), first=outputs.first_to_run(1))
        tensor([1., 1.])
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.in_order = False
        self.last_is_end = False
        self._outputs: LatestValues[int, _Output] = LatestValues(
            limit, lambda output: output.nbytes
        )

    def clear(self) -> None:
        """Drop all outputs, because later passes read another input."""
        self._outputs.clear()

    def first_to_run(self, lowest: int) -> int:
        """Return the first layer that a pass must run if its edits begin at the layer `lowest`."""
        for layer in range(lowest, 0, -1):
            output = self._outputs.get(layer - 1)
            if output is None or output.versions is None:
                continue
            # A later layer may have written into the output.
            if output.versions == _versions(output.value):
                return layer
        return 0

    def run(
        self,
        layers: Layers,
        call: Callable[[], Any],
        *,
        first: int = 0,
        below: int = 0,
        copies: int = 1,
        ends: bool = False,
    ) -> Any:
        """Run a pass that skips lower layers, and return its output.

        Args:
            layers: Layers of the model.
            call: Function that runs the pass.
            first: First layer that runs, as returned by `first_to_run`.
            below: Number of layers, from the first, whose outputs are stored because they have no
                edit.
            copies: Number of copies of the stored output, along the batch, that the first layer
                reads.
            ends: Whether to end the pass after the attention of the last layer, and to return its
                output. The pass goes on if other layers have not run, or if the output is not
                finite.
        """
        outputs: dict[int, _Output] = {}
        run_layers: list[int] = []
        n_last = 0
        end_outputs: list[Any] = []

        def standing_in(
            index: int, attention: nn.Module, forward: Callable[..., Any]
        ) -> Callable[..., Any]:
            def stand_in(*args: Any, **kwargs: Any) -> Any:
                if index < first:
                    pass_layer_by(attention)
                    output = self._outputs.get(index)
                    # A skipped layer after this one reads no input, so only the last needs copies.
                    return output and repeated(output.value, copies if index == first - 1 else 1)
                value = forward(*args, **kwargs)
                run_layers.append(index)
                if index < below:
                    outputs[index] = _Output(value, _versions(value))
                return value

            return stand_in

        def end(_: nn.Module, __: object, ___: object, output: Any) -> None:
            nonlocal n_last
            n_last += 1
            if ends and run_layers == list(range(first, len(layers) - 1)) and _is_finite(output):
                end_outputs.append(output)
                raise ReachedError

        makers = {
            layer: partial(standing_in, index, attention)
            for index, (layer, attention) in enumerate(layers)
        }
        with replaced_forwards(makers), hooked([layers[-1][1]], after=end):
            try:
                result = call()
            except ReachedError:
                if not end_outputs:
                    raise
                result = end_outputs[0]
        stop = first + len(run_layers)
        self.in_order = run_layers == list(range(first, stop)) and stop >= below
        self.last_is_end = self.in_order and stop == len(layers) and n_last == 1
        if self.in_order:
            for index, output in outputs.items():
                self._outputs.add(index, output)
        return result


def layers_of(hf_model: nn.Module, stack: str | None = None) -> Layers | None:
    """Return each layer with its attention module, if a list has exactly one layer per module.

    Args:
        hf_model: Transformers model.
        stack: Stack of the layers; None for all stacks.
    """
    sites = find_sites(hf_model)
    attentions = [site.module for site in sites if stack in (None, site.stack)]
    for module in hf_model.modules():
        if not isinstance(module, nn.ModuleList) or len(module) != len(attentions):
            continue
        layers = list(zip(module, attentions, strict=True))
        if all(
            layer is not layer_attention and layer_attention in set(layer.modules())
            for layer, layer_attention in layers
        ):
            return layers
    return None


def difference(run: Callable[[], Any], expected: Any, allowed: float | None = None) -> str:
    """Return how a pass that starts above lower layers differs from a full pass.

    Args:
        run: Function that runs the pass, and returns a tensor or the output of a model.
        expected: Result of a full pass.
        allowed: Largest difference of two numbers; None allows for rounding, relative to each
            tensor's largest number.

    Returns:
        Predicate for a sentence that begins with "the layers"; "" without a difference.
    """
    try:
        tensors = float_tensors(run())
        expected_tensors = float_tensors(expected)
        if tensors.keys() == expected_tensors.keys() and all(
            _alike(tensors[name], expected_tensors[name], allowed) for name in tensors
        ):
            return ""
    except CANNOT_START_ABOVE:
        return "fail with inputs of an earlier pass"
    return "give other results with inputs of an earlier pass"


def repeated(value: Any, times: int) -> Any:
    """Return a tensor, or all tensors of a tuple or mapping, repeated along the batch."""
    if times == 1:
        return value
    if isinstance(value, Tensor):
        return value.repeat(times, *[1] * (value.ndim - 1))
    if isinstance(value, Mapping):
        return {name: repeated(item, times) for name, item in value.items()}
    return tuple(repeated(item, times) for item in value) if isinstance(value, tuple) else value


def _alike(computed: Tensor, expected: Tensor, allowed: float | None) -> bool:
    if computed.shape != expected.shape:
        return False
    if allowed is None:
        allowed = _ROUNDING * float(computed.abs().max())
    return bool((computed - expected).abs().max() <= allowed)


def _versions(value: Any) -> tuple[int, ...] | None:
    tensors = list(tensors_in(value))
    is_counted = not any(tensor.is_inference() for tensor in tensors)
    return tuple(tensor._version for tensor in tensors) if is_counted else None


def _is_finite(output: Any) -> bool:
    """Return whether the output of an attention module is finite, without reading its weights."""
    first = next(tensors_in(output), None)
    return first is not None and bool(first.isfinite().all())
