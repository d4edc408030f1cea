"""One question to a model: its inputs, and where the output has the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attnwidget.capture.hub_model.answer_logits import answer_logits

#: Places of the first and the last token of a span.
Span = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Question:
    """One question to a model, and the position of the answer.

    Attributes:
        inputs: The model's inputs, a batch of one.
        row: The row of the logits with the answer; None for the class of an input, or for a span.
        spans: The spans of which one is the answer; None for words, labels and classes.
    """

    inputs: Mapping[str, Tensor]
    row: int | None
    spans: tuple[Span, ...] | None = None

    def logits(self, output: Any) -> Tensor:
        """Return the logits of a model's output: [k, n, V], or [k, V] if `row` is None."""
        return answer_logits(output) if self.spans is None else span_logits(output, self.spans)

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Log probabilities of all answers in k passes, [k, V] in nats.

        `logits` are [k, n, V], or [k, V] of a classifier.
        """
        row = logits if self.row is None else logits[:, self.row]
        return torch.log_softmax(row.float(), -1)


def span_logits(output: Any, spans: tuple[Span, ...]) -> Tensor:
    """Return the sums of the logits of the first and the last token of spans, [B, S]."""
    firsts, lasts = (list(places) for places in zip(*spans, strict=True))
    start: Tensor = output.start_logits.float()
    end: Tensor = output.end_logits.float()
    return start[:, firsts] + end[:, lasts]
