"""Calls to torch's attention functions by modules of a running model, with their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attnwidget.capture.tapping.call_inputs import ModuleInputs, are_channels
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.tensor_sources import (
    TensorSources,
    is_same_sequence,
    key_source,
    tensors_in,
)
from attnwidget.capture.tapping.torch_functions import (
    PRODUCTS,
    FusedArguments,
    visible_in,
)
from attnwidget.capture.tapping.unread_attention import UnreadAttention, unread_attention
from attnwidget.model_facts.plain_forward import uncompiled, uncompiled_forward

# Softmax function names, and names of functions that may sum weighted values.
_SOFTMAXES = {"softmax", "special_softmax", "softmin"}
_PRODUCTS = PRODUCTS | {"mm", "baddbmm", "einsum", "tensordot"}
# Next step in errors about calls whose weights are not read.
_RECORD = "Record its queries and keys for Attention.from_queries_keys"
# Differences between outputs that rounding explains, as a share of the largest number. Float32
# matrix products may be computed with reduced precision (TF32).
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One call of an attention function, with the tensors that determine its weights.

    The tensors contain all inputs of a batch. The weights are softmax(scaling * query . key + bias)
    over the visible keys.

    Attributes:
        path: Path of the module that called the function; "" for the watched module.
        query: Queries, [B, H, Q, D].
        key: Keys, [B, Hkv, K, D], where H is a multiple of Hkv.
        value: Values, [B, Hkv, K, Dv].
        scaling: Factor of the products.
        is_cross: Whether queries and keys were made from different tensors; None if unknown.
        visible: Mask, bool, broadcastable to [B, H, Q, K]; None if every query sees every key.
        bias: Bias added to the scores, broadcastable to [B, H, Q, K]; None for no bias.
        padding: True for keys that are not padding, bool [B, K]; None without a padding mask.
        output: Weight of the output projection, [d, H * Dv]; None if unknown.
        added: Names of keys that follow the input's keys: "[bias]", "[zero]".
        dropout: Share of the weights that dropout set to 0 in the call.
        problem: Reason why the weights are unknown, or "".
        memory: Indices of the outermost module's arguments that the keys were made from; None if
            unknown.
        modules: Inputs of the modules in which the call ran, the outermost first.
        tokens_first: Whether the module reads [tokens, B, d]; None if unknown.
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
    memory: frozenset[int] | None = None
    modules: tuple[ModuleInputs, ...] = ()
    tokens_first: bool | None = None

    def outputs(self) -> Tensor:
        """Return the weighted sums of the values, [B, H, Q, Dv], without dropout."""
        groups = self.query.shape[1] // self.key.shape[1]
        mask = self.bias
        if self.visible is not None:
            base_mask = self.query.new_zeros(()) if mask is None else mask.to(self.query.dtype)
            mask = base_mask.masked_fill(~self.visible, -torch.inf)
        if mask is not None:
            mask = mask.expand(*self.query.shape[:-1], self.key.shape[-2])
        return functional.scaled_dot_product_attention(
            self.query,
            self.key.repeat_interleave(groups, 1),
            self.value.repeat_interleave(groups, 1),
            mask,
            scale=self.scaling,
        )


@dataclass(eq=False)
class AttentionPass:
    """Attention in one call of a module.

    Attributes:
        calls: Recorded calls of attention functions, in order.
        unread: Modules that computed attention without such a function or between channels, by
            path.
    """

    calls: list[AttentionCall] = field(default_factory=list)
    unread: dict[str, UnreadAttention] = field(default_factory=dict)


@dataclass(eq=False)
class _RunningModule:
    """A module whose forward has begun.

    Attributes:
        module: Running module.
        inputs: Sizes of the module inputs.
        sources: Arguments from which the tensors of the module were made.
        n_before: Number of recorded calls and unread modules when the module began.
        softmaxes: Shapes of the softmaxes that the module has computed.
        sums_values: Whether a softmax result was multiplied by further numbers.
    """

    module: nn.Module
    inputs: ModuleInputs
    sources: TensorSources
    n_before: int
    softmaxes: list[torch.Size] = field(default_factory=list)
    sums_values: bool = False

    def note(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        result: object,
    ) -> None:
        """Record a call of a torch function."""
        self.sources.note(func, args, kwargs, result)
        name = getattr(func, "__name__", "")
        if name in _SOFTMAXES and isinstance(result, Tensor):
            self.softmaxes.append(result.shape)
        elif self.softmaxes and name in _PRODUCTS:
            operands = tensors_in(args)
            self.sums_values = self.sums_values or any(map(self._is_weights, operands))

    def _is_weights(self, operand: Tensor) -> bool:
        """Return whether a factor has the form of a softmax, perhaps with other leading axes.

        The number of maps may differ, because a module may combine the maps of several heads.
        """
        return any(
            operand.shape[-2:] == shape[-2:]
            and (operand.ndim > 2 or operand.numel() == shape.numel())
            for shape in self.softmaxes
            if len(shape) > 1
        )


class AttentionCalls(TorchFunctionMode):
    """Recorder of the attention functions that a model's modules call.

    The recorder changes no call, so the module's outputs, gradients and random numbers stay the
    same. torch takes no fast path while a function mode is active in the thread. `FunctionWatch` in
    `torch_functions.py` is for transformers attention modules. It replaces their calls, to edit
    weights and to put weights into the autograd graph.

    Attributes:
        paths: Path of each watched module; "" for the whole model.
        passes: Attention in each forward of the model, in order.
        outside: Attention in model parts outside of the model's forward.
        whole: Watched model.
    """

    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.paths = {module: path for path, module in whole.named_modules()}
        self.passes: list[AttentionPass] = []
        self.outside = AttentionPass()
        self.whole = whole
        # Modules whose forward has begun, the innermost last.
        self._modules: list[_RunningModule] = []
        # Number of calls and unread modules so far, including repeated runs.
        self._count = 0

    def begin(self, module: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Record that the forward of a module begins.

        Raises:
            ValueError: An attention module of torch reads a nested tensor.
        """
        # Ignore copies of a watched module, and modules that run again for their gradients.
        if module not in self.paths or _is_backward():
            return
        tensors = list(tensors_in((args, kwargs)))
        if isinstance(module, (nn.MultiheadAttention, nn.TransformerEncoderLayer)) and any(
            tensor.is_nested for tensor in tensors
        ):
            raise ValueError(
                f"{type(module).__name__} {self.paths[module]!r} reads a nested tensor, which "
                "torch computes in its fast path only, without weights: pass a padded tensor with "
                "a mask of the padding (src_key_padding_mask or key_padding_mask)"
            )
        if module is self.whole and not self._runs(module):
            self.passes.append(AttentionPass())
        inputs = ModuleInputs(
            self.paths[module],
            tuple(tuple(tensor.shape) for tensor in tensors if not tensor.is_nested),
            tuple(len(value) for value in (*args, *kwargs.values()) if isinstance(value, list)),
        )
        self._modules.append(_RunningModule(module, inputs, TensorSources(tensors), self._count))

    def end(self, module: nn.Module, _: object, __: object, output: object) -> None:
        """Record that the forward of a module has ended, also by an exception."""
        if _is_backward() or not self._runs(module):
            return
        while self._modules[-1].module is not module:
            self._modules.pop()
        self._note_end(output)
        self._modules.pop()

    def _note_end(self, output: object) -> None:
        """Record the computations of the innermost module, for the module around it."""
        ended = self._modules[-1]
        unread = unread_attention(
            ended.module,
            ended.inputs.path,
            ended.softmaxes,
            sums_values=ended.sums_values,
            between_channels=any(
                len(shape) == 4 and shape[2] == shape[3] and are_channels(*shape[1:3], ended.inputs)
                for shape in ended.softmaxes
            ),
            has_calls=self._count > ended.n_before,
        )
        if unread is not None:
            self._pass().unread[unread.path] = unread
            self._count += 1
        if len(self._modules) > 1:
            outer = self._modules[-2]
            outer.sources.note_part(ended.sources, output)
            if unread is None:
                outer.softmaxes += ended.softmaxes

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        # flex_attention compiles itself, and the compiler cannot trace the recorder.
        if torch.compiler.is_dynamo_compiling() or not self._modules or _is_backward():
            return result
        module = self._modules[-1]
        path = module.inputs.path
        if func is functional.multi_head_attention_forward:
            with torch.no_grad():
                self._keep(_whole_attention(path, func, args, kwargs, result[0]), args[0], args[1])
        elif func is functional.scaled_dot_product_attention:
            arguments = FusedArguments(*args, **kwargs)
            with torch.no_grad():
                self._keep(
                    _fused_attention(path, func, arguments, result), arguments.query, arguments.key
                )
        module.note(func, args, kwargs, result)
        return result

    def _keep(self, call: AttentionCall, query: Tensor, key: Tensor) -> None:
        module = self._modules[-1]
        self._count += 1
        shape = call.query.shape
        if len(shape) == 4 and are_channels(shape[1], shape[2], module.inputs, shape[3]):
            kind = type(module.module).__name__
            self._pass().unread[call.path] = UnreadAttention(call.path, kind, "channels", "")
            return
        source = key_source([module.sources for module in self._modules], query, key)
        batch_first = getattr(module.module, "batch_first", None)
        is_cross = source.is_cross if call.is_cross is None else call.is_cross
        call = replace(
            call,
            is_cross=is_cross,
            memory=source.memory,
            modules=tuple(module.inputs for module in self._modules),
            tokens_first=None if batch_first is None else not batch_first,
        )
        self._pass().calls.append(call)

    def _runs(self, module: nn.Module) -> bool:
        """Return whether the forward of a module has begun and not ended."""
        return any(running.module is module for running in self._modules)

    def _pass(self) -> AttentionPass:
        return self.passes[-1] if self._runs(self.whole) else self.outside


