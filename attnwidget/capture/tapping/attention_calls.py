"""Calls of torch's attention functions by the modules of a running model, with their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnwidget.capture.hub_model.plain_forward import uncompiled, uncompiled_forward
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.torch_functions import RunningModules, visible_in

# Differences that rounding explains between outputs, as a share of the largest number. Matrix
# products of float32 may be computed with fewer digits (TF32).
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One call of an attention function: what its weights follow from, for all inputs of a batch.

    The weights are softmax(scaling * query . key + bias) over the visible keys.

    Attributes:
        path: Path of the module that called the function; "" for the watched module.
        query: [B, H, Q, D].
        key: [B, Hkv, K, D], H a multiple of Hkv.
        value: [B, Hkv, K, Dv].
        scaling: Factor of the products.
        is_cross: Whether queries and keys were made of different tensors; None if the call does not
            tell.
        visible: Bool, broadcastable to [B, H, Q, K]; None if every query sees every key.
        bias: Numbers added to the scores, broadcastable to [B, H, Q, K]; None for nothing.
        padding: Bool [B, K], True for keys that are no padding; None without a mask of padding.
        output: Weight of the output projection, [d, H * Dv]; None if it is not known.
        added: Names of the keys after those of the input: "[bias]", "[zero]".
        dropout: Share of the weights that dropout set to 0 in the call.
        problem: Why the weights cannot be told, or "".
    """

    path: str
    query: Tensor
    key: Tensor
    value: Tensor
    scaling: float
    is_cross: bool | None
    visible: Tensor | None = None
    bias: Tensor | None = None
    padding: Tensor | None = None
    output: Tensor | None = None
    added: tuple[str, ...] = ()
    dropout: float = 0.0
    problem: str = ""

    def outputs(self) -> Tensor:
        """Return the sums of the values by the weights, [B, H, Q, Dv], without dropout."""
        groups = self.query.shape[1] // self.key.shape[1]
        mask = self.bias
        if self.visible is not None:
            shown = self.query.new_zeros(()) if mask is None else mask.to(self.query.dtype)
            mask = shown.masked_fill(~self.visible, -torch.inf)
        if mask is not None:
            mask = mask.expand(*self.query.shape[:-1], self.key.shape[-2])
        return functional.scaled_dot_product_attention(
            self.query,
            self.key.repeat_interleave(groups, 1),
            self.value.repeat_interleave(groups, 1),
            mask,
            scale=self.scaling,
        )


