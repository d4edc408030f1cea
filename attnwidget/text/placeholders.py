"""Check for annotation that is distributed with placeholders instead of words."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Universal Dependencies without text have "_" or as many underscores as the word has characters;
# CoNLL-2012 skeletons have "[WORD]".
_PLACEHOLDER = re.compile(r"_+|[\[<]words?[\]>]", re.IGNORECASE)
# Underscores with these tags are lines between paragraphs, or blanks in a form.
_MARKS = frozenset({"PUNCT", "SYM", "NFP", "HYPH", ".", ",", ":", "``", "''"})


def refuse_no_text(words: Sequence[str], label: str, tags: Sequence[str] = ()) -> None:
    """Raise ValueError if the words are placeholders, because the text may not be distributed.

    Some corpora replace the words but keep the punctuation.

    Args:
        words: Words of a sentence or document.
        label: Name of the sentence or document in the message.
        tags: Part-of-speech tags, which distinguish underscore lines from placeholders; empty = no
            tags.

    Raises:
        ValueError: The text is missing.

    Example:
        >>> from attnwidget.text.placeholders import refuse_no_text
        >>> refuse_no_text(["Name", ":", "____"], "sentence 3")
        >>> refuse_no_text(["_", "_", "."], "sentence 4")
        Traceback (most recent call last):
        ValueError: sentence 4 has no text: its words are placeholders such as '_'. Annotation ...
    """
    example = ""
    for index, word in enumerate(words):
        if _PLACEHOLDER.fullmatch(word):
            is_mark = tags[index] in _MARKS if tags and tags[index] else _is_line(words)
            example = example or ("" if is_mark else word)
        elif any(character.isalnum() for character in word):
            return
    if example:
        raise ValueError(
            f"{label} has no text: its words are placeholders such as {example!r}. Annotation is "
            "distributed in this form if the licence of the text does not allow more. Put the "
            "words back as the README of the treebank or corpus says, and load that file"
        )


def _is_line(words: Sequence[str]) -> bool:
    """Return whether a sentence without tags is a line of underscores between paragraphs."""
    return len(words) == 1 and len(words[0]) > 1 and set(words[0]) == {"_"}
