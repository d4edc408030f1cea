"""Rules that predict the links of a head from the tokens of an input."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from attnwidget.corpus.accumulator import Batch


class LinkRule(ABC):
    """A rule that predicts from the tokens which keys a kind of head attends to.

    Attributes:
        name: Name of the kind of head, for example "previous token".

    Example:
        >>> from attnwidget.behaviors.link_rule import LinkRule
        >>> class ToItself(LinkRule):
        ...     name = "to itself"
        ...     def links(self, batch):
        ...         return batch.real[:, :, None] & torch.eye(batch.real.shape[1], dtype=torch.bool)
    """

    name: str

    @abstractmethod
    def links(self, batch: Batch) -> Tensor:
        """Return the predicted links of a batch, bool [B, n, n]; rows are queries."""

    def visible_links(self, batch: Batch, *, causal: bool) -> Tensor:
        """Return the predicted links between tokens that can attend to each other, bool [B, n, n].

        Args:
            batch: Batch of inputs.
            causal: Whether to remove links to later tokens.
        """
        links = self.links(batch) & batch.real[:, :, None] & batch.real[:, None]
        return links.tril() if causal else links


def visible_keys(batch: Batch, *, causal: bool) -> Tensor:
    """Return the number of keys that each query sees, float32 [B, n]; at least 1."""
    n = batch.real.shape[1]
    if causal:
        return torch.arange(1.0, n + 1, dtype=torch.float32, device=batch.real.device).expand_as(
            batch.real
        )
    return batch.lengths[:, None].float().expand_as(batch.real)
