"""Layers below the heads that are switched off: a pass with other heads off need not run them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import Tensor, nn

from attnwidget.capture.hub_model.model_tensors import is_of_text
from attnwidget.capture.latest_values import LatestValues
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.tapping.hooked import ReachedError, hooked
from attnwidget.capture.tapping.output_check import float_tensors
from attnwidget.capture.tapping.replay import layers_of
from attnwidget.capture.tapping.tap import open_edits, pass_layer_by
from attnwidget.capture.tapping.thread_forwards import replaced_forwards

_REMEMBERED_BYTES = 64 * 1024 * 1024
# Difference of two passes that rounding explains, as a share of the largest output.
_ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class _Output:
    """The output of a layer: a tensor, or a tuple of tensors and other values.

    Attributes:
        value: The output.
        versions: Version counters of its tensors when the layer ended, to tell if a later layer
            wrote into them; None for tensors without counters (`torch.inference_mode`).
    """

    value: Any
    versions: tuple[int, ...] | None

    @classmethod
    def of(cls, value: Any) -> _Output:
        return cls(value, cls._versions(value))

    @property
    def is_whole(self) -> bool:
        return self.versions is not None and self.versions == self._versions(self.value)

    @staticmethod
    def _versions(value: Any) -> tuple[int, ...] | None:
        tensors = _tensors(value)
        is_counted = not any(tensor.is_inference() for tensor in tensors)
        return tuple(tensor._version for tensor in tensors) if is_counted else None

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in _tensors(self.value))


@dataclass(eq=False)
class LowerLayers:
    """The layers of the intact model for one input.

    Layers below the edits of a pass compute the same again. The output of the last of them starts
    the pass.

    Attributes:
        maps: The kept layers of the input.

    Example:
        >>> from attnwidget.capture.maps.lower_layers import LowerLayers
        >>> LowerLayers([]).first_to_run(5)
        0
    """

    maps: Sequence[Layer]
    _outputs: LatestValues[int, _Output] = field(
        default_factory=lambda: LatestValues(_REMEMBERED_BYTES, lambda output: output.nbytes)
    )

    def first_to_run(self, lowest: int) -> int:
        """Return the first layer that a pass runs whose edits begin at the layer `lowest`."""
        for layer in range(lowest, 0, -1):
            output = self._outputs.get(layer - 1)
            if output is not None and output.is_whole:
                return layer
        return 0

    def output(self, layer: int) -> Any:
        """Return the output of a layer, or None: only the layer before the first is read."""
        output = self._outputs.get(layer)
        return None if output is None else output.value

    def keep(self, outputs: Mapping[int, _Output]) -> None:
        """Keep the outputs of layers that have run below all edits."""
        for layer, output in outputs.items():
            self._outputs.add(layer, output)


class _EndedError(ReachedError):
    """Ends a forward pass after the attention of the last layer.

    Attributes:
        output: The output of this attention.
    """

    def __init__(self, output: Any) -> None:
        self.output = output
        super().__init__("the attention of the last layer has run")


class UpperPass:
    """A pass that starts at the first layer with an edit, as far as the layers below are known.

    Attributes:
        lower: The layers below.
        layers: Each layer of the model with its attention module.
        first: The first layer that is run.
        ends: Whether the pass ends with the attention of the last layer: no map follows from what
            a model computes after it. The scores of words alone can take longer than several
            layers.
    """

    def __init__(
        self,
        lower: LowerLayers,
        layers: Sequence[tuple[nn.Module, nn.Module]],
        lowest: int,
        *,
        ends: bool,
    ) -> None:
        self.lower = lower
        self.layers = layers
        self.first = lower.first_to_run(lowest)
        self.ends = ends
        self._lowest = lowest
        self._outputs: dict[int, _Output] = {}
        self._ran: list[int] = []
        self._last_runs = 0

    @property
    def passed(self) -> list[nn.Module]:
        """The attention modules of the layers that do not run."""
        return [attention for _, attention in self.layers[: self.first]]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Pass the lower layers by, and record further layers below the edits, in the block."""
        self._outputs = {}
        self._ran = []
        self._last_runs = 0
        makers = {
            layer: partial(self._standing_in, index, attention)
            for index, (layer, attention) in enumerate(self.layers)
        }
        with replaced_forwards(makers), hooked([self.layers[-1][1]], after=self._end):
            yield

    def output_of(self, run: Callable[[], Any]) -> Any:
        """Run the pass in a block of `running`; return its output, or that of its last module."""
        try:
            return run()
        except _EndedError as ended:
            return ended.output

    def _standing_in(
        self, index: int, attention: nn.Module, forward: Callable[..., Any]
    ) -> Callable[..., Any]:
        """What is called in the place of a layer's forward."""

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            if index < self.first:
                pass_layer_by(attention)
                return self.lower.output(index)
            output = forward(*args, **kwargs)
            self._ran.append(index)
            if index < self._lowest:
                self._outputs[index] = _Output.of(output)
            return output

        return stand_in

    def _end(self, _: nn.Module, __: object, ___: object, output: Any) -> None:
        """End the pass, unless other layers are still to run, or its output is to be judged."""
        self._last_runs += 1
        have_run = self._ran == list(range(self.first, len(self.layers) - 1))
        if self.ends and have_run and _is_finite(output):
            raise _EndedError(output)

    @property
    def can_end(self) -> bool:
        """Whether a whole pass has run the attention of the last layer once, after all others."""
        return self._last_runs == 1 and self._ran == list(range(self.first, len(self.layers)))

    def keep(self) -> list[Layer]:
        """Keep the outputs below the edits, and return the kept layers of the intact model there.

        Every layer must have run once, in its order.
        """
        if list(self._outputs) != list(range(self.first, self._lowest)):
            return []
        self.lower.keep(self._outputs)
        return list(self.lower.maps[: self._lowest])


def upper_pass(
    hf_model: Any, inputs: Mapping[str, Tensor], lower: LowerLayers, *, ends: bool
) -> UpperPass | None:
    """Return a pass under the present edits, or None for models with several stacks.

    Args:
        hf_model: A transformers model.
        inputs: One text.
        lower: What is known of the text.
        ends: Whether the pass may end with the attention of the last layer.
    """
    edits = open_edits(hf_model)
    if not edits or not all(map(is_of_text, inputs)) or set(edits.stacks.values()) != {"self"}:
        return None
    layers = layers_of(hf_model)
    if layers is None or len(layers) != len(lower.maps):
        return None
    return UpperPass(lower, layers, min(head.layer for head in edits.changes), ends=ends)


def same_outputs(first: object, second: object) -> bool:
    """Return whether two outputs of a model differ by no more than rounding.

    Args:
        first: The output of a pass.
        second: The output of another pass over the same input.
    """
    tensors = float_tensors(first)
    others = float_tensors(second)
    return tensors.keys() == others.keys() and all(
        tensor.shape == others[name].shape
        and bool((tensor - others[name]).abs().max() <= _ROUNDING * tensor.abs().max())
        for name, tensor in tensors.items()
    )


def _tensors(value: Any) -> list[Tensor]:
    values = value if isinstance(value, tuple) else (value,)
    return [each for each in values if isinstance(each, Tensor)]


def _is_finite(output: Any) -> bool:
    """Return whether the output of an attention module is finite; its weights are not read."""
    first = next(iter(_tensors(output)), None)
    return first is not None and bool(first.isfinite().all())
