"""Attention recorded from the torch functions that attention modules call.

This route is for modules that do not use transformers' AttentionInterface.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attnwidget.capture.tapping.attention_sites import count_heads
from attnwidget.capture.tapping.edits import LayerChanges
from attnwidget.kernels.weights import attention_weights

#: Softmax functions of torch.
SOFTMAXES = {torch.softmax, functional.softmax, Tensor.softmax}
#: Names of the functions that multiply matrices.
PRODUCTS = {"matmul", "__matmul__", "bmm"}
# Distance below the row's best score from which a key counts as masked: masks are -1e4 to -1e38,
# and scores are not.
_MASKED_BELOW = 5e3


@dataclass(frozen=True, eq=False)
class Seen:
    """One attention computation. `LayerAttention` in `tap.py` describes the fields."""

    weights: Tensor
    query: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None
    scaling: float | None = None
    mask: Tensor | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def visible(self) -> Tensor | None:
        """Return the keys that each query may see, bool; None for all keys."""
        visible = None
        for term in (self.mask, self.kwargs.get("position_bias")):
            if not isinstance(term, Tensor):
                continue
            term = term.detach()[..., : self.weights.shape[-1]]
            is_visible = term if term.dtype == torch.bool else term > -_MASKED_BELOW
            visible = is_visible if visible is None else visible & is_visible
        return visible


class Editing(Protocol):
    """Replacement of a module's weights and outputs."""

    def innermost_changes(self, module: nn.Module) -> LayerChanges | None:
        """Return the changes for the current pass of `module`; None for no changes.

        Several taps may watch a module, and a factor must be applied once: only the innermost tap
        has changes.
        """

    def done(self, module: nn.Module, what: str) -> None:
        """Record that the "weights" or the "outputs" of `module` were edited."""


class FusedArguments(NamedTuple):
    """Arguments of torch's scaled_dot_product_attention, whose signature Python cannot inspect.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.torch_functions import FusedArguments
        >>> states = torch.ones(1, 2, 3, 4)
        >>> FusedArguments(states, states, value=states).scaling
        0.5
    """

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False

    @property
    def scaling(self) -> float:
        """Factor for the products of queries and keys."""
        return self.query.shape[-1] ** -0.5 if self.scale is None else self.scale

    def causal_mask(self) -> Tensor:
        """Return the keys that each query may see if `is_causal`, bool [Q, K]."""
        shape = self.query.shape[-2], self.key.shape[-2]
        return torch.ones(shape, dtype=torch.bool, device=self.query.device).tril()


