"""Vectors that heads transport: f(x), the value through the output projection of the head."""

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
    """The output projections of a model's heads, checked in a short forward pass.

    Args:
        model: The model.
        stack: The stack whose heads are read: "self", or "encoder" in an encoder-decoder.

    Attributes:
        refused: "", or the reason why a head's contribution is not a vector.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.head_projections import HeadProjections
        >>> HeadProjections(load_model(), "self").refused
        ''
    """

    def __init__(self, model: AttentionModel, stack: str) -> None:
        whole: Any = model.hf_model
        backbone = whole.get_encoder() if stack == "encoder" else whole.base_model
        self._projections = Projections(backbone)
        self._factors: dict[nn.Module, Tensor] = {}
        ids = torch.tensor(
            [model.tokenizer("a b c").input_ids], dtype=torch.long, device=model.device
        )
        with model.lock.in_turn(), torch.no_grad():
            self._projections.check(backbone, {"input_ids": ids})
        self.refused: str = self._projections.refused

    def of_heads(self, module: nn.Module, n_heads: int) -> Tensor:
        """Return the output projection of each head of an attention module, [H, Dv, d]."""
        shares = self._projections.of_heads(module, n_heads)
        assert shares is not None
        return shares

    def norms(self, layer: LayerBatch) -> Tensor:
        """Return ||f(x)|| of every key of a layer (Kobayashi et al. 2020), [B, H, n]."""
        assert layer.seen is not None and layer.seen.value is not None
        module = layer.seen.module
        if module not in self._factors:
            shares = self.of_heads(module, layer.weights.shape[1])
            self._factors[module] = projection_factors(shares).contiguous()
        return value_norms(layer.seen.value, self._factors[module])
