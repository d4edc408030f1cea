"""Layers of every input in a batch, from one forward pass, without padding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attnwidget.capture.answers.losses import Loss, LossTask
from attnwidget.capture.maps.block_layers import BlockLayers
from attnwidget.capture.maps.block_probe import BlockProbe
from attnwidget.capture.maps.given_maps import GivenMaps
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_blocks import BlockMaps
from attnwidget.capture.maps.layer_from_pass import (
    SharedTensors,
    all_agree,
    cut_map,
    streamed_layer,
    whole_layer,
)
from attnwidget.capture.maps.layer_parts import part_of
from attnwidget.capture.maps.layer_steps import layer_done
from attnwidget.capture.maps.lower_layers import LowerLayers
from attnwidget.capture.maps.patch_probe import PIXELS
from attnwidget.capture.maps.readable_stacks import (
    attends_apart,
    half_input_error,
    leave_out_unreadable,
)
from attnwidget.capture.maps.whole_maps import (
    LONG_FROM,
    can_read_rows,
    reads_rows,
)
from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.gradients import LayerGradient
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.numbered_layers import layer_numbers
from attnwidget.capture.tapping.projection import Projections
from attnwidget.capture.tapping.stack_names import is_cross, is_tower
from attnwidget.capture.tapping.tap import LayerAttention, LongAttention, tap
from attnwidget.inputs.model_tensors import (
    TEXTS,
    ModelBatch,
    input_names,
    is_of_text,
)
from attnwidget.model_facts.plain_forward import uncompiled

_TWICE = "run twice, once in each direction between two sequences, so their maps are of two kinds"
_NOT_SHOWN = "the {} is not shown: its attention is local or sparse, without whole maps"


class _LimitReached(Exception):  # noqa: N818  it stops a pass and never reaches a caller
    """Signal that a layer reads too many tokens for whole maps.

    Attributes:
        length: Number of tokens that the layer reads.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(f"a layer reads {length} tokens")


