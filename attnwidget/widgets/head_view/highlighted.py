"""Positions of highlighted words on the axes of a map."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.text.tokens import Tokens


def highlighted(stack: Stack, unit: str, words: Sequence[str]) -> dict[str, list[int]]:
    """Return the positions of words among the queries and keys of a stack.

    Args:
        stack: Stack with the axes.
        unit: Unit of the positions, "tokens" or "words".
        words: Words to look for; upper and lower case are the same.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.head_view.highlighted import highlighted
        >>> stack = load_model().attend("The cat saw the dog.").stacks["self"]
        >>> highlighted(stack, "tokens", ["the"])
        {'query': [1, 4], 'key': [1, 4]}
    """
    folded_words = {word.casefold() for word in words}
    return {
        "query": _positions(stack.query, unit, folded_words),
        "key": _positions(stack.key, unit, folded_words),
    }


def _positions(tokens: Tokens, unit: str, wanted: set[str]) -> list[int]:
    positions = [k for k, word in enumerate(tokens.to_words().text) if word.casefold() in wanted]
    if unit == "words" or not positions:
        return positions
    groups = tokens.word_groups()
    return [i for k in positions for i in groups[k]]