class FunctionWatch(TorchFunctionMode):
    """Reporter of the attention weights that torch functions compute between `enter` and `leave`.

    The mode belongs to the thread that entered it.

    Only `editing` changes the computation, and rounding if gradients are on: then the outputs of
    scaled_dot_product_attention come from the reported weights, for the gradients of a loss.
    """

    def __init__(
        self,
        report: Callable[[nn.Module, Seen], None],
        editing: Editing,
        config: object = None,
    ) -> None:
        super().__init__()
        self._report = report
        self._editing = editing
        self._config = config
        self._waiting: tuple[nn.Module, Seen] | None = None
        # Modules whose forward has begun, the innermost last.
        self._running: list[nn.Module] = []

    def enter(self, module: nn.Module) -> None:
        """Record that the forward of `module` begins."""
        self._running.append(module)

    def leave(self, module: nn.Module, *, failed: bool = False) -> None:
        """Record that the forward of `module` has ended; `failed` means by an exception."""
        if failed:
            self._waiting = None
        self._report_waiting()
        while self._running and self._running.pop() is not module:
            pass

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if not self._running:
            return func(*args, **kwargs)
        module = self._running[-1]
        if func is functional.multi_head_attention_forward:
            return self._whole_attention(module, func, args, kwargs)
        result = func(*args, **kwargs)
        if func in SOFTMAXES:
            self._report_waiting()
            return self._softmax(module, result, *args, **kwargs)
        if self._waiting is not None and getattr(func, "__name__", "") in PRODUCTS:
            return self._product(result, *args, **kwargs)
        if func is functional.scaled_dot_product_attention:
            return self._fused(module, result, FusedArguments(*args, **kwargs))
        return result

    def _fused(self, module: nn.Module, result: Tensor, given: FusedArguments) -> Tensor:
        computation = _recomputed(given)
        changes = self._editing.innermost_changes(module)
        if changes is not None:
            # Leave out queries and keys, because the edited weights do not follow from them.
            weights = changes.weights(computation.weights, computation.visible())
            computation = Seen(weights, value=computation.value, mask=computation.mask)
            self._editing.done(module, "weights")
        self._report(module, computation)
        if changes is not None or torch.is_grad_enabled():
            result = summed_values(computation)
        if changes is not None:
            result = changes.outputs(result)
            self._editing.done(module, "outputs")
        return result

    def _softmax(
        self, module: nn.Module, result: Tensor, input: Tensor, dim: int = 0, *_: Any, **__: Any
    ) -> Tensor:
        """Record the weights of a softmax, and return the edited weights."""
        n_heads = count_heads(module, self._config)
        if dim not in (-1, input.ndim - 1) or input.ndim not in (3, 4):
            return result
        if input.ndim == 3:  # Batch and heads share one dimension.
            if not n_heads or input.shape[0] % n_heads:
                return result
            shape = (-1, n_heads, *input.shape[1:])
        elif n_heads and input.shape[1] != n_heads:
            return result
        else:
            shape = tuple(input.shape)
        scores = input.detach().reshape(shape)
        weights = result
        if weights.shape != shape:  # A view would be outside the loss's autograd graph.
            weights = weights.reshape(shape)
        sinks = weights[..., :0]
        if getattr(module, "sinks", None) is not None:
            sinks = weights[..., -1:]
            scores, weights = scores[..., :-1], weights[..., :-1]
        visible = scores > scores.amax(-1, keepdim=True) - _MASKED_BELOW
        changes = self._editing.innermost_changes(module)
        if changes is not None:
            weights = changes.weights(weights, visible, sinks if sinks.shape[-1] else None)
            result = torch.cat([weights, sinks], -1).reshape(result.shape)
            self._editing.done(module, "weights")
        self._waiting = module, Seen(weights, mask=None if bool(visible.all()) else visible)
        return result

    def _product(
        self, result: Tensor, first: Any = None, second: Any = None, *_: Any, **__: Any
    ) -> Tensor:
        """Record the values [.., K, Dv] of the product after the softmax.

        Return the edited outputs of the heads.
        """
        assert self._waiting is not None
        module, computation = self._waiting
        batch, heads, n_query, n_key = computation.weights.shape
        if not isinstance(first, Tensor) or not isinstance(second, Tensor):
            return result
        if first.numel() != computation.weights.numel() or first.shape[-2:] != (n_query, n_key):
            return result
        has_key_heads = (
            second.ndim == 4 and second.shape[0] == batch and heads % second.shape[1] == 0
        )
        if second.shape[-2] == n_key and (
            has_key_heads or second.shape[:-2].numel() == batch * heads
        ):
            value = second if has_key_heads else second.reshape(batch, heads, n_key, -1)
            self._waiting = module, replace(computation, value=value)
            self._report_waiting()
            changes = self._editing.innermost_changes(module)
            if changes is not None and changes.replaces_outputs:
                outputs = changes.outputs(result.reshape(batch, heads, n_query, -1))
                self._editing.done(module, "outputs")
                return outputs.reshape(result.shape)
        return result

    def _report_waiting(self) -> None:
        pending, self._waiting = self._waiting, None
        if pending is not None:
            self._report(*pending)

    def _whole_attention(
        self,
        module: nn.Module,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Tensor, Tensor | None]:
        arguments = inspect.signature(func).bind(*args, **kwargs)
        arguments.apply_defaults()
        needs_weights = arguments.arguments["need_weights"]
        averages_heads = arguments.arguments["average_attn_weights"]
        arguments.arguments.update(need_weights=True, average_attn_weights=False)
        output, weights = func(*arguments.args, **arguments.kwargs)
        self._report(module, Seen(weights if weights.ndim == 4 else weights[None]))
        return output, (weights.mean(-3) if averages_heads else weights) if needs_weights else None


def _recomputed(given: FusedArguments) -> Seen:
    """Return the attention of scaled_dot_product_attention, with its weights."""
    query, key = given.query, given.key
    mask = given.causal_mask() if given.is_causal else given.attn_mask
    if mask is not None and mask.dtype == torch.bool:
        mask = additive(mask, query.dtype)
    weights = attention_weights(query, key, scaling=given.scaling, mask=mask).to(query.dtype)
    return Seen(weights, query, key, given.value, given.scaling, mask)


def summed_values(seen: Seen) -> Tensor:
    """Return the head outputs, [B, H, Q, Dv]: the weighted sums of the values."""
    assert seen.value is not None
    groups = seen.weights.shape[-3] // seen.value.shape[-3]
    # BLOOM computes its softmax in float32, but sums values by weights in the dtype of the values.
    weights = seen.weights.to(seen.value.dtype)
    return weights @ seen.value.repeat_interleave(groups, dim=-3)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a bool mask (True = visible) to numbers added to scores: 0, or the lowest number."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(
        ~mask, torch.finfo(dtype).min
    )


def visible_in(added: Tensor) -> Tensor:
    """Return True where an additive mask hides no key: the inverse of `additive`."""
    # A mask may include biases (BEiT), even finite biases of -100 (Swin).
    return added > torch.finfo(added.dtype).min / 2
