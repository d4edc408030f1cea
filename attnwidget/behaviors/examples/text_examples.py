"""Links of one text that the name of a head predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from attnwidget.behaviors.effects.known_rules import text_rules
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.example_results import OF_RULE
from attnwidget.behaviors.examples.rule_outcomes import rule_outcomes
from attnwidget.behaviors.link_rule import LinkRule, visible_keys
from attnwidget.behaviors.named_links import named_links
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.attention_reader import batch_of_tokens, ids_of
from attnwidget.kernels.causal import is_causal
from attnwidget.text.segments import Segment

# Largest number of tokens, because the maps of a whole layer are read.
_MOST_TOKENS = 512


@dataclass(frozen=True)
class TextExamples:
    """Links of one text that the name of a head predicts, in `HeadCard.in_text`.

    Attributes:
        links: Links by kind: "right", "wrong" and "missed", as in `HeadExamples.links`. Right and
            wrong links have the heaviest link first, missed links the lightest; links of equal
            percentage are in the order of the text. Strengths are NaN.
        n_predicted: Number of tokens with a predicted link.
        is_exact: Whether the tokens determine the links. A relation or the person of a pronoun
            needs a parse. Without it, every content word that the name may mean counts as
            predicted, so right links are only likely.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_atlas
        >>> attention = load_model().attend("The cat sat on the mat.")
        >>> found = demo_atlas().card("L0 H2", attention=attention).in_text
        >>> found.n_predicted, len(found.links["right"]), found.is_exact
        (8, 8, True)
    """

    links: Mapping[str, tuple[ExampleLink, ...]]
    n_predicted: int
    is_exact: bool

    @property
    def likelihood(self) -> str:
        """Word before the kind of a link: "likely " if the tokens do not determine the links."""
        return "" if self.is_exact else "likely "


def text_examples(
    attention: Attention, head: Head, name: str, own_rule: LinkRule | None = None
) -> TextExamples | None:
    """Return the links of a text that the name of a head predicts.

    Args:
        attention: Attention of a text.
        head: Head of the attention.
        name: Name of the head, or "".
        own_rule: Rule of the name, if the name is not one of the package.

    Returns:
        None if the tokens of the text do not say what the name predicts, the head is off, the
        attention has no map of the head, or the text has more than 512 tokens.
    """
    stack = attention.stacks.get(head.stack)
    if (
        not name
        or stack is None
        or stack.query != stack.key
        or len(stack.query) > _MOST_TOKENS
        or attention.media
        or not attention.has(head)
        or head in attention.disabled_heads
    ):
        return None
    tokens = stack.query
    batch = batch_of_tokens(tokens, Segment(tokens.raw), ids_of(tokens), {})
    layer = torch.from_numpy(np.nan_to_num(attention.weights(head.layer, stack=head.stack)))[None]
    causal = is_causal(layer, batch.real)
    if own_rule is not None:
        links = own_rule.visible_links(batch, causal=causal)
    else:
        known = named_links(tokens, [name])
        if name not in known:
            return None
        links = torch.from_numpy(known[name])[None]
        links = links.tril() if causal else links
    weights = layer[:, head.head : head.head + 1]
    resting = batch.classes["[CLS]"] | batch.classes["[SEP]"]
    outcomes = rule_outcomes(weights, links, resting, visible_keys(batch, causal=causal))
    found: dict[str, tuple[ExampleLink, ...]] = {}
    for kind, is_kind, keys in (
        ("right", outcomes.right, outcomes.top_keys),
        ("wrong", outcomes.wrong, outcomes.top_keys),
        ("missed", outcomes.missed, outcomes.predicted_keys),
    ):
        examples = [
            ExampleLink(tokens, 0, query, key, float(weights[0, 0, query, key]), float("nan"))
            for query in np.flatnonzero(is_kind[0, 0].numpy()).tolist()
            for key in [int(keys[0, 0, query])]
        ]
        # Links of equal percentage stay in the order of the text.
        examples.sort(key=lambda link: round(link.weight, 2), reverse=kind != "missed")
        found[kind] = tuple(examples)
    assert tuple(found) == OF_RULE
    return TextExamples(
        links=found,
        n_predicted=int(links[0].any(-1).sum()),
        is_exact=own_rule is not None or name in text_rules(),
    )
