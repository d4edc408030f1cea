"""A layer that computes attention in blocks: windows, tiles, or pictures of one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.maps.layer_parts import place_of
from attnwidget.capture.maps.map_source import MapSource
from attnwidget.capture.tapping.lazy_rows import Index

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LayerBlocks:
    """Positions of a layer's block entries among all tokens.

    A query attends to the keys of its own block only, and every other cell is masked.

    Attributes:
        tokens: Tokens of each block, int64. No token is in two blocks.
        n_tokens: Number of all tokens, T, with padding.
        n_padding: Number of padding tokens at the end: block entries without a token in the
            layer's input.
    """

    tokens: Sequence[Places]
    n_tokens: int
    n_padding: int = 0

    @cached_property
    def _homes(self) -> tuple[Places, Places]:
        """The block and the block entry of each token, int64 [T] each; -1 for no block."""
        block = np.full(self.n_tokens, -1, np.int64)
        entry = np.full(self.n_tokens, -1, np.int64)
        for number, tokens in enumerate(self.tokens):
            block[tokens] = number
            entry[tokens] = np.arange(len(tokens))
        return block, entry

    def cells(
        self, rows: Index | None, keys: Index | None
    ) -> tuple[tuple[int, int], list[tuple[int, Places, Places, list[int], list[int]]]]:
        """Return the numbers of rows and keys, and each block's part of them.

        Each part has the number of a block, its positions among the rows and among the keys, and
        the block entries that are queries and keys there.
        """
        block, entry = self._homes
        everything = np.arange(self.n_tokens)
        queries = everything[place_of(rows)]
        columns = everything[place_of(keys)]
        cells = []
        for number in np.unique(block[queries]).tolist():
            row_positions = np.flatnonzero(block[queries] == number)
            column_positions = np.flatnonzero(block[columns] == number)
            if number >= 0 and len(column_positions):
                pair = (
                    entry[queries[row_positions]].tolist(),
                    entry[columns[column_positions]].tolist(),
                )
                cells.append((number, row_positions, column_positions, *pair))
        return (len(queries), len(columns)), cells

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Return values for all tokens, [T, ...], from each block's values; 0 outside of blocks."""
        all_values = parts[0].new_zeros((self.n_tokens, *parts[0].shape[1:]))
        for part, tokens in zip(parts, self.tokens, strict=True):
            all_values[tokens] = part.to(all_values)
        return all_values


@dataclass(frozen=True, eq=False)
class BlockMaps:
    """Maps over all tokens that contain the maps of the blocks, and 0 elsewhere.

    Attributes:
        blocks: Tokens of each block.
        parts: Maps of each block.
        n_heads: Number of heads.
    """

    blocks: LayerBlocks
    parts: Sequence[MapSource]
    n_heads: int

    is_numpy = False
    products = None

    @property
    def keeps_maps(self) -> bool:
        """Whether the maps of at least one block are in memory."""
        return any(part.keeps_maps for part in self.parts)

    def rows(self, heads: slice, rows: Index | None = None, keys: Index | None = None) -> Tensor:
        """Return maps of consecutive heads, float32 [heads, Q or rows, K or keys]."""
        shape, cells = self.blocks.cells(rows, keys)
        n_heads = len(range(self.n_heads)[heads])
        maps = torch.zeros(n_heads, *shape, dtype=torch.float32, device=self._device)
        for number, row_positions, column_positions, queries, columns in cells:
            values = self.parts[number].rows(heads, queries, columns)
            maps[:, row_positions[:, None], column_positions] = values.to(maps)
        return maps

    @cached_property
    def _device(self) -> torch.device:
        cell: Tensor = self.parts[0].rows(slice(0, 1), [0], [0])
        return cell.device
