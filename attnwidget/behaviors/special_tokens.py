"""Heads that attend to tokens without content: the first token, [CLS], [SEP], punctuation."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from attnwidget.behaviors.behavior import LinkBehavior, Need
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.token_counts import token_counts
from attnwidget.corpus.accumulator import Batch


class TokenClassBehavior(LinkBehavior):
    """Attention from all tokens to the tokens of a class.

    The metric `Classes` has the mean attention to a class without a control, and `Sinks` the
    attention to the first tokens of a text.

    Args:
        name: Name of the behavior.
        token_class: Name of the class, as in `Batch.classes`.
        description: Action of the heads with this name.
        source: Paper with the definition.
        needs: Required properties of the model.
    """

    resting = True
    family = "rests"
    control_name = "other tokens at the same offsets"

    def __init__(
        self,
        name: str,
        token_class: str,
        description: str,
        source: str = "Clark et al. 2019, 3.2",
        needs: frozenset[Need] = frozenset(),
    ) -> None:
        self.name = name
        self.description = description
        self.source = source
        self.needs = needs
        self._class = token_class

    def links(self, batch: Batch) -> Tensor:
        members = batch.classes[self._class]
        return members[:, None].expand(-1, members.shape[1], -1)


class Punctuation(TokenClassBehavior):
    """Attention to full stops and commas, compared with the most frequent other tokens.

    Full stops and commas are frequent, and some heads attend to frequent tokens of any kind. The
    control therefore only has the most frequent other tokens, up to the total number of full stops
    and commas in all texts.

    Args:
        frequent: Other tokens, as in the vocabulary; `prepare` sets them. None = all tokens.
    """

    control_name = "other frequent tokens at the same offsets"

    def __init__(self, frequent: Collection[str] | None = None) -> None:
        super().__init__("rests on punctuation", ". ,", "attends to full stops and commas")
        self._frequent = frequent

    def prepare(self, evidence: Evidence) -> Punctuation:
        if evidence.model.tokenizer is None:
            return self
        vocabulary = evidence.model.vocabulary
        special = {*evidence.model.tokenizer.all_special_tokens}
        marks = 0
        others = []
        for token, count in token_counts(evidence.segments).most_common():
            if vocabulary.readable(vocabulary.ids_of([token])[0]) in (".", ","):
                marks += count
            elif token not in special:
                others.append((token, count))
        frequent = set()
        total = 0
        for token, count in others:
            if total >= marks:
                break
            frequent.add(token)
            total += count
        return Punctuation(frozenset(frequent))

    def compared(self, batch: Batch) -> Tensor:
        if self._frequent is None:
            return batch.real
        keys = torch.zeros(batch.real.shape, dtype=torch.bool, device="cpu")
        for item, axis in enumerate(batch.tokens):
            keys[item, : len(axis)] = torch.tensor(
                [token in self._frequent for token in axis.raw], dtype=torch.bool, device="cpu"
            )
        return keys.to(batch.real.device)


BEHAVIORS = (
    TokenClassBehavior(
        "rests on the first token",
        "first token",
        "attends to the first token, an attention sink",
        "Xiao et al. 2024; Gu et al. 2025",
        frozenset({"causal"}),
    ),
    TokenClassBehavior(
        "rests on [CLS]", "[CLS]", "attends to [CLS]", needs=frozenset({"bidirectional"})
    ),
    TokenClassBehavior(
        "rests on [SEP]", "[SEP]", "attends to [SEP]", needs=frozenset({"bidirectional"})
    ),
    Punctuation(),
)
