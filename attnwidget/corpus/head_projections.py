"""Vectors that heads transport, f(x): the value after the head's output projection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnwidget.capture.tapping.projection import Projections
from attnwidget.corpus.accumulator import LayerBatch
from attnwidget.kernels.norms import projection_factors, value_norms

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class HeadProjections:
    """Output projections of a model's heads, which a short forward pass checks.

    Args:
        model: Model.
        stack: Stack of the heads: "self", or "encoder" in an encoder-decoder.

    Attributes:
        refused: Reason why a head's contribution is not a vector, or "".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.head_projections import HeadProjections
        >>> HeadProjections(load_model(), "self").refused
        ''
    """

    def __init__(self, model: AttentionModel, stack: str) -> None:
        hf_model: Any = model.hf_model
        backbone = hf_model.get_encoder() if stack == "encoder" else hf_model.base_model
        self._projections = Projections(backbone)
        self._factors: dict[nn.Module, Tensor] = {}
        ids = torch.tensor(
            [model.tokenizer("a b c").input_ids], dtype=torch.long, device=model.device
        )
        with model.lock.in_turn(), torch.no_grad():
            self._projections.check(backbone, {"input_ids": ids})
        self.refused: str = self._projections.refused

    def of_heads(self, module: nn.Module, n_heads: int) -> Tensor:
        """Return the output projection of each head in an attention module, [H, Dv, d].

        Args:
            module: Attention module.
            n_heads: Number of heads, H.
        """
        projections = self._projections.of_heads(module, n_heads)
        assert projections is not None
        return projections

    def norms(self, layer: LayerBatch) -> Tensor:
        """Return ||f(x)|| for each key of a layer (Kobayashi et al. 2020), [B, H, n].

        Args:
            layer: Attention of the layer, with the record of the tap.
        """
        assert layer.seen is not None and layer.seen.value is not None
        module = layer.seen.module
        if module not in self._factors:
            projections = self.of_heads(module, layer.weights.shape[1])
            self._factors[module] = projection_factors(projections).contiguous()
        return value_norms(layer.seen.value, self._factors[module])
