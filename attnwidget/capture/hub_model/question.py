"""One question to a model: its inputs, and where the logits have the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Question:
    """One question to a model, and the position of the answer.

    Attributes:
        inputs: The model's inputs, a batch of one.
        row: The row of the logits with the answer; None for a classifier, which has a single row.
    """

    inputs: Mapping[str, Tensor]
    row: int | None

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Log probabilities of all answers in k passes, [k, V] in nats.

        `logits` are [k, n, V], or [k, V] of a classifier.
        """
        row = logits if self.row is None else logits[:, self.row]
        return torch.log_softmax(row.float(), -1)
