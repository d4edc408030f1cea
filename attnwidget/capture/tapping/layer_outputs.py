"""Outputs of the layers of a model over one input, above which later passes start."""

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

#: Each layer of a model with its attention module.
Layers = Sequence[tuple[nn.Module, nn.Module]]

#: Exceptions of layers that cannot run on an output of an earlier pass, or on one input for many
#: units.
CANNOT_START_ABOVE = (RuntimeError, TypeError, ValueError, LookupError, AttributeError)
# Difference of two passes that rounding explains, as a share of the largest output.
_ROUNDING = 1e-5


class _Output(NamedTuple):
    """The output of a layer.

    Attributes:
        value: The output.
        versions: Version counters of its tensors when the layer ended; None for tensors without
            counters (`torch.inference_mode`).
    """

    value: Any
    versions: tuple[int, ...] | None

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in tensors_in(self.value))


class LayerOutputs:
    """The outputs of a model's layers over one input.

    Layers below the edits of a pass compute what they computed in earlier passes. Such a pass can
    start with the output of the last of these layers.

    Args:
        limit: Largest number of bytes of all outputs together. Above it, the outputs whose last use
            is longest ago are forgotten.

    Attributes:
        in_order: Whether the latest pass ran its layers one after the other, each once, and all
            layers whose outputs were to be kept.
        last_is_end: Whether the latest pass ran all of its layers in this way, and the attention of
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
        """Forget all outputs, because later passes read another input."""
        self._outputs.clear()

    def first_to_run(self, lowest: int) -> int:
        """Return the first layer that a pass runs whose edits begin at the layer `lowest`."""
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
        """Run a pass above the layers that are passed by, and return its output.

        Args:
            layers: The layers of the model.
            call: Function that runs the pass.
            first: First layer that runs, as `first_to_run` returns it.
            below: Number of layers, from the first, whose outputs are kept: they have no edit.
            copies: Number of copies of the kept output, along the batch, that the first layer
                reads.
            ends: Whether to end the pass after the attention of the last layer, and to return the
                output of this attention. The pass goes on if other layers have not run, or if this
                output is not finite.
        """
        outputs: dict[int, _Output] = {}
        ran: list[int] = []
        n_last = 0
        ended: list[Any] = []

        def standing_in(
            index: int, attention: nn.Module, forward: Callable[..., Any]
        ) -> Callable[..., Any]:
            def stand_in(*args: Any, **kwargs: Any) -> Any:
                if index < first:
                    pass_layer_by(attention)
                    output = self._outputs.get(index)
                    # The next layer that is passed by reads no input.
                    return output and repeated(output.value, copies if index == first - 1 else 1)
                value = forward(*args, **kwargs)
                ran.append(index)
                if index < below:
                    outputs[index] = _Output(value, _versions(value))
                return value

            return stand_in

        def end(_: nn.Module, __: object, ___: object, output: Any) -> None:
            nonlocal n_last
            n_last += 1
            if ends and ran == list(range(first, len(layers) - 1)) and _is_finite(output):
                ended.append(output)
                raise ReachedError

        makers = {
            layer: partial(standing_in, index, attention)
            for index, (layer, attention) in enumerate(layers)
        }
        with replaced_forwards(makers), hooked([layers[-1][1]], after=end):
            try:
                result = call()
            except ReachedError:
                if not ended:
                    raise
                result = ended[0]
        stop = first + len(ran)
        self.in_order = ran == list(range(first, stop)) and stop >= below
        self.last_is_end = self.in_order and stop == len(layers) and n_last == 1
        if self.in_order:
            for index, output in outputs.items():
                self._outputs.add(index, output)
        return result


def layers_of(hf_model: nn.Module, stack: str | None = None) -> Layers | None:
    """Return each layer with its attention module, if a list has exactly one layer per module.

    Args:
        hf_model: The model.
        stack: Only the layers of this stack; None = all stacks.
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
    """Return how a pass that starts above lower layers differs from a whole pass.

    Args:
        run: Function that runs the pass, and returns a tensor or the output of a model.
        expected: The same of a whole pass.
        allowed: Largest difference of two numbers; None = rounding, as a share of the largest
            number of each tensor.

    Returns:
        What the layers do, for a sentence that begins with "the layers"; "" without a difference.
    """
    try:
        tensors = float_tensors(run())
        others = float_tensors(expected)
        if tensors.keys() == others.keys() and all(
            _alike(tensors[name], others[name], allowed) for name in tensors
        ):
            return ""
    except CANNOT_START_ABOVE:
        return "fail with inputs of an earlier pass"
    return "give other results with inputs of an earlier pass"


def repeated(value: Any, times: int) -> Any:
    """Repeat a tensor, or all tensors of a tuple or mapping, along the batch."""
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
    """Return whether the output of an attention module is finite; its weights are not read."""
    first = next(tensors_in(output), None)
    return first is not None and bool(first.isfinite().all())
