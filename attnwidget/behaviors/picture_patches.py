"""Heads in pictures: attention to patches at an offset, to [CLS] and to registers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from attnwidget.behaviors.behavior import Control, LinkBehavior, Reads
from attnwidget.corpus.accumulator import Batch
from attnwidget.text.patch_geometry import Patches

Steps = tuple[tuple[int, int], ...]


class PatchOffset(LinkBehavior):
    """Attention of a patch to patches at row and column offsets, compared with their neighbors.

    The metric `ImageOffsets` has the mean weight at every offset. There is no offset between
    patches of different pictures, or between tiles and the downscaled version of the whole picture.

    Args:
        name: Name of the behavior.
        description: Action of the heads with this name.
        steps: Offsets of the keys: rows down and columns to the right.
    """

    source = "Dosovitskiy et al. 2021, 4.5 and D.7; Cordonnier et al. 2020, 4"
    family = "neighbor"
    reads: ClassVar[Reads] = "pictures"
    control: ClassVar[Control] = "neighboring keys"

    def __init__(self, name: str, description: str, steps: Steps) -> None:
        self.name = name
        self.description = description
        self._steps = steps

    def links(self, batch: Batch) -> Tensor:
        n = batch.real.shape[1]
        links = np.zeros((len(batch.tokens), n, n), bool)
        for item, tokens in enumerate(batch.tokens):
            patches = Patches.from_regions(tokens.places)
            if not len(patches):
                continue
            raster, row, column = patches.rasters().T
            same = raster[:, None] == raster
            down, right = row - row[:, None], column - column[:, None]  # key minus query
            linked = np.zeros_like(same)
            for rows, columns in self._steps:
                linked |= same & (down == rows) & (right == columns)
            links[item][np.ix_(patches.tokens, patches.tokens)] = linked
        return torch.from_numpy(links).to(batch.real.device)


class AroundPatch(PatchOffset):
    """Attention of a patch to its eight neighbors, compared with links at the same offsets."""

    control: ClassVar[Control] = "same offsets"


class PictureToken(LinkBehavior):
    """Attention of all tokens of a picture to one kind of tokens without a position.

    Args:
        name: Name of the behavior.
        description: Action of the heads with this name.
        kind: Kind of token, as in `Tokens.special`.
        source: Paper with the definition.
    """

    resting = True
    family = "rests"
    control_name = "other tokens at the same offsets"
    reads: ClassVar[Reads] = "pictures"

    def __init__(self, name: str, description: str, kind: str, source: str) -> None:
        self.name = name
        self.description = description
        self.source = source
        self._kind = kind

    def links(self, batch: Batch) -> Tensor:
        members = [[kind == self._kind for kind in tokens.special] for tokens in batch.tokens]
        keys = torch.tensor(members, dtype=torch.bool, device=batch.real.device)
        return keys[:, None].expand(-1, keys.shape[1], -1)


_AROUND = tuple(
    (row, column) for row in (-1, 0, 1) for column in (-1, 0, 1) if (row, column) != (0, 0)
)

BEHAVIORS = (
    PatchOffset("patch itself", "attends to the patch itself", ((0, 0),)),
    PatchOffset("patch to the left", "attends to the patch to the left", ((0, -1),)),
    PatchOffset("patch to the right", "attends to the patch to the right", ((0, 1),)),
    PatchOffset("patch above", "attends to the patch above", ((-1, 0),)),
    PatchOffset("patch below", "attends to the patch below", ((1, 0),)),
    AroundPatch("patches around", "attends to the patches around", _AROUND),
    PictureToken(
        "rests on the class token",
        "attends to [CLS]",
        "cls",
        "Dosovitskiy et al. 2021; Caron et al. 2021",
    ),
    PictureToken("rests on registers", "attends to registers", "register", "Darcet et al. 2024, 3"),
)