@contextmanager
def attention_calls(module: nn.Module) -> Iterator[AttentionCalls]:
    """Record the attention functions that `module` and its parts call in this thread.

    Compiled modules run uncompiled in the block, because compiled code calls no hooks. The modules
    stay in their mode, training or eval.
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
    """Return the record of a `torch.nn.functional.multi_head_attention_forward` call."""
    bound = inspect.signature(func).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = bound.arguments
    inputs: list[Tensor] = [arguments[name] for name in ("query", "key", "value")]
    if inputs[0].ndim == 2:
        inputs = [states[:, None] for states in inputs]
    states = _projected(inputs, arguments)
    n_heads = arguments["num_heads"]
    added_names = []
    if arguments["bias_k"] is not None:
        batch = (1, inputs[0].shape[1], 1)
        states[1] = torch.cat([states[1], arguments["bias_k"].repeat(batch)])
        states[2] = torch.cat([states[2], arguments["bias_v"].repeat(batch)])
        added_names.append("[bias]")
    if arguments["add_zero_attn"]:
        states[1:] = [functional.pad(projected, (0, 0, 0, 0, 0, 1)) for projected in states[1:]]
        added_names.append("[zero]")
    query, key, value = (
        projected.unflatten(-1, (n_heads, -1)).permute(1, 2, 0, 3) for projected in states
    )
    visible, bias, padding = _masks(arguments, query.shape, key.shape[2], len(added_names))
    dropout = arguments["dropout_p"] if arguments["training"] else 0.0
    call = AttentionCall(
        path=path,
        query=query,
        key=key,
        value=value,
        scaling=query.shape[-1] ** -0.5,
        is_cross=not is_same_sequence(inputs[0], inputs[1]),
        visible=visible,
        bias=bias,
        padding=padding,
        output=arguments["out_proj_weight"].detach().clone(),
        added=tuple(added_names),
        dropout=dropout,
        problem=f"its keys or values were passed ready-made (static_k, static_v). {_RECORD}"
        if arguments["static_k"] is not None or arguments["static_v"] is not None
        else "",
    )
    if call.problem:
        return call
    expected = result
    if dropout:
        arguments |= {"training": False}
        expected = func(*bound.args, **bound.kwargs)[0]
    merged = call.outputs().transpose(1, 2).flatten(2)
    output = functional.linear(merged, arguments["out_proj_weight"], arguments["out_proj_bias"])
    expected = expected[None] if expected.ndim == 2 else expected.transpose(0, 1)
    return _checked(call, output, expected)


def _checked(call: AttentionCall, output: Tensor, expected: Tensor) -> AttentionCall:
    """Return the call, with a problem if its record does not reproduce the function's outputs.

    Tensors on the device "meta" or inside torch.vmap have no numbers to compare.
    """
    try:
        problem = _difference(call, output, expected)
    except RuntimeError as error:
        problem = f"its record cannot be compared with the outputs of torch ({error})"
    return replace(call, problem=problem)


def _difference(call: AttentionCall, output: Tensor, expected: Tensor) -> str:
    """Return the problem of a record that does not reproduce the function's outputs, or "".

    Args:
        call: Record of the call.
        output: Outputs that follow from the record: [B, tokens, d], or [B, H, tokens, Dv] of the
            heads.
        expected: Outputs of the function.
    """
    output = output.to(expected)
    if call.visible is not None:
        # Torch functions disagree about the output for a query that sees no key.
        shape = (*call.query.shape[:-1], call.key.shape[-2])
        sees_a_key = call.visible.expand(shape).any(-1)  # [B, H, tokens]
        sees_a_key = sees_a_key.all(1) if output.ndim == 3 else sees_a_key
        output = output[sees_a_key]
        expected = expected[sees_a_key]
    tolerance = _ROUNDING.get(expected.dtype, 1e-3) * max(1.0, _largest(expected))
    if torch.allclose(output, expected, rtol=0, atol=tolerance, equal_nan=True):
        return ""
    return (
        "the weights that follow from its queries and keys give other outputs than torch's. Record "
        "its weights for Attention.from_weights"
    )


def _largest(numbers: Tensor) -> float:
    return float(numbers.nan_to_num().abs().max()) if numbers.numel() else 0.0


def _projected(read: list[Tensor], given: Mapping[str, Any]) -> list[Tensor]:
    """Return queries, keys and values, each [tokens, B, d], from the inputs of the module."""
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
    """Return the visible keys, the bias of the scores, and the keys without padding."""
    batch, n_heads, n_query, _ = shape
    device = given["query"].device
    padding = given["key_padding_mask"]
    mask = given["attn_mask"]
    if given["is_causal"] and padding is None and not given["need_weights"]:
        # torch then uses this hint in place of the mask.
        mask = torch.ones(n_query, n_key, dtype=torch.bool, device=device).triu(1)
    parts = []
    if mask is not None:
        if mask.ndim == 3:
            mask = mask.unflatten(0, (batch, n_heads)) if len(mask) > 1 else mask[None]
        parts.append(functional.pad(mask, (0, n_key - mask.shape[-1])))
    real_keys = None
    if padding is not None:
        padding = padding[None] if padding.ndim == 1 else padding
        is_hidden = padding if padding.dtype == torch.bool else ~visible_in(padding)
        real_keys = functional.pad(~is_hidden, (0, n_added), value=True)
        parts.append(functional.pad(padding, (0, n_added))[:, None, None])
    visible: Tensor | None = None
    bias: Tensor | None = None
    for part in parts:
        is_hidden = part if part.dtype == torch.bool else ~visible_in(part)
        visible = ~is_hidden if visible is None else visible & ~is_hidden
        if part.dtype != torch.bool and bool((numbers := part.masked_fill(is_hidden, 0)).any()):
            bias = numbers if bias is None else bias + numbers
    return visible, bias, real_keys


def _fused_attention(
    path: str, func: Callable[..., Tensor], given: FusedArguments, result: Tensor
) -> AttentionCall:
    """Return the record of a `scaled_dot_product_attention` call."""
    call = _fused_record(path, given)
    if call.problem:
        return call
    expected = result
    if call.dropout:
        expected = func(**given._replace(dropout_p=0.0)._asdict())
    return _checked(call, call.outputs(), expected)


def _fused_record(path: str, given: FusedArguments) -> AttentionCall:
    query = given.query
    mask = given.attn_mask
    visible: Tensor | None = None
    bias: Tensor | None = None
    if given.is_causal:
        visible = given.causal_mask()
    elif mask is not None and mask.dtype == torch.bool:
        visible = mask.clone()
    elif mask is not None:
        visible = visible_in(mask)
        bias = mask.masked_fill(~visible, 0)
    problem = ""
    if query.ndim != 4:
        problem = (
            f"its queries have the shape {list(query.shape)}, expected [batch, heads, tokens, "
            f"size]: inputs and heads cannot be told apart. {_RECORD}"
        )
    # Clone the states, because the model may change them in place after the call.
    states = [tensor.detach().clone() for tensor in (given.query, given.key, given.value)]
    if not problem:
        # Learned queries may be the same for all inputs of the batch.
        n_inputs = max(map(len, states))
        states = [tensor.expand(n_inputs, *tensor.shape[1:]) for tensor in states]
    query, key, value = states
    return AttentionCall(
        path=path,
        query=query,
        key=key,
        value=value,
        scaling=given.scaling,
        is_cross=True if query.shape[-2] != key.shape[-2] else None,
        visible=visible,
        bias=bias,
        dropout=given.dropout_p,
        problem=problem,
    )


def _is_backward() -> bool:
    """Return whether a backward pass runs, in which activation checkpointing repeats modules."""
    return bool(torch._C._current_graph_task_id() != -1)
