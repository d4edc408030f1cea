"""Heads that attend to tokens without content: the first token, [CLS], [SEP], punctuation."""

from __future__ import annotations

from torch import Tensor

from attnwidget.behaviours.behaviour import LinkBehaviour, Need
from attnwidget.corpus.accumulator import Batch


class TokenClassBehaviour(LinkBehaviour):
    """Attention to the tokens of a class, from all tokens.

    The metric `Classes` has the mean attention to a class without a control, and `Sinks` the
    attention to the first tokens of a text.

    Args:
        name: Name of the behaviour.
        token_class: Name of the class, as in `Batch.classes`.
        description: Action of the named heads.
        source: The paper with the definition.
        needs: Properties of the model.
    """

    resting = True
    family = "rests"

    def __init__(
        self,
        name: str,
        token_class: str,
        description: str,
        source: str = "Clark et al. 2019, 3.2",
        needs: frozenset[Need] = frozenset(),
    ) -> None:
        self.name = name
        self.said = f"rests on {name}"
        self.description = description
        self.source = source
        self.needs = needs
        self._class = token_class

    def links(self, batch: Batch) -> Tensor:
        members = batch.classes[self._class]
        return members[:, None].expand(-1, members.shape[1], -1)


BEHAVIOURS = (
    TokenClassBehaviour(
        "first token",
        "first token",
        "attends to the first token, an attention sink",
        "Xiao et al. 2024; Gu et al. 2025",
        frozenset({"causal"}),
    ),
    TokenClassBehaviour("[CLS]", "[CLS]", "attends to [CLS]", needs=frozenset({"bidirectional"})),
    TokenClassBehaviour("[SEP]", "[SEP]", "attends to [SEP]", needs=frozenset({"bidirectional"})),
    TokenClassBehaviour("punctuation", ". ,", "attends to full stops and commas"),
)
