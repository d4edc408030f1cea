"""Words of an axis with their classes."""

from __future__ import annotations

from typing import NamedTuple

from attnwidget.text.tokens import Tokens
from attnwidget.text.word_classes import WordClass, plain_word, word_classes


class ClassifiedWord(NamedTuple):
    """A word of an axis.

    Attributes:
        text: The word in lower case; "" for punctuation and special tokens.
        kind: Class of the word, as in `word_classes`.
        tokens: Indices of the word's tokens.
    """

    text: str
    kind: WordClass
    tokens: tuple[int, ...]


def classified_words(axis: Tokens) -> list[ClassifiedWord]:
    """Return the words of an axis with their classes.

    Args:
        axis: Tokens of the axis.

    Example:
        >>> from attnwidget.text.classified_words import classified_words
        >>> from attnwidget.text.tokens import Tokens
        >>> classified_words(Tokens.plain(["[CLS]", "the", "cat", "##s", "[SEP]"]))[2]
        ClassifiedWord(text='cats', kind='content', tokens=(2, 3))
    """
    groups = axis.word_groups()
    texts = [
        plain_word("".join(axis.added[token] for token in group))
        if axis.special[group[0]] in ("", "first")
        else ""
        for group in groups
    ]
    kinds = word_classes(texts)
    return [
        ClassifiedWord(text, kind, tuple(group))
        for text, kind, group in zip(texts, kinds, groups, strict=True)
    ]
