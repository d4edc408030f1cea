"""Classes of the words of a text: pronouns, words of content, and function words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

WordClass = Literal["pronoun", "content", "function", ""]

_PRONOUNS = (
    "he she it they him her them his hers its their i you we me us my your our himself herself "
    "itself themselves"
)
_FUNCTION_WORDS = (
    "the a an of to in on at by for with from and or but that this as if because until not no so "
    "is was were are be been had has have did do would could should will can may all then when "
    "while who which what there"
)
_CLASSES: dict[str, WordClass] = {
    **dict.fromkeys(_FUNCTION_WORDS.split(), "function"),
    **dict.fromkeys(_PRONOUNS.split(), "pronoun"),
}
#: A text is taken as English if at least this share of its words is in the lists.
_ENGLISH = 0.2
#: Number of letters of the longest word of an alphabet that counts as a function word.
_SHORT = 3


def word_classes(words: Sequence[str]) -> list[WordClass]:
    """Return the class of each word of a text; "" for signs without letters and digits.

    In an English text, lists tell pronouns and function words, and a single letter is a function
    word. A text is English if a fifth of its words are in the lists. In other languages with an
    alphabet, words of up to three letters are function words: most articles, prepositions and
    pronouns of European languages are short, and few nouns and verbs are. In scripts without upper
    and lower case, such as Chinese or Arabic, all words are words of content, because the number of
    characters says little there.

    Args:
        words: The words, with or without spaces and marks around them.

    Example:
        >>> from attnwidget.text.word_classes import word_classes
        >>> word_classes(["The", "nurse", "said", "she", "slept", "."])
        ['function', 'content', 'content', 'pronoun', 'content', '']
        >>> word_classes(["Die", "Ärztin", "kam", "aus", "Wien"])
        ['function', 'content', 'function', 'function', 'content']
    """
    lowered = [plain_word(word) for word in words]
    written = [word for word in lowered if word]
    listed = [word for word in written if word in _CLASSES]
    is_english = bool(written) and len(listed) >= _ENGLISH * len(written)
    return [_class_of(word, is_english) for word in lowered]


def plain_word(word: str) -> str:
    """Return a word in lower case, with its letters, digits and apostrophes alone.

    Example:
        >>> from attnwidget.text.word_classes import plain_word
        >>> plain_word(" “Tom’s,"), plain_word(" … ")
        ('tom’s', '')
    """
    kept = "".join(sign for sign in word.lower() if sign.isalnum() or sign in "'’")
    return kept if any(sign.isalnum() for sign in kept) else ""


def _class_of(word: str, is_english: bool) -> WordClass:
    if not word:
        return ""
    if is_english:
        return _CLASSES.get(word, "function" if len(word) == 1 else "content")
    has_case = any(sign.upper() != sign.lower() for sign in word)
    return "function" if has_case and len(word) <= _SHORT else "content"
