"""Beginning of an input that is too long for a model."""

from __future__ import annotations

from collections.abc import Mapping

from attnwidget.capture.model import AttentionModel


def can_be_shortened(model: AttentionModel, texts: Mapping[str, str | None]) -> bool:
    """Return True if an input can be shortened, for which the tokenizer must report offsets."""
    return bool(getattr(model.tokenizer, "is_fast", False)) and not texts.get("target")


def shortened(model: AttentionModel, texts: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return an input that is shortened to the number of words that the model can read.

    Args:
        model: Model with a fast tokenizer.
        texts: Input by name: "text", "pair", "versus_text".

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.shortened_text import shortened
        >>> texts = shortened(load_model(), {"text": "word " * 600})
        >>> len(texts["text"].split())
        510
    """
    pair = texts.get("pair")
    short = dict(texts)
    if texts.get("versus_text"):
        short["versus_text"], _ = _beginning(model, str(texts["versus_text"]), pair)
    short["text"], short["pair"] = _beginning(model, str(texts["text"]), pair)
    return short


def _beginning(model: AttentionModel, text: str, pair: str | None) -> tuple[str, str | None]:
    """Return the words of both sentences that fit into the model's limit."""
    assert model.tokenizer is not None
    encoding = model.texts.encoded(
        text, pair or None, max_tokens=model.length_limit.tokens
    ).encoding
    ends = [0, 0]
    offsets = zip(encoding["offset_mapping"], encoding.sequence_ids(), strict=True)
    for (_, end), sequence in offsets:
        if sequence is not None:
            ends[sequence] = max(ends[sequence], end)
    return _whole_words(text, ends[0]), _whole_words(pair, ends[1]) if pair else pair


def _whole_words(text: str, end: int) -> str:
    """Return the text up to a character, without a word that would be cut there."""
    if end >= len(text):
        return text
    beginning = text[:end]
    if not text[end].isspace() and len(beginning.split()) > 1:
        beginning = beginning.rsplit(None, 1)[0]
    return beginning.rstrip()
