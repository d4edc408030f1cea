"""Figure of several heads, each with texts and chosen words of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from attnwidget.behaviors.gallery.gallery_result import (
    TIMES_EVEN,
    GalleryText,
    HeadGallery,
    HeadPanel,
    Side,
)
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.argument_checks import all_of, one_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.place_of_token import TokenName, listed_tokens, place_of_token
from attnwidget.text.tokens import Tokens

MOST_WORDS = 60
"""Largest number of words in a text, as in a `HeadView` with lines."""
_PANELS = "pass HeadPanel(head, attentions, words), or the panels of relation_panels"


@in_plain_torch
@says_cuts
def head_gallery(panels: Iterable[HeadPanel], *, min_weight: float = 0.03) -> HeadGallery:
    """Return a figure of several heads, each with texts and chosen words of its own.

    This is Figure 5 of Clark et al. (2019). `relation_panels` makes the panels of the best heads of
    dependency relations, with sentences in which the head is right.

    Args:
        panels: Heads with their texts and words, in drawing order.
        min_weight: Smallest weight of a drawn link, 0 to 1. A link is also left out below 1.5
            times the even share, which is 1 / the number of words that the word can see.

    Raises:
        TypeError: If `panels` is not a list of `HeadPanel`s, or a panel has no attentions.
        ValueError: If there are no panels, a panel has no texts or not one entry of `words` for
            each text, a head or a word does not exist, a text has more than 60 words, the models
            differ, or `min_weight` is not from 0 to 1.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import head_gallery
        >>> from attnwidget.results import HeadPanel
        >>> model = load_model()
        >>> captain = model.attend("The captain told his men that he would wait.")
        >>> woman = model.attend("The woman opened the door.")
        >>> panels = [
        ...     HeadPanel("L1 H3", [captain], [["his", "he"]], name="pronoun to its person"),
        ...     HeadPanel("L2 H8", [woman], [[1, 4]], name="determiner to its noun"),
        ... ]
        >>> gallery = head_gallery(panels)
        >>> gallery.chart(width=480).width
        464
    """
    listed = all_of(HeadPanel, panels, _PANELS)
    if not listed:
        raise ValueError(f"there are no panels: {_PANELS}")
    if isinstance(min_weight, bool) or not 0 <= min_weight <= 1 or not math.isfinite(min_weight):
        raise ValueError(f"min_weight must be a weight from 0 to 1, got {min_weight!r}")
    texts = []
    heads = []
    for panel in listed:
        one_of("side", panel.side, ("query", "key"))
        attentions = all_of(Attention, panel.attentions, "pass [model.attend(text)]")
        words = list(panel.words) if not isinstance(panel.words, str) else [panel.words]
        if not attentions or len(words) != len(attentions):
            raise ValueError(
                f"{panel.head}: words has one entry for each text, got {len(words)} for "
                f"{len(attentions)} texts: HeadPanel(head, [attention], [['his', 'he']])"
            )
        partners = [None] * len(attentions) if panel.partners is None else list(panel.partners)
        if len(partners) != len(attentions):
            raise ValueError(
                f"{panel.head}: partners has one entry for each text, got {len(partners)} for "
                f"{len(attentions)} texts"
            )
        head = attentions[0].head(panel.head)
        heads.append(head)
        texts.append(
            tuple(
                _text(attention, head, chosen, chosen_partners, panel.side, min_weight)
                for attention, chosen, chosen_partners in zip(
                    attentions, words, partners, strict=True
                )
            )
        )
    models = dict.fromkeys(one.model_name for panel in listed for one in panel.attentions)
    if len(models) > 1:
        raise ValueError(
            f"the heads of a gallery belong to one model, got {', '.join(models)}: make a gallery "
            "for each model"
        )
    return HeadGallery(
        tuple(heads),
        tuple(panel.name for panel in listed),
        tuple(panel.label for panel in listed),
        tuple(panel.side for panel in listed),
        tuple(texts),
        float(min_weight),
        tuple(dict.fromkeys(panel.scored_on for panel in listed if panel.scored_on)),
        model_name=next(iter(models)),
    )


def _text(
    attention: Attention,
    head: Head,
    chosen: TokenName | Iterable[TokenName],
    partners: TokenName | Iterable[TokenName] | None,
    side: Side,
    min_weight: float,
) -> GalleryText:
    """Return the words and the map of one text."""
    layer, number, stack = attention.head(head)
    axes = attention.words.stacks[stack]
    axis = axes.query if side == "query" else axes.key
    if max(len(axes.query), len(axes.key)) > MOST_WORDS:
        raise ValueError(
            f"a text of a gallery has at most {MOST_WORDS} words, got "
            f"{max(len(axes.query), len(axes.key))}: pass a shorter text, or use HeadView"
        )
    weights = attention.words.weights(layer, number, stack=stack)
    visible = attention.words.visible(layer, number, stack=stack)
    n_visible = len(axes.key) if visible is None else np.maximum(1, visible.sum(-1))
    other_side: Side = "key" if side == "query" else "query"
    other_axis = axes.key if side == "query" else axes.query
    return GalleryText(
        axes.query.text,
        axes.key.text,
        tuple(map(bool, axes.query.special)),
        tuple(map(bool, axes.key.special)),
        _positions(side, chosen, axis),
        weights,
        np.maximum(np.full(len(weights), TIMES_EVEN / n_visible), min_weight),
        None if partners is None else _positions(other_side, partners, other_axis),
    )


def _positions(side: Side, words: TokenName | Iterable[TokenName], axis: Tokens) -> tuple[int, ...]:
    """Return the positions of words on an axis, each once."""
    names = listed_tokens(words)[0]
    return tuple(dict.fromkeys(place_of_token(side, name, axis, "the text") for name in names))
