"""The attention of any torch module, recorded from its calls to torch's attention functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.from_queries_keys import layers_of_states
from attnwidget.capture.tapping.attention_calls import (
    AttentionCall,
    AttentionCalls,
    AttentionPass,
    attention_calls,
)
from attnwidget.capture.tapping.attention_sites import is_named_cross
from attnwidget.capture.tapping.call_inputs import CallSizes, row_problem
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.path_numbers import layers_at, numbers_by_path, skips_layers
from attnwidget.capture.tapping.stack_names import StackRole, is_cross, stack_roles
from attnwidget.capture.tapping.unread_attention import (
    UnreadAttention,
    advice_for,
    python_path,
    said_unread,
    without_parents,
)
from attnwidget.hidden_frames import hides_frames
from attnwidget.inputs.token_axes import plain_axis, position_axis
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted
from attnwidget.text.index_among import index_among
from attnwidget.text.tokens import Tokens

# Stacks in computation order, with cross-attention last.
_ORDER = ("self", "encoder", "decoder", "cross")
_SEEN = (
    "torch.nn.MultiheadAttention, torch.nn.Transformer and its layers, and modules that call "
    "torch.nn.functional.scaled_dot_product_attention"
)


class WatchedAttention:
    """Attention that a module computed, call by call. Made by `watch_attention`.

    Example:
        >>> import torch
        >>> from attnwidget import watch_attention
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
        >>> with watch_attention(layer) as watched:
        ...     _ = layer(torch.ones(1, 3, 8)), layer(torch.ones(1, 5, 8))
        >>> watched.n_calls, watched.attention(call=1).weights(0, 0).shape
        (2, (5, 5))
    """

    def __init__(self, calls: AttentionCalls, name: str) -> None:
        self._calls = calls
        self._name = name

    @property
    def n_calls(self) -> int:
        """Number of module calls that computed attention."""
        return len(self._passes)

    @property
    def _passes(self) -> list[AttentionPass]:
        passes = [attention_pass for attention_pass in self._calls.passes if attention_pass.calls]
        return passes or [self._calls.outside] * bool(self._calls.outside.calls)

    @in_plain_torch
    def attention(
        self,
        tokens: Sequence[str] | Tokens | None = None,
        *,
        key_tokens: Sequence[str] | Tokens | None = None,
        item: int = 0,
        call: int | None = None,
    ) -> Attention:
        """Return the attention of an input.

        The maps equal those of `need_weights=True, average_attn_weights=False`, to 1e-6 in float32.
        If the module was training with dropout, the maps are weights before dropout: rows sum to
        1. `note` then says "weights before dropout". A part that computes attention several times
        in a call has a layer for each time, and `note` names the part. If two sentences pass the
        same encoder, they look like two layers with the same weights.

        Layers are numbered by their positions in the module's list of layers, and `note` names
        listed layers that have no attention. If no layer of a stack was read, for example because
        the softmax is written by hand, `note` names the stack's modules.

        Args:
            tokens: Attending tokens, with or without padding; padding that is left out is in no
                map. In an encoder-decoder, the decoder's tokens. None uses positions. Further
                towers, such as "vision", have positions.
            key_tokens: Attended tokens if they differ from `tokens`: the encoder's tokens, and the
                keys of every cross-attention to the same memory. None uses positions. A call is
                cross-attention if its queries and keys were made from different tensors. If that is
                unknown and the token counts are equal, the call is cross-attention only with
                `key_tokens`, or by its path.
            item: Index of the input in the module's batch.
            call: Index of the module call, from 0; may be left out for a single call.

        Raises:
            ValueError: The block has seen no attention between tokens, `call` or `item` does not
                exist, `call` is None after several calls, or the tokens do not fit. Also if a query
                sees no key, if a stack's layers differ in their numbers of tokens or heads, if some
                of these layers were not read, if a call's batch rows are not the module's inputs
                (it moves channels, frames or windows into the batch), or if the recorded call does
                not reproduce the function's outputs.

        Example:
            >>> import torch
            >>> from attnwidget import watch_attention
            >>> attend = torch.nn.MultiheadAttention(8, 2)  # tokens first, as batch_first=False
            >>> with watch_attention(attend) as watched:
            ...     _ = attend(torch.ones(3, 1, 8), torch.ones(4, 1, 8), torch.ones(4, 1, 8))
            >>> attention = watched.attention(["a", "b", "c"], key_tokens=["k", "l", "m", "n"])
            >>> attention, attention.weights(0, 0)[0]
            (Attention(MultiheadAttention, cross 1×2, 3 tokens), array([0.25, 0.25, 0.25, 0.25], ...
        """
        current_pass = self._pass(call)
        calls = current_pass.calls
        unread = without_parents(current_pass.unread.values(), [part.path for part in calls])
        roles = _roles(calls, unread, has_key_tokens=key_tokens is not None)
        self._refuse_problems(calls)
        self._refuse_holes(calls, unread)
        stacks: dict[str, list[AttentionCall]] = {}
        owners: dict[str, str] = {}
        for part, role in zip(calls, roles, strict=False):
            stacks.setdefault(role.stack, []).append(_of_item(part, item))
            owners[role.stack] = role.queries
        order = sorted(
            stacks,
            key=lambda name: (is_cross(name), name not in _ORDER, list(stacks).index(name)),
        )
        attends_elsewhere = any(is_cross(name) or name == "encoder" for name in order)
        if key_tokens is not None and not attends_elsewhere:
            raise ValueError(
                f"key_tokens are the tokens of an encoder or of cross-attention, and {self._name} "
                "has neither: pass tokens alone"
            )
        crosses = [name for name in order if is_cross(name)]
        main = "cross" if "cross" in crosses else next(iter(crosses), "")
        axes = _Axes(tokens, key_tokens, {part.memory for part in stacks.get(main, [])})
        layers = {}
        axes_by_stack = {}
        numbers = {}
        remarks = []
        for name in order:
            _check_alike(name, stacks[name])
            paths = [part.path for part in stacks[name]]
            positions = numbers_by_path(self._calls.whole, paths)
            if positions is not None:
                numbers[name] = layers_at(self._calls.whole, paths, positions)
                order_of_layers = sorted(range(len(positions)), key=positions.__getitem__)
                stacks[name] = [stacks[name][index] for index in order_of_layers]
            if skips_layers(self._calls.whole, paths):
                remarks.append(_said_layers(name, stacks[name], numbers.get(name)))
            sides = axes.shown(name, owners[name], stacks[name])
            shown_calls = [_among(part, *sides) for part in stacks[name]]
            first = shown_calls[0]
            axes_by_stack[name] = axes.axes_of_stack(name, first)
            with_norms = all(part.output is not None for part in calls)
            layers[name] = layers_of_states(
                [part.query for part in shown_calls],
                [part.key for part in shown_calls],
                (first.query.shape[-2], first.key.shape[-2]),
                scale=[part.scaling for part in shown_calls],
                bias=_of_layers([part.bias for part in shown_calls], shown_calls, 0.0),
                mask=_of_layers([part.visible for part in shown_calls], shown_calls, True),
                values=[part.value for part in shown_calls] if with_norms else None,
                output=[part.output for part in shown_calls] if with_norms else None,
            )
        paths = [part.path for part in calls]
        if any(part.dropout for part in calls):
            remarks.append("weights before dropout")
        repeated = [path for path in dict.fromkeys(paths) if paths.count(path) > 1]
        if repeated:
            remarks.append(_said_repeated(repeated, paths))
        if unread:
            advice = advice_for(unread)
            remarks.append(f"not read: {said_unread(unread)}" + f" ({advice})" * bool(advice))
        return Attention(
            layers,
            axes_by_stack,
            model_name=self._name,
            numbers=numbers,
            no_norms="" if with_norms else _NO_OUTPUT,
            remarks=tuple(remarks),
        )

    def _refuse_problems(self, calls: Sequence[AttentionCall]) -> None:
        """Refuse calls with unknown weights, and calls whose batch rows are not inputs."""
        paths = [part.path for part in calls]
        for part in calls:
            if part.problem:
                raise ValueError(
                    f"the attention of {_label(part.path)} is not known: {part.problem}"
                )
            sizes = CallSizes(
                n_rows=len(part.query),
                n_heads=part.query.shape[1],
                n_query=part.query.shape[2],
                n_key=part.key.shape[2] - len(part.added),
                width=part.query.shape[3],
                n_runs=paths.count(part.path),
                tokens_first=part.tokens_first,
            )
            problem = row_problem(self._name, part.path, sizes, part.modules)
            if problem:
                raise ValueError(problem)

    def _refuse_holes(
        self, calls: Sequence[AttentionCall], unread: Sequence[UnreadAttention]
    ) -> None:
        """Refuse stacks with layers that were not recorded."""
        name, unread_layers = _holes(calls, unread)
        if not unread_layers:
            return
        read_calls = [
            part
            for part in calls
            if not any(_is_inside(missing_module, part.path) for missing_module in unread_layers)
        ]
        part = _readable_part(read_calls, unread_layers)
        steps = [advice_for(unread_layers)]
        if part is not None:
            steps.append(f"watch a part, watch_attention({python_path(part)})")
        advice = ", or ".join(filter(None, steps))
        raise ValueError(
            f"{self._name} has layers of {name!r} that watch_attention cannot read: "
            f"{said_unread(unread_layers)}. The others would be taken for all layers"
            f"{f': {advice}' * bool(advice)}"
        )

    def _pass(self, number: int | None) -> AttentionPass:
        """Return the attention in one call of the module."""
        passes = self._passes
        if not passes:
            unread = self._unread()
            if unread:
                raise ValueError(
                    f"{self._name} computed no attention that watch_attention can read: "
                    f"{said_unread(unread)}. Next step: {advice_for(unread)} (load_model reads "
                    "models of transformers)"
                )
            raise ValueError(
                f"{self._name} computed no attention that watch_attention sees: call the module "
                f"inside of the block, in the same thread. Seen are {_SEEN}; load_model reads "
                "models of transformers"
            )
        outside_paths = [part.path for part in self._calls.outside.calls]
        has_module_calls = any(module_pass.calls for module_pass in self._calls.passes)
        repeat = next(
            (path for path in outside_paths if has_module_calls or outside_paths.count(path) > 1),
            None,
        )
        if repeat is not None:
            times = "" if has_module_calls else f" {outside_paths.count(repeat)} times"
            extra = f", beside calls of {self._name}" if has_module_calls else ""
            raise ValueError(
                f"{_label(repeat)} ran{times} outside of a call of {self._name}{extra}: watch the "
                "called part, watch_attention(module.part), or open a block for each call"
            )
        if number is None and len(passes) > 1:
            raise ValueError(
                f"{self._name} was called {len(passes)} times in the block: pass call=0 to "
                f"{len(passes) - 1}"
            )
        number = index_among("call", 0 if number is None else number, len(passes))
        return passes[number]

    def _unread(self) -> list[UnreadAttention]:
        """Return the modules of all calls whose attention was not recorded, each once."""
        passes = [*self._calls.passes, self._calls.outside]
        modules = {
            path: module
            for attention_pass in passes
            for path, module in attention_pass.unread.items()
        }
        paths = [part.path for attention_pass in passes for part in attention_pass.calls]
        return without_parents(modules.values(), paths)

    def __repr__(self) -> str:
        unread = len(self._unread())
        remark = f", {counted(unread, 'attention module')} not read" if unread else ""
        return f"WatchedAttention({self._name}, {counted(self.n_calls, 'call')}{remark})"


_NO_OUTPUT = "some of its layers show no output projection, which norms need"


@hides_frames
@contextmanager
def watch_attention(module: nn.Module, *, name: str | None = None) -> Iterator[WatchedAttention]:
    """Watch the attention of any torch module while it runs in the block.

    Recorded are `torch.nn.MultiheadAttention`, in `torch.nn.TransformerEncoder` and in your own
    modules, and modules that call `torch.nn.functional.scaled_dot_product_attention`. Other
    attention that runs in the block is not read; `note` or an error names it. Outputs, gradients
    and random numbers of the module stay the same, in training and in inference. torch computes no
    weights in its fast path, which is therefore off in the block, in this thread. For Hugging Face
    transformers models, `load_model` does more.

    Args:
        module: Module to call in the block. Compiled modules run uncompiled.
        name: Name in figures; None uses the class of the module.

    Raises:
        TypeError: `module` is not a torch module.
        ValueError: In the block, if a layer reads a nested tensor, which has no weights.

    Example:
        >>> import torch
        >>> from attnwidget import watch_attention
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
        >>> encoder = torch.nn.TransformerEncoder(layer, 3).eval()
        >>> with watch_attention(encoder) as watched, torch.no_grad():
        ...     _ = encoder(torch.ones(1, 4, 8))
        >>> watched.attention(["The", "cat", "sat", "."])
        Attention(TransformerEncoder, self 3×2, 4 tokens)
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"watch_attention takes a torch module, got {type(module).__name__}")
    with attention_calls(module) as calls:
        inner: Any = getattr(module, "_orig_mod", module)
        yield WatchedAttention(calls, name or type(inner).__name__)


class _Axes:
    """Tokens of an attention, and the axes of its stacks."""

    def __init__(
        self,
        tokens: Sequence[str] | Tokens | None,
        key_tokens: Sequence[str] | Tokens | None,
        memory: Set[frozenset[int] | None],
    ) -> None:
        self._tokens = _axis(tokens)
        self._key_tokens = _axis(key_tokens)
        self._memory = memory
        # For each stack, the tokens without padding, if no map includes the padding.
        self._shown: dict[str, Tensor] = {}

    def _sides(
        self, stack: str, calls: Sequence[AttentionCall]
    ) -> tuple[Tokens | None, Tokens | None]:
        """Return the tokens passed for the queries and keys of a stack; None for positions."""
        keys = self._key_tokens
        if stack in _ORDER:
            if is_cross(stack):
                return self._tokens, keys
            return (keys, keys) if stack == "encoder" else (self._tokens, self._tokens)
        # Cross-attention in later stages may attend to the same memory.
        memory = {part.memory for part in calls}
        count = calls[0].key.shape[-2] - len(calls[0].added)
        if keys is None or len(keys) != count or None in memory or memory != self._memory:
            return None, None
        return None, keys if is_cross(stack) else None

    def shown(
        self, stack: str, owner: str, calls: Sequence[AttentionCall]
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return the indices of queries and keys without padding, if the tokens exclude padding.

        Args:
            stack: Name of the stack.
            owner: Name of the stack whose tokens are the queries.
            calls: Layers of the stack, for one input.
        """
        _, key = self._sides(stack, calls)
        keys = None
        padding = _common_padding(calls)
        n_added = len(calls[0].added)
        if padding is not None and key is not None:
            real_positions = padding.nonzero()[:, 0]
            if len(real_positions) == len(key) + n_added < len(padding):
                keys = real_positions
        if is_cross(stack):
            return self._shown.get(owner), keys
        if keys is not None:
            self._shown[stack] = keys[: len(keys) - n_added]
        return self._shown.get(stack), keys

    def axes_of_stack(self, stack: str, call: AttentionCall) -> tuple[Tokens, Tokens]:
        """Return the axes of a stack.

        Raises:
            ValueError: The number of tokens does not fit.
        """
        counts = call.query.shape[-2], call.key.shape[-2] - len(call.added)
        axes = []
        sides = zip(("queries", "keys"), self._sides(stack, [call]), counts, strict=True)
        for side, tokens, count in sides:
            if tokens is not None and len(tokens) != count:
                raise ValueError(
                    f"{stack!r} has {count} {side}, and the tokens for them are {len(tokens)}: "
                    "pass all tokens that the module has read (and key_tokens= if the attended "
                    "tokens differ)"
                )
            axes.append(position_axis(count) if tokens is None else tokens)
        query, key = axes
        if call.added:
            key = plain_axis([*key.text, *call.added])
        return query, query if key == query else key


def _roles(
    calls: Sequence[AttentionCall],
    unread: Sequence[UnreadAttention],
    *,
    has_key_tokens: bool,
    are_unread_cross: bool = False,
) -> list[StackRole]:
    """Return the stacks of all calls, then those of the unread modules.

    If no call shows whether queries and keys come from the same sequence, key tokens decide: with
    key tokens, a single stack is cross-attention. Unread modules are cross-attention by their
    paths, or with `are_unread_cross`.
    """
    paths = [*(call.path for call in calls), *(part.path for part in unread)]
    crosses = [bool(call.is_cross) or is_named_cross(call.path) for call in calls]
    crosses += [are_unread_cross or is_named_cross(part.path) for part in unread]
    roles = stack_roles(paths, crosses)
    stacks = {role.stack for role in roles}
    if has_key_tokens and len(stacks) == 1 and all(call.is_cross is None for call in calls):
        return stack_roles(paths, [True] * len(calls))
    return roles


def _holes(
    calls: Sequence[AttentionCall], unread: Sequence[UnreadAttention]
) -> tuple[str, list[UnreadAttention]]:
    """Return the first stack with layers that were not recorded, and the unread modules.

    It is not known whether an unread module attends to another sequence, so it counts as missing
    if it belongs to a recorded stack in either case.
    """
    name = ""
    unread_modules: dict[str, UnreadAttention] = {}
    for are_unread_cross in (False, True):
        roles = _roles(calls, unread, has_key_tokens=False, are_unread_cross=are_unread_cross)
        recorded = {role.stack for role in roles[: len(calls)]}
        for module, role in zip(unread, roles[len(calls) :], strict=True):
            if role.stack in recorded:
                name = name or role.stack
                unread_modules[module.path] = module
    return name, [module for module in unread if module.path in unread_modules]


def _common_padding(calls: Sequence[AttentionCall]) -> Tensor | None:
    """Return the padding mask of all layers; None if a layer lacks a mask or the masks differ."""
    first = calls[0].padding
    if first is None:
        return None
    are_equal = (call.padding is not None and torch.equal(call.padding, first) for call in calls)
    return first if all(are_equal) else None


def _axis(tokens: Sequence[str] | Tokens | None) -> Tokens | None:
    return tokens if tokens is None or isinstance(tokens, Tokens) else plain_axis(tokens)


def _said_layers(stack: str, calls: Sequence[AttentionCall], numbers: LayerNumbers | None) -> str:
    """Return a remark with the layer paths, for networks with other parts that look like layers."""
    ordinals = tuple(range(len(calls))) if numbers is None else numbers.numbers
    stack_name = "" if stack == "self" else f" of {stack!r}"
    first = f"layer {ordinals[0]}{stack_name} is {_label(calls[0].path)}"
    if len(calls) == 1:
        return first
    return f"{first}, and layer {ordinals[-1]} is {_label(calls[-1].path)}"


def _said_repeated(repeated: Sequence[str], paths: Sequence[str]) -> str:
    """Return a remark about modules with several layers, for the paths of all layers."""
    first = repeated[0]
    modules = _label(first)
    times = counted(paths.count(first), "time")
    if len(repeated) > 1:
        modules += f" and {len(repeated) - 1:,} more"
        times = "several times"
    return f"{modules} computed attention {times}, and each time is a layer"


def _is_inside(unread: UnreadAttention, path: str) -> bool:
    """Return whether an unread module is at a path, or inside the module at the path."""
    return not path or unread.path == path or unread.path.startswith(f"{path}.")


def _readable_part(calls: Sequence[AttentionCall], unread: Sequence[UnreadAttention]) -> str | None:
    """Return the path of the largest part that ran without unread attention, or None."""
    parts = (
        inputs.path
        for call in calls
        for inputs in call.modules
        if not any(_is_inside(module, inputs.path) for module in unread)
    )
    return min(parts, key=lambda path: path.count("."), default=None)


def _label(path: str) -> str:
    return repr(path) if path else "the module"


def _of_item(call: AttentionCall, item: int) -> AttentionCall:
    """Return the call with the states of one input, without the batch axis."""
    count = len(call.query)
    item = index_among("input", item, count, f"the batch that {_label(call.path)} read")
    shape = (*call.query.shape[:-1], call.key.shape[-2])
    states: dict[str, Any] = {name: getattr(call, name)[item] for name in ("query", "key", "value")}
    for name in ("visible", "bias"):
        numbers = getattr(call, name)
        states[name] = None if numbers is None else numbers.expand(shape)[item]
    states["padding"] = None if call.padding is None else call.padding.expand(count, -1)[item]
    return replace(call, **states)


def _among(call: AttentionCall, queries: Tensor | None, keys: Tensor | None) -> AttentionCall:
    """Return the call of one input, restricted to some queries and keys."""
    states: dict[str, Any] = {}
    for name, positions in (("query", queries), ("key", keys), ("value", keys)):
        states[name] = (
            getattr(call, name) if positions is None else getattr(call, name)[:, positions]
        )
    for name in ("visible", "bias"):
        numbers = getattr(call, name)
        if numbers is not None and queries is not None:
            numbers = numbers[:, queries]
        if numbers is not None and keys is not None:
            numbers = numbers[..., keys]
        states[name] = numbers
    return replace(call, **states)


def _check_alike(stack: str, calls: Sequence[AttentionCall]) -> None:
    """Check that a stack's layers have equal numbers of heads, queries and keys."""
    sizes = [(call.query.shape[0], call.query.shape[1], call.key.shape[1]) for call in calls]
    for call, size in zip(calls, sizes, strict=True):
        if size != sizes[0]:
            heads, queries, keys = sizes[0]
            part = _part_with_equal_layers(calls, sizes)
            raise ValueError(
                f"the layers of {stack!r} differ: {_label(calls[0].path)} has {heads} heads, "
                f"{queries} queries and {keys} keys, {_label(call.path)} {size[0]}, {size[1]} and "
                f"{size[2]}: watch a part with equal layers, watch_attention({part})"
            )


def _part_with_equal_layers(
    calls: Sequence[AttentionCall], sizes: Sequence[tuple[int, int, int]]
) -> str:
    """Return the expression for the part with the most layers of equal size."""
    sizes_by_path: dict[str, list[tuple[int, int, int]]] = {}
    for call, size in zip(calls, sizes, strict=True):
        for path in {inputs.path for inputs in call.modules[1:]}:
            sizes_by_path.setdefault(path, []).append(size)
    parts = [path for path, part_sizes in sizes_by_path.items() if len(set(part_sizes)) == 1]
    part = max(parts, key=lambda path: (len(sizes_by_path[path]), -path.count(".")), default=None)
    return "module.part" if part is None else python_path(part)


def _of_layers(
    given: Sequence[Tensor | None], calls: Sequence[AttentionCall], nothing: bool | float
) -> list[Tensor] | None:
    """Return an array per layer; layers without an array get one filled with `nothing`."""
    if all(array is None for array in given):
        return None
    return [
        call.query.new_full((call.query.shape[1], call.key.shape[1]), nothing, dtype=_type(nothing))
        if array is None
        else array
        for array, call in zip(given, calls, strict=True)
    ]


def _type(number: bool | float) -> torch.dtype:
    return torch.bool if isinstance(number, bool) else torch.float32