class AttentionCalls(RunningModules):
    """Recorder of the attention functions that the modules of a model call.

    The recorder changes no call, so outputs, gradients and random numbers of the module stay the
    same. torch takes no fast path while a function mode is active in the thread.

    Attributes:
        paths: The path of each watched module; "" for the whole model.
        passes: The calls in each forward of the model, in their order.
        outside: The calls of parts of the model outside of its forward.
    """

    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.paths = {module: path for path, module in whole.named_modules()}
        self.passes: list[list[AttentionCall]] = []
        self.outside: list[AttentionCall] = []
        self._whole = whole

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Note that the forward of a module begins.

        Raises:
            ValueError: An attention module of torch reads a nested tensor.
        """
        if module not in self.paths:
            return  # a copy of a watched module
        if isinstance(module, (nn.MultiheadAttention, nn.TransformerEncoderLayer)) and any(
            isinstance(value, Tensor) and value.is_nested for value in (*args, *kwargs.values())
        ):
            raise ValueError(
                f"{type(module).__name__} {self.paths[module]!r} reads a nested tensor, which "
                "torch computes in its fast path only, without weights: pass a padded tensor with "
                "a mask of the padding (src_key_padding_mask or key_padding_mask)"
            )
        if module is self._whole and module not in self.running:
            self.passes.append([])
        self.enter(module)

    def end(self, module: nn.Module, *_: object) -> None:
        """Note that the forward of a module has ended, also by an exception."""
        self.leave(module)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        # Activation checkpointing runs modules again in the backward pass.
        if not self.running or torch._C._current_graph_task_id() != -1:
            return result
        path = self.paths[self.running[-1]]
        if func is functional.multi_head_attention_forward:
            with torch.no_grad():
                self._keep(_whole_attention(path, func, args, kwargs, result[0]))
        elif func is functional.scaled_dot_product_attention:
            with torch.no_grad():
                self._keep(_fused_attention(path, *args, **kwargs))
        return result

    def _keep(self, call: AttentionCall) -> None:
        (self.passes[-1] if self._whole in self.running else self.outside).append(call)


@contextmanager
def attention_calls(module: nn.Module) -> Iterator[AttentionCalls]:
    """Record the attention functions that `module` and its parts call in this thread.

    Compiled modules run uncompiled in the block, because compiled code calls no hooks. The modules
    stay in the mode, training or eval, in which they are.
    """
    calls = AttentionCalls(uncompiled(module))
    with (
        uncompiled_forward(module),
        hooked(calls.paths, before=calls.begin, after=calls.end, always=True),
        calls,
    ):
        yield calls


def _whole_attention(
    path: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Tensor,
) -> AttentionCall:
    """Return the record of a call of `torch.nn.functional.multi_head_attention_forward`."""
    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    read: list[Tensor] = [given[name] for name in ("query", "key", "value")]
    if read[0].ndim == 2:
        read = [states[:, None] for states in read]
    states = _projected(read, given)
    n_heads = given["num_heads"]
    added = []
    if given["bias_k"] is not None:
        batch = (1, read[0].shape[1], 1)
        states[1] = torch.cat([states[1], given["bias_k"].repeat(batch)])
        states[2] = torch.cat([states[2], given["bias_v"].repeat(batch)])
        added.append("[bias]")
    if given["add_zero_attn"]:
        states[1:] = [functional.pad(one, (0, 0, 0, 0, 0, 1)) for one in states[1:]]
        added.append("[zero]")
    query, key, value = (one.unflatten(-1, (n_heads, -1)).permute(1, 2, 0, 3) for one in states)
    visible, bias, padding = _masks(given, query.shape, key.shape[2], len(added))
    dropout = given["dropout_p"] if given["training"] else 0.0
    call = AttentionCall(
        path=path,
        query=query,
        key=key,
        value=value,
        scaling=query.shape[-1] ** -0.5,
        is_cross=not _same(read[0], read[1]),
        visible=visible,
        bias=bias,
        padding=padding,
        output=given["out_proj_weight"].detach().clone(),
        added=tuple(added),
        dropout=dropout,
        problem="its keys or values were passed ready-made (static_k, static_v)"
        if given["static_k"] is not None or given["static_v"] is not None
        else "",
    )
    if call.problem:
        return call
    expected = result
    if dropout:
        given |= {"training": False}
        expected = func(*bound.args, **bound.kwargs)[0]
    merged = call.outputs().permute(2, 0, 1, 3).flatten(2)
    output = functional.linear(merged, given["out_proj_weight"], given["out_proj_bias"])
    if expected.ndim == 2:
        expected = expected[:, None]
    return _checked(call, output.to(expected), expected)


def _checked(call: AttentionCall, output: Tensor, expected: Tensor) -> AttentionCall:
    """Return the call, with a problem if its record does not give the outputs of the module.

    Args:
        call: The record.
        output: The outputs that follow from the record, [tokens, B, d].
        expected: The outputs of the module.
    """
    if call.visible is not None:
        # Functions of torch disagree about the output of a query that sees no key.
        shape = (*call.query.shape[:-1], call.key.shape[-2])
        seeing = call.visible.expand(shape).any(-1).all(1).T  # [tokens, B]
        output = output[seeing]
        expected = expected[seeing]
    allowed = _ROUNDING.get(expected.dtype, 1e-3) * max(1.0, _largest(expected))
    if torch.allclose(output, expected, rtol=0, atol=allowed, equal_nan=True):
        return call
    problem = "the weights that follow from its queries and keys give other outputs than the module"
    return replace(call, problem=problem)


def _largest(numbers: Tensor) -> float:
    return float(numbers.nan_to_num().abs().max()) if numbers.numel() else 0.0


def _projected(read: list[Tensor], given: Mapping[str, Any]) -> list[Tensor]:
    """Return queries, keys and values, each [tokens, B, d], from what the module has read."""
    if given["use_separate_proj_weight"]:
        weights = [given[f"{name}_proj_weight"] for name in "qkv"]
    else:
        weights = given["in_proj_weight"].chunk(3)
    biases = [None] * 3 if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)
    return [
        functional.linear(states, weight, bias)
        for states, weight, bias in zip(read, weights, biases, strict=True)
    ]


def _masks(
    given: Mapping[str, Any], shape: torch.Size, n_key: int, n_added: int
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return which keys are visible, what is added to the scores, and the keys without padding."""
    batch, n_heads, n_query, _ = shape
    device = given["query"].device
    padding = given["key_padding_mask"]
    mask = given["attn_mask"]
    if given["is_causal"] and padding is None and not given["need_weights"]:
        # torch then takes the hint in place of the mask.
        mask = torch.ones(n_query, n_key, dtype=torch.bool, device=device).triu(1)
    parts = []
    if mask is not None:
        if mask.ndim == 3:
            mask = mask.unflatten(0, (batch, n_heads)) if len(mask) > 1 else mask[None]
        parts.append(functional.pad(mask, (0, n_key - mask.shape[-1])))
    shown = None
    if padding is not None:
        padding = padding[None] if padding.ndim == 1 else padding
        hidden = padding if padding.dtype == torch.bool else ~visible_in(padding)
        shown = functional.pad(~hidden, (0, n_added), value=True)
        parts.append(functional.pad(padding, (0, n_added))[:, None, None])
    visible: Tensor | None = None
    bias: Tensor | None = None
    for part in parts:
        hidden = part if part.dtype == torch.bool else ~visible_in(part)
        visible = ~hidden if visible is None else visible & ~hidden
        if part.dtype != torch.bool and bool((numbers := part.masked_fill(hidden, 0)).any()):
            bias = numbers if bias is None else bias + numbers
    return visible, bias, shown


