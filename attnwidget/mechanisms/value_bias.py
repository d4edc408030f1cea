"""Bias of an attention layer's values, for any layout of the projections."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from attnwidget.model_facts.weight_placement import weight_of

# Number of tokens by which an output of a projection is recognized as a value.
_TOKENS = 16


def value_bias(outputs: Mapping[nn.Module, Tensor], value: Tensor) -> Tensor | None:
    """Return the bias that a linear layer added to the values of each head, [Hkv, Dv] float32.

    Models store queries, keys and values in one joint projection or in three, by head or by kind.
    This function therefore searches each value among the outputs of the linear layers.

    Args:
        outputs: Output of every linear layer inside the attention module, [1, K, F] each.
        value: Values that the attention weights multiply, [1, Hkv, K, Dv].

    Returns:
        The bias, zero for a linear layer without one; None if the values are not the direct output
        of a linear layer, because a norm, a clip or an adapter follows it.

    Example:
        >>> import torch
        >>> from attnwidget.mechanisms.value_bias import value_bias
        >>> fused = torch.nn.Linear(3, 12)
        >>> with torch.no_grad():
        ...     output = fused(torch.randn(1, 5, 3))
        >>> value = output[..., 8:].unflatten(-1, (2, 2)).transpose(1, 2)
        >>> torch.equal(value_bias({fused: output}, value), fused.bias.detach()[8:].view(2, 2))
        True
    """
    n_key = value.shape[-2]
    value_columns = _columns(value[0].transpose(-1, -2).flatten(0, 1))
    for linear, output in outputs.items():
        if output.dtype != value.dtype or output.numel() != n_key * output.shape[-1]:
            continue
        features = {
            column: i
            for i, column in enumerate(_columns(output.reshape(n_key, -1).transpose(0, 1)))
        }
        if not all(column in features for column in value_columns):
            continue
        bias = weight_of(linear, "bias")
        if bias is None:
            return torch.zeros(
                value.shape[1], value.shape[-1], dtype=torch.float32, device=value.device
            )
        indices = [features[column] for column in value_columns]
        return bias.detach().float()[indices].view(value.shape[1], value.shape[-1])
    return None


def _columns(rows: Tensor) -> list[bytes]:
    """Return the values of each feature at the first tokens, as bytes: `rows` [F, K]."""
    raw = rows[:, :_TOKENS].detach().contiguous().view(torch.uint8).cpu().numpy()
    features: list[bytes] = raw.view(f"V{raw.shape[1]}")[:, 0].tolist()
    return features
