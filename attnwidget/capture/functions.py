"""Attention seen through the torch functions that attention modules call.

The route for modules that do not ask transformers' AttentionInterface for their function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attnwidget.capture.sites import count_heads
from attnwidget.kernels.weights import attention_weights

_SOFTMAX = {torch.softmax, functional.softmax, Tensor.softmax}
# Below the row's best score by this much, a key is masked: masks are -1e4 to -1e38, scores are not.
_MASKED_BELOW = 5e3


@dataclass(frozen=True, eq=False)
class Seen:
    """One attention computation. `attnwidget.capture.tap.LayerAttention` describes the fields."""

    weights: Tensor
    query: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None
    scaling: float | None = None
    mask: Tensor | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)


class FunctionWatch(TorchFunctionMode):
    """Reports the attention weights that torch functions compute between `enter` and `leave`.

    Nothing the model computes is changed. The mode belongs to the thread that entered it.
    """

    def __init__(self, report: Callable[[nn.Module, Seen], None], config: object = None) -> None:
        super().__init__()
        self._report = report
        self._config = config
        self._inside: list[nn.Module] = []

    def enter(self, module: nn.Module) -> None:
        """`module`'s forward begins."""
        self._inside.append(module)

    def leave(self, module: nn.Module) -> None:
        """`module`'s forward has ended, by an exception too."""
        while self._inside and self._inside.pop() is not module:
            pass

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if not self._inside:
            return func(*args, **kwargs)
        module = self._inside[-1]
        if func is functional.multi_head_attention_forward:
            return self._whole_attention(module, func, args, kwargs)
        result = func(*args, **kwargs)
        if func in _SOFTMAX:
            self._softmax(module, result, *args, **kwargs)
        elif func is functional.scaled_dot_product_attention:
            self._report(module, _recomputed(*args, **kwargs))
        return result

    def _softmax(
        self, module: nn.Module, weights: Tensor, input: Tensor, dim: int = 0, *_: Any, **__: Any
    ) -> None:
        n_heads = count_heads(module, self._config)
        if dim not in (-1, input.ndim - 1) or input.ndim not in (3, 4):
            return
        if input.ndim == 3:  # batch and heads in one dimension
            if not n_heads or input.shape[0] % n_heads:
                return
            shape = (-1, n_heads, *input.shape[1:])
        elif n_heads and input.shape[1] != n_heads:
            return
        else:
            shape = tuple(input.shape)
        scores, weights = input.detach().reshape(shape), weights.reshape(shape)
        if getattr(module, "sinks", None) is not None:
            scores, weights = scores[..., :-1], weights[..., :-1]
        visible = scores > scores.amax(-1, keepdim=True) - _MASKED_BELOW
        self._report(module, Seen(weights, mask=None if bool(visible.all()) else visible))

    def _whole_attention(
        self,
        module: nn.Module,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Tensor, Tensor | None]:
        given = inspect.signature(func).bind(*args, **kwargs)
        given.apply_defaults()
        wanted = given.arguments["need_weights"]
        averaged = given.arguments["average_attn_weights"]
        given.arguments.update(need_weights=True, average_attn_weights=False)
        output, weights = func(*given.args, **given.kwargs)
        self._report(module, Seen(weights if weights.ndim == 4 else weights[None]))
        return output, (weights.mean(-3) if averaged else weights) if wanted else None


def _recomputed(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Seen:
    """What scaled_dot_product_attention computed, with weights; the arguments are its own."""
    scaling = query.shape[-1] ** -0.5 if scale is None else scale
    mask = attn_mask
    if is_causal:
        mask = torch.ones(
            query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device
        ).tril()
    if mask is not None and mask.dtype == torch.bool:
        mask = additive(mask, query.dtype)
    weights = attention_weights(query, key, scaling=scaling, mask=mask).to(query.dtype)
    return Seen(weights, query, key, value, scaling, mask)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A bool mask (True = visible) as numbers to add to scores: 0, or the lowest of `dtype`."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(
        ~mask, torch.finfo(dtype).min
    )
