"""Conversion of layers in blocks to layers over all tokens of their stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.maps.block_probe import BlockProbe, BlockTokens, LayerCall, NotInBlocks
from attnwidget.capture.maps.layer import Layer
from attnwidget.capture.maps.layer_blocks import BlockMaps, LayerBlocks
from attnwidget.capture.maps.layer_parts import part_of
from attnwidget.capture.maps.norm_maps import NormMaps
from attnwidget.capture.maps.skipped_layers import layer_of
from attnwidget.capture.maps.whole_maps import LONG_FROM
from attnwidget.capture.tapping.attention_sites import Site
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.capture.tapping.stack_names import is_cross


@dataclass(frozen=True, eq=False)
class _RecordedLayer:
    """A layer that a pass has recorded.

    Attributes:
        site: Attention module of the layer.
        call: Call of the layer.
        parts: Attention of each block; one block for a layer over all tokens.
    """

    site: Site
    call: LayerCall
    parts: list[Layer]


@dataclass(eq=False)
class BlockLayers:
    """Collector of one input's layers in blocks.

    Blocks are windows of a picture, or the tiles and pictures of one input, which a tower reads as
    batch entries.

    Attributes:
        hf_model: Model, uncompiled.
        sites: Attention modules of the model; empty if the pass reads no pictures or several
            inputs.
        probe: Finder of block tokens.
    """

    hf_model: nn.Module
    sites: Sequence[Site]
    probe: BlockProbe
    _calls: dict[nn.Module, LayerCall] = field(default_factory=dict)
    _recorded: dict[str, list[_RecordedLayer]] = field(default_factory=dict)
    _in_blocks: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record calls of picture-reading layers during the pass in the block."""
        layers: dict[nn.Module, list[nn.Module]] = {}
        for site in self.sites:
            if site.reads in ("picture", "") and not is_cross(site.stack):
                layers.setdefault(layer_of(self.hf_model, site), []).append(site.module)

        def note(layer: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
            for attention in layers[layer]:
                self._calls[attention] = LayerCall(layer, args, named)

        with hooked(layers, before=note):
            yield

    def has_call(self, module: nn.Module) -> bool:
        """Return whether the layer call around an attention module was recorded."""
        return module in self._calls

    def records(self, module: nn.Module) -> bool:
        """Return whether the layer of an attention module was recorded."""
        return any(
            layer.site.module is module
            for stack_layers in self._recorded.values()
            for layer in stack_layers
        )

    def add(self, module: nn.Module, stack: str, parts: Sequence[Layer]) -> None:
        """Record all batch entries of a layer, because the input's layers contain only the first.

        Args:
            module: Attention module of the layer.
            stack: Name of its stack.
            parts: Attention of each batch entry.
        """
        call = self._calls.pop(module, None)
        if call is None:
            return
        if len(parts) > 1 or call.n_tokens != parts[0].n_query:
            self._in_blocks.setdefault(stack, len(parts))
        site = next(site for site in self.sites if site.module is module)
        self._recorded.setdefault(stack, []).append(_RecordedLayer(site, call, list(parts)))

    def add_again(self, module: nn.Module, stack: str, parts: Sequence[Layer]) -> None:
        """Add the next blocks of the layer that was recorded last.

        Qwen2-VL attends to each picture, or to each window of a picture, in a separate call. If the
        blocks would have more entries than the layer has tokens, the call repeats a map and is
        ignored.

        Args:
            module: Attention module of the layer.
            stack: Name of its stack.
            parts: Attention of each block.
        """
        layers = self._recorded.get(stack)
        if not layers or layers[-1].site.module is not module:
            return
        layer = layers[-1]
        n_entries = sum(part.n_query for part in (*layer.parts, *parts))
        if n_entries <= layer.call.n_tokens:
            layer.parts.extend(parts)
            self._in_blocks[stack] = max(self._in_blocks.get(stack, 0), len(layer.parts))

    def finish(self, layers: dict[str, list[Layer]]) -> dict[str, tuple[int, str]]:
        """Replace layers in blocks by layers over all tokens.

        Args:
            layers: Layers of the input by stack, modified in place.

        Returns:
            Number of blocks and reason, for each stack whose blocks cannot be assigned to tokens.
        """
        reasons = {}
        for stack, n_blocks in self._in_blocks.items():
            if stack not in layers:
                continue
            try:
                layers[stack] = self._over_all_tokens(
                    self._recorded.get(stack, []), len(layers[stack])
                )
            except NotInBlocks as reason:
                if n_blocks > 1:
                    reasons[stack] = n_blocks, str(reason)
        self._recorded.clear()
        self._calls.clear()
        return reasons

    def _over_all_tokens(self, recorded: Sequence[_RecordedLayer], n_layers: int) -> list[Layer]:
        if len(recorded) < n_layers:
            raise NotInBlocks("the input of their layers is not known")
        block_tokens: list[BlockTokens | None] = []
        for layer in recorded:
            first = layer.parts[0]
            if any(part.n_query != part.n_key for part in layer.parts):
                raise NotInBlocks("their keys are not their tokens")
            is_whole = len(layer.parts) == 1 and layer.call.n_tokens == first.n_query
            sizes = tuple(part.n_query for part in layer.parts)
            block_tokens.append(None if is_whole else self.probe(layer.site, layer.call, sizes))
        counts = {layer.call.n_tokens for layer in recorded}
        if len(counts) > 1:
            raise NotInBlocks("they differ in their numbers of tokens")
        n_tokens = counts.pop()
        n_padding = max(tokens.n_padding for tokens in block_tokens if tokens is not None)
        layers: list[Layer] = []
        for layer, tokens in zip(recorded, block_tokens, strict=True):
            tokens_by_block = [np.arange(n_tokens)] if tokens is None else tokens.tokens
            if tokens is None and n_padding == 0:
                layers.append(layer.parts[0])
                continue
            blocks = LayerBlocks(tokens_by_block, n_tokens + n_padding, n_padding)
            layers.append(_layer_of_blocks(layer.parts, blocks, layers))
        return layers


def _layer_of_blocks(
    parts: Sequence[Layer], blocks: LayerBlocks, before: Sequence[Layer] = ()
) -> Layer:
    """Return a layer over all tokens from the layers of its blocks.

    Args:
        parts: Layer of each block.
        blocks: Tokens of each block.
        before: Layers made earlier, whose mask the layer shares if the masks are equal.
    """
    first = parts[0]
    n_tokens = blocks.n_tokens
    weights = BlockMaps(blocks, [part.weights for part in parts], first.n_heads)
    layer = Layer(
        n_heads=first.n_heads,
        n_key_heads=first.n_key_heads,
        n_query=n_tokens,
        n_key=n_tokens,
        weights=weights,
        mask=_mask(parts, blocks, before),
        blocks=blocks,
        by_rows=n_tokens > LONG_FROM or any(part.by_rows for part in parts),
    )
    if any(part.norms is None for part in parts):
        return layer
    norms = [part.norm_maps for part in parts]
    pairs = [part_norms.pairs for part_norms in norms if part_norms.pairs is not None]
    if len(pairs) == len(parts):
        return replace(layer, norms=NormMaps(weights, pairs=blocks.joined(pairs)))
    lengths = blocks.joined([part_norms.key_norms().T for part_norms in norms]).T
    return replace(layer, norms=NormMaps(weights, lengths=lengths))


def _mask(
    parts: Sequence[Layer], blocks: LayerBlocks, before: Sequence[Layer]
) -> Tensor | LazyRows:
    """Return the keys that each query may see, as bool [1 or H, T, T]."""
    n_masks = max(1 if part.mask is None else part.mask.shape[0] for part in parts)
    device = parts[0].weights.rows(slice(0, 1), [0], [0]).device

    def visible(rows: Index | None = None, keys: Index | None = None) -> Tensor:
        shape, cells = blocks.cells(rows, keys)
        is_visible = torch.zeros(n_masks, *shape, dtype=torch.bool, device=device)
        for number, row_positions, column_positions, queries, columns in cells:
            mask = part_of(parts[number].mask, slice(None), queries, columns)
            is_visible[:, row_positions[:, None], column_positions] = (
                True if mask is None else mask.to(is_visible)
            )
        return is_visible

    if blocks.n_tokens > LONG_FROM:
        return LazyRows(n_masks, visible)
    mask = visible()
    for earlier in before:
        if isinstance(earlier.mask, Tensor) and mask.equal(earlier.mask):
            return earlier.mask
    return mask
