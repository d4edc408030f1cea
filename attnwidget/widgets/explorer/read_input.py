"""How an explorer reads its input, with tokens that the model writes and a second text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.model import AttentionModel
from attnwidget.text.unspaced_scripts import is_unspaced
from attnwidget.widgets.explorer.given_text import WithMedia, given

#: Why an explorer without a model shows no other text.
NO_READER = "this explorer shows an attention without a model, and reads no other text"


def without_model(model: AttentionModel | None, attention: Attention) -> str:
    """Return the sentence of the page about what needs a model; "" if the explorer has one.

    Args:
        model: The model that reads texts, or None.
        attention: The shown attention, which may have a model of its own.
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
    """Return the largest number of tokens to write, which is read before any trait is set."""
    if number is not None and (not isinstance(number, int) or number < 1):
        raise traitlets.TraitError(
            f"'max_new_tokens' is a number of tokens from 1 on, or None; got {number!r}"
        )
    return number


def compared_with(
    model: AttentionModel,
    attention: Attention,
    texts: Mapping[str, Any],
    max_new_tokens: int | None,
) -> Attention:
    """Return the attention to compare with: of the second text, or of the second model."""
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
    """Whether an input can be read between words, and has words between spaces."""
    if attention.is_long:
        return False
    axis = next(iter(attention.stacks.values())).query
    if axis.places:
        parts = zip(axis.places, axis.special, strict=True)
        if all(place is not None or kind for place, kind in parts):
            return False  # patches of a picture alone are no words
    return not is_unspaced("".join(axis.added))


def without_empty(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with None in place of empty further texts."""
    return {name: text if name == "text" else text or None for name, text in texts.items()}


def attention_of(
    model: AttentionModel | None, texts: Mapping[str, Any], max_new_tokens: int | None
) -> Attention:
    """Return the attention of an input, and of the tokens that the model writes after it.

    Raises:
        ValueError: A text without a model; or as `AttentionModel.attend`.
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
            after = "pair" if texts["pair"] else "target"
            raise ValueError(
                f"the model writes after a single text, and {after!r} is given too: leave out "
                f"{after!r}, or set max_new_tokens=None"
            )
        return model.generate(text, max_new_tokens)
    if isinstance(text, Attention):
        return text
    options = {"target": texts["target"]} if texts["target"] else {}
    return model.attend(text, texts["pair"], **options)
