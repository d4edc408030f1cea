"""Base classes of behaviors: a name, a source, and the data that a score needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from torch import Tensor

from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.corpus.accumulator import Batch, LayerBatch

if TYPE_CHECKING:
    from attnwidget.behaviors.evidence import Evidence

Need = Literal["causal", "bidirectional", "pairs", "treebank", "documents", "circuits"]
#: Inputs for which a behavior has a score.
Reads = Literal["texts", "pictures", "both"]
Control = Literal["same offsets", "neighboring keys"]
Family = Literal["neighbor", "grammar", "pronoun", "same word", "rests", ""]


class Behavior(ABC):
    """A kind of attention head with a score and a control.

    Attributes:
        name: Name of the behavior. A head gets this name if its score exceeds the control.
        description: Action of the heads with this name, as the rest of a sentence, for example
            "attends to the token before".
        source: Paper or program with the definition.
        needs: Properties of the model and data that the score requires. "causal" and
            "bidirectional" are kinds of models. "pairs" are inputs of two texts. "treebank" means
            sentences with dependency trees, and "documents" means documents with coreference.
            "circuits" means W_V and W_O between the stream and the vocabulary.
        resting: Whether heads fall back on this behavior if their function does not apply, as with
            attention to [SEP] (Clark et al. 2019, 3.2). A resting behavior names a head only if no
            other behavior names it.
        names_heads: Whether the behavior names heads. Otherwise it has scores, but no p-values.
        reads: Inputs for which the behavior has a score: "texts", where neighbors form a line;
            "pictures", where tokens have positions in two dimensions; or "both".
        family: Group of behaviors with the same color in figures; "" = no group.
    """

    name: str
    description: str
    source: str
    needs: frozenset[Need] = frozenset()
    resting: ClassVar[bool] = False
    names_heads: ClassVar[bool] = True
    reads: ClassVar[Reads] = "texts"
    family: Family = ""

    def gives_name(self, name: str) -> bool:
        """Return whether this behavior gives heads this name."""
        return name == self.name

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        """Return the links of a text that a sentence may describe by a name, bool [B, n, n].

        Return None if the tokens alone do not determine these links.

        Args:
            name: Name that this behavior gives to heads.
            batch: Texts without annotations.
        """
        return None

    def prepare(self, evidence: Evidence) -> Behavior:
        """Return the behavior with the statistics it needs from all texts; usually itself."""
        return self


class LinkBehavior(Behavior, LinkRule):
    """A behavior that predicts links from the tokens of an input; subclasses define `links`.

    The score is the attention from a query to its predicted keys, averaged over the queries with a
    predicted link and then over texts. The control is the attention to other keys, one for each
    predicted link:

    - "same offsets": the mean over the other visible pairs of the text at the same offset, in
      multiples of even attention. For keys that later queries also see, the control is predicted
      by a fit of offsets, keys and even attention to the other pairs. A head that attends to a
      single token therefore has no excess;
    - "neighboring keys": the mean over the keys before and after the predicted key.

    Links without such pairs are excluded from score and control.

    Attributes:
        control: Method that selects the other pairs.

    Example:
        >>> import torch
        >>> from attnwidget.behaviors import LinkBehavior
        >>> class ToFirstHalf(LinkBehavior):
        ...     name = "first half"
        ...     description = "attends to the first half of the text"
        ...     source = "this example"
        ...     def links(self, batch):
        ...         places = torch.arange(batch.real.shape[1], device=batch.real.device)
        ...         first = places < batch.lengths[:, None] / 2
        ...         return first[:, None].expand(-1, len(places), -1)
        >>> ToFirstHalf().control
        'same offsets'
    """

    control: ClassVar[Control] = "same offsets"

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        return self.visible_links(batch, causal=False)

    @property
    def control_name(self) -> str:
        """Description of the control."""
        pairs = {
            "same offsets": "other links at the same offsets and to the same tokens",
            "neighboring keys": "the tokens beside the predicted token",
        }
        return pairs[self.control]

    def compared(self, batch: Batch) -> Tensor:
        """Return the keys of the control pairs, bool [B, n]; all tokens by default."""
        return batch.real


class MapBehavior(Behavior):
    """A behavior with one number per map that is not the mass on predicted links.

    Attributes:
        control_name: Description of the control.
    """

    control_name: str

    @abstractmethod
    def numbers(self, layer: LayerBatch, *, causal: bool) -> tuple[Tensor, Tensor]:
        """Return score and control of each map of a layer, [B, H] each."""
