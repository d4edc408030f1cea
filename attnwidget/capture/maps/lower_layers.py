"""Layers below the heads that are switched off: a pass with other heads off need not run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.tapping.layer_outputs import LayerOutputs, Layers, layers_of
from attnwidget.capture.tapping.tap import open_edits
from attnwidget.inputs.model_tensors import is_of_text

_REMEMBERED_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, eq=False)
class LowerLayers:
    """The layers below the edits of a pass, which are those of the intact model.

    Attributes:
        maps: The layers of the intact model, as `Attention` keeps them.
        outputs: Outputs of earlier passes over the same input.
        layers: Each layer of the model with its attention module.
        lowest: The lowest layer with an edit.
        ends: Whether the pass ends with the attention of the last layer: no map follows from what
            a model computes after it. The scores of words alone can take longer than several
            layers.

    Example:
        >>> from attnwidget.capture.maps.lower_layers import LowerLayers
        >>> LowerLayers([]).first
        0
    """

    maps: Sequence[Layer]
    outputs: LayerOutputs = field(default_factory=lambda: LayerOutputs(_REMEMBERED_BYTES))
    layers: Layers = ()
    lowest: int = 0
    ends: bool = False

    def under_edits(
        self, hf_model: Any, inputs: Mapping[str, Tensor], *, ends: bool
    ) -> LowerLayers | None:
        """Return the lower layers of a pass under the present edits.

        Args:
            hf_model: A transformers model.
            inputs: The input that the model reads again.
            ends: Whether the pass may end with the attention of the last layer.

        Returns:
            The layers; None for models with several stacks, whose passes run every layer.
        """
        edits = open_edits(hf_model)
        if not edits or not all(map(is_of_text, inputs)) or set(edits.stacks.values()) != {"self"}:
            return None
        layers = layers_of(hf_model)
        if layers is None or len(layers) != len(self.maps):
            return None
        lowest = min(head.layer for head in edits.changes)
        return replace(self, layers=layers, lowest=lowest, ends=ends)

    @property
    def first(self) -> int:
        """The first layer that the pass runs."""
        return self.outputs.first_to_run(self.lowest)

    @property
    def passed(self) -> list[nn.Module]:
        """The attention modules of the layers that do not run."""
        return [attention for _, attention in self.layers[: self.first]]

    @property
    def unedited(self) -> Sequence[Layer]:
        """The layers below the edits, after the pass; none if the layers did not run in order."""
        return self.maps[: self.lowest] if self.outputs.in_order else ()

    def run(self, call: Callable[[], Any]) -> Any:
        """Run the pass; return its output, or that of the last attention, with which it ends."""
        return self.outputs.run(
            self.layers, call, first=self.first, below=self.lowest, ends=self.ends
        )
