"""Layers below disabled heads, which a pass with other disabled heads need not run again."""

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
    """Layers below the edits of a pass, which equal the intact model's layers.

    Attributes:
        maps: Layers of the intact model, as `Attention` stores them.
        outputs: Outputs of earlier passes over the same input.
        layers: Layers of the model, each with its attention module.
        lowest: Lowest layer with an edit.
        ends: Whether the pass ends with the attention of the last layer, because no map depends on
            later computations. The word scores may take longer than several layers.

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
        """Return the lower layers of a pass under the current edits.

        Args:
            hf_model: Transformers model.
            inputs: Input that the model reads again.
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
        """Run the pass; return its output, or the last attention's output if it ends there."""
        return self.outputs.run(
            self.layers, call, first=self.first, below=self.lowest, ends=self.ends
        )
