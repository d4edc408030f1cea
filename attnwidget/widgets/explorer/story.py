"""What makes a map readable: the tokens to lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.resting_places import resting_places
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.wire.values import in_unit, masked_map


def telling_tokens(
    attention: Attention, head: Head, unit: str = "tokens", mask: str | None = None
) -> tuple[tuple[str, int], ...]:
    """Return the tokens to lock, as (side, index), so that the map of a head tells something.

    The locked token is the query of the largest weight from a word to another word. The next
    prediction of a causal model depends on the last word, which is therefore locked in a causal
    map. In a text that the model wrote, the locked token is the query of its last step. A masked
    model predicts the mask token, which is therefore locked in a text with a mask. Tokens on which
    much attention rests do not count. Nothing is locked in a long input.

    Args:
        attention: The attention.
        head: The attention head.
        unit: "tokens" or "words".
        mask: The mask token, as the vocabulary spells it; None = the model has none.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.story import telling_tokens
        >>> attention = load_model().attend("The captain told his men that he would not leave.")
        >>> telling_tokens(attention, Head(1, 3))
        (('query', 7),)
    """
    if attention.is_long:
        return ()
    axes = in_unit(attention, unit).stacks[head.stack]
    weights = np.nan_to_num(masked_map(attention, "weights", head, unit))
    hidden = resting_places(attention).kinds
    asking, answering = (
        words_of(axis) & ~np.isin(axis.special, hidden) for axis in (axes.query, axes.key)
    )
    if mask in axes.query.raw:
        return (("query", axes.query.raw.index(str(mask))),)
    allowed = asking[:, None] & answering
    if head.stack != "cross":
        owners = _owners(axes.query)
        allowed &= np.not_equal.outer(owners, owners)
        if is_causal(attention, head) and asking.any():
            is_generated = attention.n_prompt is not None and unit == "tokens"
            # The last token of a generated text is written from the token before it.
            last = len(asking) - 2 if is_generated else int(np.flatnonzero(asking)[-1])
            return (("query", last),)
    if not (allowed & (weights > 0)).any():
        return ()
    query, _ = np.unravel_index(np.where(allowed, weights, -1).argmax(), weights.shape)
    return (("query", int(query)),)


def words_of(axis: Tokens) -> NDArray[np.bool_]:
    """Return which tokens belong to words, bool [n]: no [CLS], [SEP], padding or punctuation."""
    return np.array(
        [
            kind in ("", "first") and any(sign.isalnum() for sign in text)
            for text, kind in zip(axis.text, axis.special, strict=True)
        ],
        bool,
    )


def is_causal(attention: Attention, head: Head) -> bool:
    """Whether no token of a head's map sees the tokens after it."""
    visible = attention.visible(head.layer, head.head, stack=head.stack)
    return visible is not None and len(visible) > 1 and not np.triu(visible, 1).any()


def _owners(axis: Tokens) -> NDArray[np.int64]:
    """Return the number of each token's word, so that pieces of a word are no link."""
    owners = np.zeros(len(axis), np.int64)
    for word, group in enumerate(axis.word_groups()):
        owners[group] = word
    return owners