class Collected:
    """Layers of every input in a batch, recorded in a forward pass.

    Layers need memory for queries and keys, or for the weights if these do not follow from queries
    and keys. If the pass reads rows, no whole map is ever made, and each layer also needs two
    numbers per query and head, a norm per key and head, and thumbnails.

    Args:
        hf_model: Transformers model.
        batch: Inputs of the pass.
        options: Further arguments of the model.
        projections: Output projections of the model.
        block_probe: Finder of the tokens in layers with blocks.
        long: Whether layers are computed some rows at a time; None does so for long inputs only.
        lower: Layers below the edits that are already known; None runs every layer.

    Attributes:
        items: Layers of each input by stack.
        no_norms: Reason why there are no norms; "" if there are norms.
        not_shown: Note about stacks without a map over all tokens, such as the encoders of LED and
            LongT5, and about towers that read a picture in tiles; "" if all stacks have maps.
        numbers: Numbers of the layers in hybrid stacks.
        output: Output of the model.
        by_rows: Whether the layers were read row by row, without a whole map.

    Raises:
        ValueError: The model shows no maps, its layers have maps of different shapes, or
            `reads_rows` refuses the batch.
    """

    def __init__(
        self,
        hf_model: Any,
        batch: ModelBatch,
        options: Mapping[str, Any],
        projections: Projections,
        block_probe: BlockProbe,
        *,
        long: bool | None = None,
        lower: LowerLayers | None = None,
    ) -> None:
        self.by_rows = reads_rows(hf_model, batch, long)
        self._lower = lower
        self._batch = batch
        self._block_probe = block_probe
        self._hf_model = uncompiled(hf_model)
        self._model = type(hf_model).__name__
        inputs = batch.tensors
        positions = batch.real_positions("attention_mask")
        target_positions = batch.real_positions("decoder_attention_mask")
        external_positions = batch.real_positions("encoder_attention_mask")
        # Without a text, the mask covers samples or frames. Few models have a token per frame.
        mask = inputs.get("attention_mask")
        is_text_mask = mask is None or not inputs.keys().isdisjoint(TEXTS)
        self._frames = None if is_text_mask or mask is None else (positions, mask.shape[-1])
        # Positions of the queries and of the keys in each stack. Cross-attention within one stack
        # reads external states.
        decodes = "decoder_input_ids" in inputs
        unpadded: list[Tensor | None] = [None] * batch.n_inputs
        self._positions = {
            "self": (positions, positions),
            "encoder": (positions, positions),
            "decoder": (target_positions, target_positions) if decodes else (positions, positions),
            "cross": (target_positions, positions) if decodes else (positions, external_positions),
        }
        sites = find_sites(self._hf_model)
        reads_only_text = all(map(is_of_text, inputs))
        for site in sites:
            # Vision and audio towers have no text mask.
            is_text_mask = site.reads == "text" or (reads_only_text and not site.reads)
            queries = positions if is_text_mask and site.queries else unpadded
            keys = unpadded if is_cross(site.stack) else queries
            self._positions.setdefault(site.stack, (queries, keys))
        # The number of tokens in a picture or a sound is known only when a layer reads them.
        may_be_long = long is None and not self.by_rows
        whole_to = max(LONG_FROM, batch.text_length) if may_be_long else None
        length = None
        try:
            stacks_run = self._read(hf_model, options, projections, sites, whole_to=whole_to)
        except _LimitReached as limit_error:
            length = limit_error.length
        if length is not None:
            self._lower = None
            self.by_rows = can_read_rows(hf_model, batch, length)
            stacks_run = self._read(hf_model, options, projections, sites)
        if not all_agree(self._shared):
            # Read again: some layers do not follow from queries and keys, and their maps are gone.
            stacks_run = self._read(hf_model, options, projections, sites, at_once=True)
        if len(stacks_run) < len(sites):
            current_sites = find_sites(self._hf_model)
            if {site.module for site in current_sites} != {site.module for site in sites}:
                # BigBird replaces its sparse attention by full attention when an input is short.
                sites = current_sites
                projections = Projections(hf_model)
                stacks_run = self._read(hf_model, options, projections, sites, at_once=True)
        stacks_without_maps = self._hidden(stacks_run)
        left_out_note = leave_out_unreadable(self.items, self._unreadable, self._hf_model, sites)
        self._refuse_partly_hidden(stacks_without_maps)
        without_maps = (_NOT_SHOWN.format(stack) for stack in dict.fromkeys(stacks_without_maps))
        self.not_shown = ", ".join(filter(None, [*without_maps, left_out_note]))
        self.numbers = layer_numbers(self._hf_model, sites)
        self.no_norms = self._projections.refused
        if self.no_norms:
            for stacks in self.items:
                for layers in stacks.values():
                    layers[:] = [replace(layer, norms=None) for layer in layers]
        if self._lower is not None:
            self.items[0]["self"][: len(self._lower.unedited)] = self._lower.unedited

    def _read(
        self,
        hf_model: Any,
        options: Mapping[str, Any],
        projections: Projections,
        sites: Sequence[Site],
        *,
        at_once: bool = False,
        whole_to: int | None = None,
    ) -> dict[nn.Module, str]:
        """Fill `items` in one forward pass; return the attention modules that ran, with stacks.

        `_LimitReached` ends the pass if a layer reads more than `whole_to` tokens.

        On a GPU, `all_agree` returns afterwards whether the weights of all layers follow from
        queries and keys, unless `at_once` checks every layer immediately.
        """
        n_inputs = self._batch.n_inputs
        if self.by_rows and "logits_to_keep" in input_names(hf_model):
            # The predictions for every token would need more memory than all layers.
            options = {"logits_to_keep": 1, **options}
        self.items: list[dict[str, list[Layer]]] = [{} for _ in range(n_inputs)]
        self._shared = [SharedTensors(agreed=None if at_once else []) for _ in range(n_inputs)]
        self._shown: set[nn.Module] = set()
        self._unreadable: dict[str, str] = {}
        self._latest: nn.Module | None = None
        self._projections = projections
        pictures = n_inputs == 1 and not self._batch.tensors.keys().isdisjoint(PIXELS)
        self._blocks = BlockLayers(self._hf_model, sites if pictures else (), self._block_probe)
        stacks = {site.module: site.stack for site in sites}
        stacks_run: dict[nn.Module, str] = {}
        if self._lower is not None:
            stacks_run |= {module: stacks[module] for module in self._lower.passed}
            self._shown |= stacks_run.keys()
            for stack in dict.fromkeys(stacks_run.values()):
                self.items[0][stack] = list(self._lower.maps[: self._lower.first])

        def note(module: nn.Module, *_: Any) -> None:
            stacks_run[module] = stacks[module]

        def measure(_: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            if whole_to is not None:
                _refuse_longer(whole_to, n_inputs, [*args, *named.values()])

        with (
            hooked(stacks, before=measure, after=note),
            torch.no_grad(),
            projections.checking(),
            self._blocks.watching(),
            tap(
                hf_model,
                self._keep,
                on_long=self._keep if self.by_rows else None,
                on_again=self._keep_again if n_inputs == 1 else None,
                sites=sites,
            ),
        ):
            run = partial(hf_model, **self._batch.tensors, **options)
            try:
                self.output = run() if self._lower is None else self._lower.run(run)
            except (AttributeError, TypeError, ValueError) as error:
                clearer_error = half_input_error(error, self._hf_model, self._batch.tensors, sites)
                if clearer_error is None:
                    raise
                raise clearer_error from error
        for stack, (n_blocks, why) in self._blocks.finish(self.items[0]).items():
            self._unreadable[stack] = attends_apart(n_blocks, n_inputs, self._batch.tensors, why)
        return stacks_run

    def _keep(self, seen: LayerAttention | LongAttention) -> None:
        self._shown.add(seen.module)
        runs_twice = seen.module is self._latest and is_cross(seen.stack)
        self._latest = seen.module
        n_parts = seen.n_inputs
        if n_parts != self._batch.n_inputs and not self._blocks.has_call(seen.module):
            self._unreadable[seen.stack] = attends_apart(
                n_parts, self._batch.n_inputs, self._batch.tensors
            )
        elif runs_twice:
            self._unreadable[seen.stack] = _TWICE
        if seen.stack in self._unreadable:
            for stacks in self.items:
                stacks.pop(seen.stack, None)
            return
        self._projections.see(seen)
        layers = self._layers(seen, *self._positions_of(seen))
        self._blocks.add(seen.module, seen.stack, layers)
        for stacks, layer in zip(self.items, layers, strict=False):
            stacks.setdefault(seen.stack, []).append(layer)
        layer_done()

    def _keep_again(self, seen: LayerAttention | LongAttention) -> None:
        if self._blocks.records(seen.module):
            no_positions: list[Tensor | None] = [None] * seen.n_inputs
            self._blocks.add_again(
                seen.module, seen.stack, self._layers(seen, no_positions, no_positions)
            )

    def _layers(
        self,
        seen: LayerAttention | LongAttention,
        queries: Sequence[Tensor | None],
        keys: Sequence[Tensor | None],
    ) -> list[Layer]:
        """Return the layer of each input for some queries and keys; None = all of them."""
        if isinstance(seen, LongAttention):
            lengths = self._projections.value_norms(seen)
            if lengths is None:
                return list(map(streamed_layer, seen.items))
            return list(map(streamed_layer, seen.items, lengths))
        pairs = self._projections.value_products(seen)
        n_query, n_key = seen.weights.shape[-2:]
        return [
            whole_layer(
                seen,
                item,
                self._matching(queries[item], n_query),
                self._matching(keys[item], n_key),
                self._shared[min(item, self._batch.n_inputs - 1)],
                pairs,
            )
            for item in range(seen.n_inputs)
        ]

    def _positions_of(
        self, seen: LayerAttention | LongAttention
    ) -> tuple[Sequence[Tensor | None], Sequence[Tensor | None]]:
        """Return each input's query and key positions without padding; None = all positions."""
        # A tower may read a sequence that was computed from the text.
        reads_other = is_tower(seen.stack) and seen.n_query != self._batch.first_length
        if reads_other or seen.n_inputs != self._batch.n_inputs:
            return [None] * seen.n_inputs, [None] * seen.n_inputs
        return self._positions[seen.stack]

    def add_gradients(
        self, task: LossTask, gradients: Sequence[LayerGradient], values: Tensor
    ) -> list[Loss]:
        """Store |dL/da| of every layer, and return the loss of every input; `values` are [B]."""
        for entry in gradients:
            queries, keys = self._positions[entry.stack]
            for item, stacks in enumerate(self.items):
                if entry.stack not in stacks:
                    continue
                numbers = self.numbers.get(entry.stack)
                index = entry.layer if numbers is None else numbers.place(entry.layer)
                layer = stacks[entry.stack][index]
                if layer.blocks is not None and len(layer.blocks.tokens) != len(entry.values):
                    raise ValueError(
                        f"the {entry.stack!r} layers of {self._model} attend to each picture or "
                        "window in a call of its own, and gradients are known of single calls "
                        "alone: leave out `loss`"
                    )
                magnitudes = entry.values.abs()
                if layer.blocks is None:
                    magnitudes = cut_map(
                        magnitudes[item],
                        self._matching(queries[item], entry.values.shape[-2]),
                        self._matching(keys[item], entry.values.shape[-1]),
                    )
                stacks[entry.stack][index] = _with_gradients(layer, magnitudes)
        losses = []
        for item, value in enumerate(values.tolist()):
            masked = None if task.selected is None else task.selected[item]
            if (
                masked is not None
                and (own_positions := self._positions["self"][0][item]) is not None
            ):
                masked = masked[own_positions]
            positions = () if masked is None else tuple(masked.nonzero()[:, 0].tolist())
            losses.append(Loss(task.name, value, positions))
        return losses

    def _hidden(self, ran: Mapping[nn.Module, str]) -> list[str]:
        """Return the stack of each layer that ran without a map over all tokens."""
        # A module around the attention of a layer, or inside it, is not itself a layer.
        layers = {part for module in self._shown for part in module.modules()}
        stacks_without_maps = [
            stack
            for module, stack in ran.items()
            if module not in layers and self._shown.isdisjoint(module.modules())
        ]
        for stack in dict.fromkeys(stacks_without_maps):
            if is_tower(stack) and stack in self.items[0]:
                for stacks in self.items:
                    stacks.pop(stack)
        return stacks_without_maps

    def _refuse_partly_hidden(self, hidden: Sequence[str]) -> None:
        """Raise ValueError if only some layers of a stack have maps over all tokens."""
        for stack in dict.fromkeys(hidden):
            if stack in self.items[0]:
                count = hidden.count(stack)
                total = count + len(self.items[0][stack])
                raise ValueError(
                    f"{count} of the {total} {stack!r} layers of {self._model} computed no "
                    "attention map over all tokens: their attention is local or sparse; a stack "
                    "can be read if all of its layers have such maps"
                )

    def _matching(self, positions: Tensor | None, length: int) -> Tensor | None:
        """Return `positions` if they fit an axis of this length, otherwise None."""
        if positions is None or int(positions[-1]) >= length:
            return None
        if self._frames is not None and any(
            item_positions is positions for item_positions in self._frames[0]
        ):
            return positions if length == self._frames[1] else None
        return positions


def _refuse_longer(limit: int, n_inputs: int, arguments: Iterable[object]) -> None:
    """Raise `_LimitReached` if an attention module receives states of more than `limit` tokens.

    The number of patches or frames is unknown until the model has made them. Most modules receive
    states [B, n, d]; some receive [n, B, d], or the tokens of all pictures as [n, d].

    Args:
        limit: Largest number of tokens.
        n_inputs: Number of inputs in the batch, B.
        arguments: Arguments of the module; the first floating-point tensor contains the states.

    Raises:
        _LimitReached: There are more tokens.
    """
    for argument in arguments:
        if not isinstance(argument, Tensor) or not argument.is_floating_point():
            continue
        sizes = list(argument.shape[:-1])
        if n_inputs in sizes:
            sizes.remove(n_inputs)
        length = max(sizes, default=1)
        if length > limit:
            raise _LimitReached(length)
        return


def _with_gradients(layer: Layer, magnitudes: Tensor) -> Layer:
    """Return a layer with |dL/da|, set to 0 where the layer's mask hides a key.

    Args:
        layer: Layer of the maps.
        magnitudes: Magnitudes |dL/da|, [H, Q, K]; for a layer in blocks, [blocks, H, Q, K].
    """
    if layer.blocks is not None:
        parts = []
        for part, tokens in zip(magnitudes, layer.blocks.tokens, strict=True):
            visible = part_of(layer.mask, slice(None), tokens.tolist(), tokens.tolist())
            parts.append(GivenMaps(part if visible is None else part.masked_fill(~visible, 0)))
        return replace(layer, gradients=BlockMaps(layer.blocks, parts, layer.n_heads))
    if isinstance(layer.mask, Tensor):
        magnitudes = magnitudes.masked_fill(~layer.mask, 0)
    return replace(layer, gradients=GivenMaps(magnitudes))
