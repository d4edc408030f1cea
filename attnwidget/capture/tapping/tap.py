"""The tap: a callback that receives every layer's attention during a model's forward pass."""

from __future__ import annotations

import contextvars
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.model_lock import stop_if_wanted
from attnwidget.capture.tapping.attention_arguments import (
    check_arguments,
    forward_options,
    with_selected_keys,
)
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.edits import Edits, LayerChanges
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.capture.tapping.lazy_mask import LazyMask
from attnwidget.capture.tapping.link_factors import LinkTexts
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.of_latest import OfLatest
from attnwidget.capture.tapping.pass_texts import PassTexts, Spell
from attnwidget.capture.tapping.rows_without_keys import rows_without_keys
from attnwidget.capture.tapping.stack_names import is_cross
from attnwidget.capture.tapping.streamed_layer import StreamedItem, stream_layer, unknown_weights
from attnwidget.capture.tapping.text_positions import TextPositions
from attnwidget.capture.tapping.torch_functions import FunctionWatch, Seen, additive, summed_values
from attnwidget.inputs.model_tensors import count_inputs, is_of_text
from attnwidget.kernels.weights import attention_weights
from attnwidget.model_facts.all_modules import all_modules
from attnwidget.model_facts.held_attributes import Hold, held, unheld
from attnwidget.model_facts.plain_forward import plain_forward, uncompiled
from attnwidget.text.thread_lock import ThreadLock
from attnwidget.text.undo import undone

# transformers tests names by substring, so "sdpa", "flash", "flex", "paged|", "/" may not occur.
_NAME = "attnwidget_tap"
# Differences between weighted sums that rounding explains, as a share of the largest sum.
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_IMPLEMENTATION = "_attn_implementation_internal"


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerAttention(Seen):
    """Record of an attention layer in a forward pass.

    Attributes:
        layer: Number of the layer in its stack, from 0. Layers without attention count; a module
            that several layers share (ALBERT) counts once per layer.
        stack: Name of the stack, as in `Site.stack`.
        module: Attention module.
        weights: Weights [B, H, Q, K] as the model computed them, in its dtype and autograd graph.
        query: Queries after position encoding, [B, H, Q, D], or None if only weights are visible.
        key: Keys after position encoding, [B, Hkv, K, D], where H is a multiple of Hkv; None as for
            `query`.
        value: Values, [B, Hkv, K, Dv], or None if they are not visible.
        scaling: Factor of the scores; None as for `query`.
        mask: Mask, broadcastable to [B, H, Q, K]: additive, or bool with True = visible; None if
            every key is visible to every query.
        kwargs: Further arguments of the attention function: softcap, position_bias, s_aux...
        outputs_replaced: Whether an edit replaced head outputs by tensors that do not follow from
            weights and values.
    """

    layer: int
    stack: str
    module: nn.Module
    outputs_replaced: bool = False

    @property
    def n_inputs(self) -> int:
        """Number of inputs in the batch."""
        return self.weights.shape[0]

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.weights.shape[-2]


@dataclass(frozen=True, eq=False)
class LongAttention:
    """Record of an attention layer in a forward pass over a long input.

    Attributes:
        layer, stack, module: As in `LayerAttention`.
        items: Inputs of the batch.
    """

    layer: int
    stack: str
    module: nn.Module
    items: Sequence[StreamedItem]

    @property
    def n_inputs(self) -> int:
        """Number of inputs in the batch."""
        return len(self.items)

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.items[0].query.shape[1]


