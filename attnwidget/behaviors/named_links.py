"""Links of a text that the names of heads refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.registry import known_behaviors
from attnwidget.corpus.attention_reader import batch_of_tokens, ids_of
from attnwidget.text.segments import Segment
from attnwidget.text.tokens import Tokens


def named_links(
    tokens: Tokens, names: Iterable[str], unit: str = "tokens"
) -> Mapping[str, NDArray[np.bool_]]:
    """Return the links of a text that each name may refer to, bool [n, n].

    The result has no entry for names that need more than tokens, such as relations of a parse.

    Args:
        tokens: Tokens of the text, with n tokens or words.
        names: Names that an atlas gives to heads.
        unit: "tokens" or "words". Two words are linked if any of their tokens are.

    Example:
        >>> from attnwidget.behaviors.named_links import named_links
        >>> from attnwidget.text.tokens import Tokens
        >>> tokens = Tokens.plain(["[CLS]", "the", "cat", "sat", "[SEP]"])
        >>> links = named_links(tokens, ["determiner to its noun", "object to its verb"])
        >>> links["determiner to its noun"].nonzero(), len(links)
        ((array([1, 1]), array([2, 3])), 1)
    """
    batch = batch_of_tokens(tokens, Segment(tokens.raw), ids_of(tokens), {})
    groups = tokens.word_groups() if unit == "words" else [[i] for i in range(len(tokens))]
    links_by_name = {}
    for name in names:
        behavior = next((one for one in known_behaviors() if one.gives_name(name)), None)
        links = None if behavior is None else behavior.likely_links(name, batch)
        if links is not None:
            token_links = links[0].cpu().numpy()
            rows = np.stack([token_links[group].any(0) for group in groups])
            links_by_name[name] = np.stack([rows[:, group].any(1) for group in groups], 1)
    return links_by_name
