"""A layer that computes its attention in blocks: windows, tiles, or pictures of one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.maps.input_length import LONG_FROM
from attnwidget.capture.maps.layer_parts import part_of, place_of
from attnwidget.capture.tapping.lazy_rows import Index, LazyRows
from attnwidget.kernels.array_library import Array

Places = NDArray[np.int64]


class BlockPart(Protocol):
    """The part of a `KeptLayer` that the layer of a block has."""

    @property
    def n_heads(self) -> int: ...

    @property
    def n_key_heads(self) -> int: ...

    @property
    def mask(self) -> Array | LazyRows | None: ...

    @property
    def is_streamed(self) -> bool: ...

    @property
    def keeps_weights(self) -> bool: ...

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Array: ...

    def value_norms(self) -> Tensor: ...

    def summed_norms(self) -> Tensor: ...

    def with_gradients(self, magnitudes: Tensor) -> BlockPart: ...


@dataclass(frozen=True, eq=False)
class LayerBlocks:
    """The blocks of a layer, and the place of each of their entries among all tokens.

    A query attends to the keys of its own block alone. The map over all tokens has the maps of the
    blocks in it, and every other cell is masked.

    Attributes:
        parts: The attention of each block.
        tokens: For each block the token of each of its entries, int64. No token is in two blocks.
        n_tokens: Number of all tokens, T, with padding.
        n_padding: Number of the last tokens that stand for padding: entries of blocks that are no
            token of the layer's input.
    """

    parts: Sequence[BlockPart]
    tokens: Sequence[Places]
    n_tokens: int
    n_padding: int = 0

    @property
    def is_long(self) -> bool:
        """Whether there are too many tokens for whole maps."""
        return self.n_tokens > LONG_FROM or any(part.is_streamed for part in self.parts)

    @cached_property
    def n_masks(self) -> int:
        """Number of heads with a mask of their own; 1 if all heads see the same keys."""
        return max(1 if part.mask is None else part.mask.shape[0] for part in self.parts)

    @cached_property
    def _homes(self) -> tuple[Places, Places]:
        """The block of each token and its entry in this block, int64 [T] each; -1 for no block."""
        block = np.full(self.n_tokens, -1, np.int64)
        entry = np.full(self.n_tokens, -1, np.int64)
        for number, tokens in enumerate(self.tokens):
            block[tokens] = number
            entry[tokens] = np.arange(len(tokens))
        return block, entry

    def _cells(
        self, rows: Index | None, keys: Index | None
    ) -> tuple[tuple[int, int], list[tuple[BlockPart, Places, Places, list[int], list[int]]]]:
        """Return numbers of rows and keys, and the parts of each block among them.

        Each part is a block, its places among the rows and among the keys, and its entries that are
        queries and keys there.
        """
        block, entry = self._homes
        everything = np.arange(self.n_tokens)
        queries = everything[place_of(rows)]
        columns = everything[place_of(keys)]
        cells = []
        for number in np.unique(block[queries]).tolist():
            down = np.flatnonzero(block[queries] == number)
            across = np.flatnonzero(block[columns] == number)
            if number >= 0 and len(across):
                pair = entry[queries[down]].tolist(), entry[columns[across]].tolist()
                cells.append((self.parts[number], down, across, *pair))
        return (len(queries), len(columns)), cells

    def maps(
        self, quantity: str, heads: slice, rows: Index | None = None, keys: Index | None = None
    ) -> Tensor:
        """Return maps over all tokens, float32 [heads, rows, keys], 0 outside of the blocks.

        Args:
            quantity: "weights", "norms" or "gradients".
            heads: The heads.
            rows: The queries; None = all.
            keys: The keys; None = all.
        """
        shape, cells = self._cells(rows, keys)
        n_heads = len(range(self.parts[0].n_heads)[heads])
        maps = torch.zeros(n_heads, *shape, dtype=torch.float32, device=self._device)
        for part, down, across, queries, columns in cells:
            values = part.maps(quantity, heads, queries, columns)
            maps[:, down[:, None], across] = values.to(maps)
        return maps

    def visible(self, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """Return which keys each query may see, bool [1 or H, rows, keys]."""
        shape, cells = self._cells(rows, keys)
        seen = torch.zeros(self.n_masks, *shape, dtype=torch.bool, device=self._device)
        for part, down, across, queries, columns in cells:
            mask = part_of(part.mask, slice(None), queries, columns)
            seen[:, down[:, None], across] = True if mask is None else mask.to(seen)
        return seen

    def value_norms(self) -> Tensor:
        """Return ||f(x_j)|| of every head and key, [H, T]; 0 for a token in no block."""
        norms = torch.zeros(
            self.parts[0].n_heads, self.n_tokens, dtype=torch.float32, device=self._device
        )
        for part, tokens in zip(self.parts, self.tokens, strict=True):
            norms[:, tokens] = part.value_norms().to(norms)
        return norms

    def summed_norms(self) -> Tensor:
        """Return ||sum over heads of a f(x)||, [T, T], 0 outside of the blocks."""
        shape = (self.n_tokens, self.n_tokens)
        norms = torch.zeros(shape, dtype=torch.float32, device=self._device)
        for part, tokens in zip(self.parts, self.tokens, strict=True):
            norms[tokens[:, None], tokens] = part.summed_norms().to(norms)
        return norms

    def with_gradients(self, magnitudes: Tensor) -> LayerBlocks:
        """Return the blocks with |dL/da|, [blocks, H, Q, K]."""
        pairs = zip(self.parts, magnitudes, strict=True)
        return replace(self, parts=[part.with_gradients(values) for part, values in pairs])

    @cached_property
    def _device(self) -> torch.device:
        found: Tensor = self.parts[0].maps("weights", slice(0, 1), [0], [0])
        return found.device
