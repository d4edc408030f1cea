"""Reading of an explorer's input, with generated tokens and a second text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.model import AttentionModel
from attnwidget.text.unspaced_scripts import is_unspaced
from attnwidget.widgets.explorer.given_text import WithMedia, given

#: Reason why an explorer without a model cannot show another text.
NO_READER = "this explorer shows an attention without a model, and reads no other text"


def without_model(model: AttentionModel | None, attention: Attention) -> str:
    """Return a sentence about the functions that need a model; "" if the explorer has a model.

    Args:
        model: Model that reads texts, or None.
        attention: Current attention, which may have its own model.
    """
    if model is not None:
        return ""
    if attention.intact.reading is not None:
        return "This explorer was opened without a model, so it reads no other text."
    return (
        "This attention comes without its model, so heads cannot be switched off, predictions are "
        "unknown, and no other text can be read."
    )


def checked_max_tokens(number: Any) -> int | None:
    """Return the maximum number of generated tokens, or raise TraitError if it is invalid."""
    if number is not None and (not isinstance(number, int) or number < 1):
        raise traitlets.TraitError(
            f"'max_new_tokens' must be an integer >= 1 or None, got {number!r}"
        )
    return number


def compared_with(
    model: AttentionModel,
    attention: Attention,
    texts: Mapping[str, Any],
    max_new_tokens: int | None,
) -> Attention:
    """Return the attention to compare with, of the second text or the second model.

    Args:
        model: Model that reads the text.
        attention: Attention of the explorer.
        texts: Input of the explorer by name.
        max_new_tokens: Maximum number of generated tokens; None = do not generate.

    Raises:
        ValueError: If an input is long, or if the attentions cannot be compared.
    """
    texts = {**texts, "text": texts["versus_text"] or texts["text"]}
    other = attention_of(model, texts, max_new_tokens)
    if attention.is_long or other.is_long:
        longest = max(len(compared.tokens) for compared in (attention, other))
        raise ValueError(
            "the explorer compares every head at once, in the grid, from whole maps, and an input "
            f"of {longest:,} tokens is read without them: shorten the text, or compare one head "
            "with HeadView(attention, versus=other)"
        )
    refuse_incomparable(attention.stacks, other.stacks)
    return other


def has_words(attention: Attention) -> bool:
    """Return True if an input has whole maps and words that are separated by spaces."""
    if attention.is_long:
        return False
    axis = next(iter(attention.stacks.values())).query
    if axis.places:
        parts = zip(axis.places, axis.special, strict=True)
        if all(place is not None or kind for place, kind in parts):
            return False  # The input has only picture patches, which are not words.
    return not is_unspaced("".join(axis.added))


def without_empty(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with None in place of empty texts, except for the first text."""
    return {name: text if name == "text" else text or None for name, text in texts.items()}


def attention_of(
    model: AttentionModel | None, texts: Mapping[str, Any], max_new_tokens: int | None
) -> Attention:
    """Return the attention of an input, including generated tokens.

    Args:
        model: Model that reads the input; None for an attention without a model.
        texts: Input by name.
        max_new_tokens: Maximum number of generated tokens; None = do not generate.

    Raises:
        ValueError: If there is a text but no model, or if `AttentionModel.attend` raises it.
    """
    text = given(texts["text"])
    if model is None:
        if isinstance(text, Attention):
            return text
        raise ValueError(f"{NO_READER}: explore(model, text) reads a text")
    if isinstance(text, WithMedia):
        return text.attention(model, texts["target"], max_new_tokens)
    if max_new_tokens is not None:
        if texts["pair"] or texts["target"]:
            name = "pair" if texts["pair"] else "target"
            raise ValueError(
                f"the model writes after a single text, and {name!r} is given too: leave out "
                f"{name!r}, or set max_new_tokens=None"
            )
        return model.generate(text, max_new_tokens)
    if isinstance(text, Attention):
        return text
    options = {"target": texts["target"]} if texts["target"] else {}
    return model.attend(text, texts["pair"], **options)
