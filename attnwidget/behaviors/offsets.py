"""Positional heads: attention to the token at a fixed offset."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import Control, LinkBehavior
from attnwidget.corpus.accumulator import Batch

_NAMES = {
    -2: ("two tokens before", "attends to the token before the previous token"),
    -1: ("previous token", "attends to the token before"),
    0: ("current token", "attends to the token itself"),
    1: ("next token", "attends to the token after"),
    2: ("two tokens after", "attends to the token after the next token"),
}


class Offset(LinkBehavior):
    """Attention to the token at an offset, compared with the two tokens next to it.

    Voita et al. call a head positional if its largest weight is at one offset at least 90 % of the
    time. The metric `Position` has the mean attention to the offset without a control, and
    `clark_labels` uses the threshold of Clark et al.

    Args:
        offset: Offset from the query; negative offsets are before it.
    """

    source = "Clark et al. 2019, 3.1; Voita et al. 2019, 5.2"
    family = "neighbor"
    control: ClassVar[Control] = "neighboring keys"

    def __init__(self, offset: int) -> None:
        self._offset = offset
        default = (f"offset {offset:+d}", f"attends to the token at the offset {offset:+d}")
        self.name, self.description = _NAMES.get(offset, default)

    def links(self, batch: Batch) -> Tensor:
        positions = torch.arange(batch.real.shape[1], dtype=torch.long, device=batch.real.device)
        at_offset = positions[None, :] - positions[:, None] == self._offset
        return at_offset.expand(len(batch.real), -1, -1)


BEHAVIORS = tuple(Offset(offset) for offset in _NAMES)