def _fused_attention(
    path: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> AttentionCall:
    """Return the record of a call of `scaled_dot_product_attention`; arguments as of torch."""
    scaling = query.shape[-1] ** -0.5 if scale is None else scale
    visible: Tensor | None = None
    bias: Tensor | None = None
    if is_causal:
        shape = query.shape[-2], key.shape[-2]
        visible = torch.ones(shape, dtype=torch.bool, device=query.device).tril()
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        visible = attn_mask.clone()
    elif attn_mask is not None:
        visible = visible_in(attn_mask)
        bias = attn_mask.masked_fill(~visible, 0)
    # The model may change its states in place after the call.
    query, key, value = (one.detach().clone() for one in (query, key, value))
    problem = ""
    if query.ndim != 4:
        problem = (
            f"its queries have the shape {list(query.shape)}, expected [batch, heads, tokens, "
            "size]: inputs and heads cannot be told apart"
        )
    return AttentionCall(
        path=path,
        query=query,
        key=key,
        value=value,
        scaling=scaling,
        # Queries and keys are made before the call, so equal numbers of tokens tell nothing.
        is_cross=True if query.shape[-2] != key.shape[-2] else None,
        visible=visible,
        bias=bias,
        dropout=dropout_p,
        problem=problem,
    )


def _same(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors are the same sequence: one tensor, or equal numbers."""
    return first.shape == second.shape and bool(torch.equal(first, second))