@dataclass(frozen=True, eq=False)
class _Masks:
    """A mask of a layer, in the forms that attention functions accept.

    Attributes:
        additive: Mask as numbers that are added to the scores; None for no mask.
        added: Same as `additive`, with 0 for queries that may see no key.
        empty_rows: Result of `rows_without_keys`, if the model does not use eager attention.
    """

    additive: Tensor | None = None
    added: Tensor | None = None
    empty_rows: Tensor | None = None

    @classmethod
    def from_mask(cls, mask: Tensor, implementation: str, dtype: torch.dtype) -> _Masks:
        """Return the forms of a mask for a query dtype."""
        empty_rows = rows_without_keys(mask) if implementation != "eager" else None
        # Eager functions would add a bool mask as 0 and 1.
        numbers = additive(mask, dtype) if mask.dtype == torch.bool else mask
        # Gradients through a softmax over only -inf would be NaN.
        added = numbers if empty_rows is None else numbers.masked_fill(empty_rows[..., None], 0)
        return cls(numbers, added, empty_rows)


OnLayer = Callable[[LayerAttention], None]
OnLong = Callable[[LongAttention], None]
OnAgain = Callable[[LayerAttention | LongAttention], None]


@dataclass(eq=False)
class _Tap:
    """One open tap: the tapped modules, and the next layer of each stack."""

    sites: dict[nn.Module, Site]
    on_layer: OnLayer
    root: nn.Module
    edits: Edits | None = None
    on_long: OnLong | None = None
    on_again: OnAgain | None = None
    config_keys: frozenset[int] = frozenset()
    # Names of the arguments that the model and its inner models take.
    options: frozenset[str] = frozenset()
    # Layer numbers of stacks in which some layers have no attention.
    numbers: Mapping[str, LayerNumbers] = field(default_factory=dict)
    # Number of attention layers that this pass has reached in each stack, and their layer numbers.
    next_layer: dict[str, int] = field(default_factory=dict)
    layer_of: dict[nn.Module, int] = field(default_factory=dict)
    # Modules that reported weights in this pass, and parts of modules that were edited.
    handed: set[nn.Module] = field(default_factory=set)
    edited: dict[nn.Module, set[str]] = field(default_factory=dict)
    watch: FunctionWatch | None = None
    masks: OfLatest[_Masks] = field(default_factory=OfLatest)
    # Text positions of the tokens in this pass, by stack.
    positions: dict[str, TextPositions] = field(default_factory=dict)
    # Texts that links look up their words in, by stack; only kept if links are scaled.
    texts: dict[str, PassTexts] = field(default_factory=dict)
    # Number of inputs if the pass reads pictures or sounds; None for texts.
    n_inputs: int | None = None
    # Unread answers on a GPU: whether the weights of a long layer are known.
    unconfirmed: list[tuple[nn.Module, Tensor]] = field(default_factory=list)

    def start_pass(
        self, stacks: Set[str], part: nn.Module, args: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        if self in _open_taps.get():
            if part is self.root:
                tensors = _tensors(named)
                is_text = all(map(is_of_text, tensors))
                self.n_inputs = None if is_text else count_inputs(tensors)
            positions = TextPositions.of_pass(args, named)
            # The block of an edit may have tapped a model around this one.
            scales = any(t.edits is not None and t.edits.scales_links for t in _open_taps.get())
            if scales and not positions.past:
                self._note_texts(part, stacks, args, named)
            for stack in stacks:
                self.next_layer.pop(stack, None)
                self.positions[stack] = positions

    def _note_texts(
        self, part: nn.Module, stacks: Set[str], args: Sequence[Any], named: Mapping[str, Any]
    ) -> None:
        """Keep the texts of a pass that begins with their first token."""
        if part is self.root and named.get("encoder_outputs") is None:
            self.texts.clear()
        of_decoder = {stack for stack in stacks if stack == "decoder" or is_cross(stack)}
        has_both = bool(of_decoder) and "encoder" in stacks
        texts = PassTexts.of_pass(args, named, of_decoder=False)
        self._keep_texts(stacks - of_decoder if has_both else stacks, texts)
        if has_both and "decoder_input_ids" in named:
            self._keep_texts(of_decoder, PassTexts.of_pass(args, named, of_decoder=True))

    def _keep_texts(self, stacks: Set[str], texts: PassTexts) -> None:
        for stack in stacks:
            # An inner model that reads vectors has the texts of the model around it.
            if texts.ids is not None or self.texts.get(stack, _NO_TEXTS).ids is None:
                self.texts[stack] = texts

    def _link_texts(self, stack: str, spell: Spell | None) -> LinkTexts:
        query = self.texts.get(stack, _NO_TEXTS)
        return LinkTexts(
            query, self.texts.get("encoder", _NO_TEXTS) if is_cross(stack) else query, spell
        )

    def enter_module(self, module: nn.Module, *_: object) -> None:
        site = self.sites.get(module)
        if site is None or self not in _open_taps.get():
            return  # This is another thread's pass, or a copy of the tapped model.
        index = self.next_layer.get(site.stack, 0)
        self.next_layer[site.stack] = index + 1
        self.layer_of[module] = self._number(site, index)
        self.handed.discard(module)
        self.edited.pop(module, None)
        if self.watch is not None and site.route == "functions":
            self.watch.enter(module)

    def _number(self, site: Site, place: int) -> int:
        """Return the layer number of the attention layer with index `place` in its stack."""
        if site.stack not in self.numbers:
            return place
        numbers = self.numbers[site.stack].numbers
        if place >= len(numbers):
            raise ValueError(
                f"{type(self.root).__name__} runs more than its {len(numbers)} attention layers in "
                "one pass, so their numbers are not known: this model cannot be read"
            )
        return numbers[place]

    def leave_module(self, module: nn.Module, _: object, __: object, output: object) -> None:
        site = self.sites.get(module)
        if site is None or self not in _open_taps.get():
            return
        failed = output is None
        if self.watch is not None and site.route == "functions":
            self.watch.leave(module, failed=failed)
        if not failed:
            self._check_edited(module)
        self.layer_of.pop(module, None)

    def changes(self, module: nn.Module) -> LayerChanges | None:
        edits = _edits_in_force(module)
        layer = self.layer_of.get(module)
        if edits is None or layer is None:
            return None
        changes = edits.of_layer(module, layer)
        if changes is None:
            return None
        n_inputs = self.n_inputs
        if n_inputs is not None and module in self.handed:
            n_inputs = 0  # In a repeated call, every batch entry belongs to another block.
        stack = self.sites[module].stack
        positions = self.positions.get(stack, TextPositions())
        return changes.in_pass(n_inputs, positions, self._link_texts(stack, edits.spell))

    def innermost_changes(self, module: nn.Module) -> LayerChanges | None:
        return self.changes(module) if _taps_of(module)[-1] is self else None

    def done(self, module: nn.Module, what: str) -> None:
        for open_tap in _taps_of(module):
            open_tap.edited.setdefault(module, set()).add(what)

    def hand_over(self, module: nn.Module, seen: Seen) -> None:
        if module not in self.layer_of:
            return
        report = self.on_layer if self._is_first(module) else self.on_again
        if report is None:
            return
        stop_if_wanted()
        changes = self.changes(module)
        report(
            LayerAttention(
                **vars(seen),
                layer=self.layer_of[module],
                stack=self.sites[module].stack,
                module=module,
                outputs_replaced=changes is not None and changes.replaces_outputs,
            )
        )

    def hand_over_long(self, module: nn.Module, items: Sequence[StreamedItem]) -> None:
        if module not in self.layer_of:
            return
        report = self.on_long if self._is_first(module) else self.on_again
        if report is not None:
            site = self.sites[module]
            report(LongAttention(self.layer_of[module], site.stack, module, items))

    def confirm(self) -> None:
        """Read all unread answers in one copy; raise ValueError if weights are not known."""
        pending, self.unconfirmed = self.unconfirmed, []
        if pending:
            device = pending[0][1].device
            answers = torch.stack([answer.to(device) for _, answer in pending]).tolist()
            for (module, _), agree in zip(pending, answers, strict=True):
                if not agree:
                    raise unknown_weights(module)

    def _is_first(self, module: nn.Module) -> bool:
        # A second call in one layer repeats the first map: DiffLlama attends to the two halves of
        # its values separately.
        if module in self.handed:
            return False
        self.handed.add(module)
        return True

    def _check_edited(self, module: nn.Module) -> None:
        """Raise ValueError if the edit of a head had no effect in a pass."""
        changes = self.changes(module)
        name = type(module).__name__
        edited_parts = self.edited.get(module, set())
        if changes is None or {"weights", "outputs"} <= edited_parts:
            return
        if "weights" not in edited_parts:
            raise ValueError(
                f"heads of {name} cannot be switched off: its way of computing attention is "
                "not visible here (custom windows, or a fused function)"
            )
        if changes.replaces_outputs:
            raise ValueError(
                f"{name} shows its attention weights, but not the outputs of its heads, so that "
                "'mean' and 'patch' cannot be done; 'uniform', 'zero', 'first' and scaled links can"
            )


_NO_TEXTS = PassTexts()
_open_taps: contextvars.ContextVar[tuple[_Tap, ...]] = contextvars.ContextVar(
    "attnwidget_open_taps", default=()
)
_registry_lock = ThreadLock()
_registered = False


def _close(closed: _Tap) -> None:
    _open_taps.set(tuple(open_tap for open_tap in _open_taps.get() if open_tap is not closed))


def open_edits(model: nn.Module) -> Edits:
    """Return the edits of this thread in `model`; empty if the model is intact."""
    model = uncompiled(model)
    edits = (t.edits for t in reversed(_open_taps.get()) if t.edits is not None and t.root is model)
    return next(edits, Edits())


def _taps_of(module: nn.Module) -> list[_Tap]:
    """Return the open taps that watch a module, the innermost last."""
    return [open_tap for open_tap in _open_taps.get() if module in open_tap.sites]


def _edits_in_force(module: nn.Module) -> Edits | None:
    """Return the edits of the innermost tap of `module` that has edits."""
    edits = (t for t in reversed(_open_taps.get()) if t.edits is not None and module in t.sites)
    return next((t.edits for t in edits), None)


def pass_layer_by(module: nn.Module) -> None:
    """Count a layer that this pass skips; its attention module determines the stack."""
    for open_tap in _open_taps.get():
        if (site := open_tap.sites.get(module)) is not None:
            open_tap.next_layer[site.stack] = open_tap.next_layer.get(site.stack, 0) + 1


@contextmanager
def tap(
    model: nn.Module,
    on_layer: OnLayer,
    edits: Edits | None = None,
    on_long: OnLong | None = None,
    on_again: OnAgain | None = None,
    sites: Sequence[Site] | None = None,
) -> Iterator[None]:
    """Pass every attention layer of `model` to `on_layer` during forward passes in the block.

    The model may have any attention implementation, may be compiled, and may be in train mode.
    Weights in train mode would include dropout, so all modules are in eval mode in the block. The
    end of the block restores the model, even after an exception. Passes in other threads are not
    reported. They compute the same numbers, uncompiled and in eval mode.

    Args:
        model: Transformers model.
        on_layer: Callback with one `LayerAttention` per layer, in computation order; edited heads
            report their edited weights.
        edits: Replacements of head outputs in the block, also in taps inside the block; None keeps
            the current replacements.
        on_long: Callback for long inputs in place of `on_layer`, with one `LongAttention` per
            layer, which has no map.
        on_again: Callback for repeated calls to the attention function in one module run: the next
            token blocks, or the first map again.
        sites: Attention modules of `model`, if they are known; None searches for them.

    Raises:
        TypeError: The model has no attention module that can be tapped.
        ValueError: `on_long` was passed for a model that shows only its weights; or, in a forward
            pass, an edit is impossible. On a GPU, weights that do not follow from queries and keys
            are an error at the end of the block.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model()
        >>> inputs = model.tokenizer("The cat sat.", return_tensors="pt")
        >>> shapes = []
        >>> with tap(model.hf_model, lambda seen: shapes.append(tuple(seen.weights.shape))):
        ...     _ = model.hf_model(**inputs)
        >>> len(shapes), shapes[0]
        (6, (1, 12, 6, 6))
    """
    original, model = model, uncompiled(model)
    sites = list(sites) if sites is not None else find_sites(model)
    if not sites:
        raise TypeError(
            f"{type(model).__name__} has no softmax attention module to tap; attention can be read "
            "from transformers models whose layers compute softmax attention"
        )
    if on_long is not None and any(site.route == "functions" for site in sites):
        raise ValueError(
            f"{type(model).__name__} shows its attention weights alone, not what they follow from: "
            "its maps can only be read whole"
        )
    new = _Tap({site.module: site for site in sites}, on_layer, model, edits, on_long)
    new.on_again = on_again
    new.numbers = layer_numbers(model, sites)
    undo = ExitStack()
    with undone(undo.close):
        # Compiled code would skip the hooks, or trace them into itself.
        undo.enter_context(plain_forward(original))
        if any(site.route == "interface" for site in sites):
            _register()
            configs = _configs(model)
            new.config_keys = frozenset(map(id, configs))
            undo.enter_context(_named(configs, _NAME))
        parts = list(_whole_stacks(model, sites))
        new.options = forward_options(part for part, _ in parts)
        for part, stacks in parts:
            undo.enter_context(hooked([part], before=partial(new.start_pass, stacks)))
        undo.enter_context(
            hooked(new.sites, before=new.enter_module, after=new.leave_module, always=True)
        )
        undo.enter_context(undone(partial(_close, new)))
        _open_taps.set((*_open_taps.get(), new))
        if any(site.route == "functions" for site in sites):
            new.watch = FunctionWatch(new.hand_over, new, getattr(model, "config", None))
            undo.enter_context(new.watch)
        yield
        new.confirm()


def _tensors(named: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors with a batch axis among the arguments of a model."""
    return {
        name: value for name, value in named.items() if isinstance(value, Tensor) and value.ndim
    }


def _whole_stacks(model: nn.Module, sites: list[Site]) -> Iterator[tuple[nn.Module, set[str]]]:
    """Yield modules that may run separately, and the stacks whose layers they count from the start.

    These are the model, and each inner model with all layers of a stack: an encoder, a decoder, or
    the layers below the prediction head.
    """
    for part in all_modules(model):
        # Look at the class, because modules search all their parts for a missing attribute.
        if part is model or hasattr(type(part), "set_attn_implementation"):
            inner_modules = set(all_modules(part))
            outer_stacks = {site.stack for site in sites if site.module not in inner_modules}
            yield part, {site.stack for site in sites} - outer_stacks


def _register() -> None:
    """Register the attention and mask functions once, because they cannot be unregistered."""
    global _registered
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    with _registry_lock:
        if not _registered:
            type(ALL_ATTENTION_FUNCTIONS).register(_NAME, _attention)
            # Without a mask function of the same name, transformers passes no mask.
            type(ALL_MASK_ATTENTION_FUNCTIONS).register(_NAME, _mask)
            _registered = True


def _configs(model: nn.Module) -> list[Any]:
    """Return every config in `model` that names the attention function of its modules."""
    configs = {}
    for module in all_modules(model):
        if "config" not in vars(module) and not hasattr(type(module), "config"):
            continue
        config: Any = getattr(module, "config", None)
        if hasattr(config, _IMPLEMENTATION):
            configs[id(config)] = config
    return list(configs.values())


def implemented_as(model: nn.Module, name: str) -> AbstractContextManager[None]:
    """Run the attention of `model` with another implementation in the block."""
    return _named(_configs(uncompiled(model)), name)


def _named(configs: Iterable[object], name: str) -> AbstractContextManager[None]:
    return held(Hold(config, _IMPLEMENTATION, name) for config in configs)


def _original(config: object) -> str:
    """Return the implementation that a pass outside of all taps would use for `config`."""
    implementation = unheld(config, _IMPLEMENTATION) if hasattr(config, _IMPLEMENTATION) else None
    # A copy made inside a tap has the tap's own name.
    return "eager" if implementation in (None, _NAME) else str(implementation)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *args: Any,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """Run the model's eager attention function, and report its weights; registered by the tap."""
    taps = _taps_of(module)
    eager = _own_eager(module)
    implementation = _original(getattr(module, "config", None))
    if not taps:
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        function = ALL_ATTENTION_FUNCTIONS.get(implementation, eager)
        return function(module, query, key, value, attention_mask, *args, **kwargs)
    check_arguments(module, eager, kwargs, taps[-1].options)
    mask = with_selected_keys(module, query, key, attention_mask, kwargs)
    if taps[-1].on_long is not None:
        return _streamed(
            module, eager, taps, implementation, query, key, value, mask, *args, **kwargs
        )
    assert not isinstance(mask, LazyMask)  # Only long inputs have a lazy mask.
    masks = _Masks()
    if mask is not None:
        mask_arguments = (mask, implementation, query.dtype)
        masks = taps[-1].masks(mask_arguments, partial(_Masks.from_mask, *mask_arguments))
    if eager is None:
        raise TypeError(
            f"{type(module).__name__} has no eager attention function; its attention cannot be read"
        )
    computation, output = _eager_pass(module, eager, query, key, value, masks, *args, **kwargs)
    changes = taps[-1].changes(module)
    if changes is not None:
        computation, output = _edited(module, computation, output, changes)
        taps[-1].done(module, "weights")
        taps[-1].done(module, "outputs")
    for open_tap in taps:
        open_tap.hand_over(module, computation)
    return output, computation.weights


def _eager_pass(
    module: nn.Module,
    eager: Callable[..., tuple[Tensor, Tensor]],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    masks: _Masks,
    *args: Any,
    **kwargs: Any,
) -> tuple[Seen, Tensor]:
    """Return the attention of a layer by its eager function, and its output, [B, Q, H, Dv]."""
    if "output_attentions" in kwargs:
        kwargs["output_attentions"] = True  # Otherwise, some 4.x models drop their weights.
    upcast: Any = getattr(module, "_upcast_and_reordered_attn", None)
    # GPT-2 has a second eager attention: its product rounds differently, so weights recomputed from
    # large scores would differ.
    rounds_differently = upcast is not None and getattr(module, "reorder_and_upcast_attn", False)
    if rounds_differently:
        output, weights = upcast(query, key, value, masks.added)
    else:
        output, weights = eager(module, query, key, value, masks.added, *args, **kwargs)
    if masks.empty_rows is not None:
        # In torch's fused functions, a query without keys has no weights and the output 0.
        weights = weights.masked_fill(masks.empty_rows[..., None], 0)
        output = output.masked_fill(masks.empty_rows.transpose(1, 2)[..., None], 0)
    if rounds_differently:
        return Seen(weights, value=value, mask=masks.additive), output
    scaling = kwargs.get("scaling")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    return Seen(weights, query, key, value, scaling, masks.additive, kwargs), output


def _streamed(
    module: nn.Module,
    eager: Callable[..., tuple[Tensor, Tensor]] | None,
    taps: Sequence[_Tap],
    implementation: str,
    *args: Any,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Run the attention function over a long input, without whole maps."""
    if eager is None or getattr(module, "reorder_and_upcast_attn", False):
        raise ValueError(
            f"the attention of {type(module).__name__} cannot be read without whole maps"
        )
    if taps[-1].changes(module) is not None:
        raise ValueError(
            "heads cannot be switched off, and links cannot be scaled, over long inputs: pass a "
            "shorter input, or long=False"
        )
    innermost = taps[-1]
    output, items, agree = stream_layer(module, eager, implementation, *args, **kwargs)
    innermost.unconfirmed += [(module, answer) for answer in agree]
    for open_tap in taps:
        open_tap.hand_over_long(module, items)
    return output, None


def _edited(
    module: nn.Module, seen: Seen, output: Tensor, changes: LayerChanges
) -> tuple[Seen, Tensor]:
    """Return the edited attention of a layer, and its head outputs, [B, Q, H, Dv].

    Raises:
        ValueError: The outputs are not the weighted sums of the values.
    """
    with torch.no_grad():
        weighted_values, output = summed_values(seen).transpose(1, 2), output.detach()
    tolerance = _ROUNDING.get(weighted_values.dtype, 5e-2) * max(
        float(weighted_values.abs().max()), 1e-6
    )
    if (
        weighted_values.shape != output.shape
        or float((weighted_values - output).abs().max()) > tolerance
    ):
        raise ValueError(
            f"heads of {type(module).__name__} cannot be switched off: what they put out is not "
            "the sum of their values by their attention weights"
        )
    # Leave out queries and keys, because the edited weights do not follow from them.
    weights = changes.weights(seen.weights, seen.visible(), _sink_weights(module, seen))
    edited_layer = Seen(weights, value=seen.value, mask=seen.mask, kwargs=seen.kwargs)
    outputs = changes.outputs(summed_values(edited_layer))
    return edited_layer, outputs.transpose(1, 2).contiguous()


def _sink_weights(module: nn.Module, seen: Seen) -> Tensor | None:
    """Return each query's weight on the attention sink, [B, H, Q, 1]; None without a sink.

    The weights are float32, or float64 in a model of this type.
    """
    sinks: Any = seen.kwargs.get("s_aux", getattr(module, "sinks", None))
    if not isinstance(sinks, Tensor):
        return None
    assert seen.query is not None and seen.key is not None and seen.scaling is not None
    dtype = torch.promote_types(seen.query.dtype, torch.float32)
    exact = attention_weights(
        seen.query.to(dtype),
        seen.key.to(dtype),
        scaling=seen.scaling,
        mask=seen.mask,
        softcap=seen.kwargs.get("softcap"),
        position_bias=seen.kwargs.get("position_bias"),
        sinks=sinks,
    )
    return (1 - exact.sum(-1, keepdim=True)).clamp(min=0)


def _mask(*args: Any, **kwargs: Any) -> Any:
    """Return an additive mask in a tap, and the usual mask outside; registered by the tap."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask

    config = kwargs.get("config")
    taps = [t for t in _open_taps.get() if config is None or id(config) in t.config_keys]
    if taps and taps[-1].on_long is not None:
        return None if _hides_nothing(kwargs) else LazyMask.from_arguments(kwargs)
    if taps:
        mask = eager_mask(*args, **kwargs)
        if mask is None or _original(config) == "eager":
            return mask
        # The model's own mask is bool, and hides padding from queries that are padding.
        is_hidden = mask == torch.finfo(mask.dtype).min
        return mask.masked_fill(is_hidden.all(-1, keepdim=True), -torch.inf)
    function = ALL_MASK_ATTENTION_FUNCTIONS.get(_original(config), eager_mask)
    return function(*args, **kwargs)


def _hides_nothing(arguments: Mapping[str, Any]) -> bool:
    """Return whether a mask function would make a mask that hides no key.

    Some models add a mask to any mask they receive, so pass no mask.
    """
    window = arguments.get("local_size")
    return (
        bool(arguments.get("allow_is_bidirectional_skip"))
        and arguments.get("attention_mask") is None
        and (window is None or arguments["kv_length"] < window)
    )


def _own_eager(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]] | None:
    """Return the eager function that `module.forward` names, with its soft caps and sinks."""
    for base in type(module).__mro__:
        forward = vars(base).get("forward")
        if forward is not None:
            forward = inspect.unwrap(forward)
            for name in forward.__code__.co_names:
                if name.endswith("eager_attention_forward"):
                    return forward.__globals__.get(name)
    file = sys.modules.get(type(module).__module__)
    return getattr(file, "eager_attention_forward", None)
