"""Passages with coreference as a person writes them: brackets around mentions of the same thing."""

from __future__ import annotations

import re

from attnwidget.text.mentions import Document

_PART = re.compile(r"\[(\w+) |\]|\w+(?:['’]\w+)*|[^\w\s\[\]]")


def bracketed_passage(text: str, name: str = "") -> Document:
    """Return the document of a passage with brackets around its mentions.

    The label after an opening bracket is the cluster of the mention. Mentions may nest. Signs of
    punctuation are words of their own.

    Args:
        text: The passage in one line.
        name: Name of the document.

    Raises:
        ValueError: A bracket is not opened or not closed, or a mention has no word.

    Example:
        >>> from attnwidget.text.bracketed_passages import bracketed_passage
        >>> document = bracketed_passage("[a The captain] told [b [a his] men] a story.")
        >>> document.running.text
        'The captain told his men a story.'
        >>> [(" ".join(document.words[i] for i in m.words), m.cluster) for m in document.mentions]
        [('The captain', 'a'), ('his', 'a'), ('his men', 'b')]
    """
    where = name or "passage"
    words: list[str] = []
    space_after: list[bool] = []
    opened: list[tuple[int, str]] = []
    spans: list[tuple[int, int, str]] = []
    for part in _PART.finditer(text):
        written = part.group()
        if written.startswith("["):
            opened.append((len(words), part.group(1)))
        elif written == "]":
            if not opened:
                raise ValueError(f"{where}: a bracket closes at {text[part.start() :]!r:.40}")
            start, cluster = opened.pop()
            spans.append((start, len(words) - 1, cluster))
        else:
            words.append(written)
            following = text[part.end() :].lstrip("]")
            space_after.append(following[:1] in ("", " "))
    if opened:
        raise ValueError(f"{where}: the bracket of {opened[-1][1]!r} is not closed")
    starts = [i + 1 for i, word in enumerate(words[:-1]) if word in (".", "!", "?")]
    return Document.from_spans(
        words, spans, sentence_starts=[0, *starts], name=name, space_after=space_after
    )
