"""Word classes: pronouns, content words and function words."""

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
#: A text counts as English if at least this share of its words is in the lists.
_ENGLISH = 0.2
#: Largest number of letters in a function word, for languages without a word list.
_SHORT = 3


def word_classes(words: Sequence[str]) -> list[WordClass]:
    """Return the class of each word in a text; "" for words without letters and digits.

    In an English text, pronouns and function words come from lists, and a single letter is a
    function word. A text counts as English if a fifth of its words are in the lists. In other
    languages with upper and lower case, words of up to three letters are function words: most
    articles, prepositions and pronouns in European languages are short, and few nouns and verbs
    are. In scripts without case, such as Chinese or Arabic, all words are content words, because
    word length says little about the class.

    Args:
        words: Words, with or without surrounding spaces and punctuation.

    Example:
        >>> from attnwidget.text.word_classes import word_classes
        >>> word_classes(["The", "nurse", "said", "she", "slept", "."])
        ['function', 'content', 'content', 'pronoun', 'content', '']
        >>> word_classes(["Die", "Ärztin", "kam", "aus", "Wien"])
        ['function', 'content', 'function', 'function', 'content']
    """
    plain_words = [plain_word(word) for word in words]
    nonempty = [word for word in plain_words if word]
    in_lists = [word for word in nonempty if word in _CLASSES]
    is_english = bool(nonempty) and len(in_lists) >= _ENGLISH * len(nonempty)
    return [_class_of(word, is_english) for word in plain_words]


def plain_word(word: str) -> str:
    """Return a word in lower case, with only its letters, digits and apostrophes.

    Args:
        word: Word, with or without surrounding spaces and punctuation.

    Example:
        >>> from attnwidget.text.word_classes import plain_word
        >>> plain_word(" “Tom’s,"), plain_word(" … ")
        ('tom’s', '')
    """
    plain = "".join(
        character for character in word.lower() if character.isalnum() or character in "'’"
    )
    return plain if any(character.isalnum() for character in plain) else ""


def _class_of(word: str, is_english: bool) -> WordClass:
    if not word:
        return ""
    if is_english:
        return _CLASSES.get(word, "function" if len(word) == 1 else "content")
    has_case = any(character.upper() != character.lower() for character in word)
    return "function" if has_case and len(word) <= _SHORT else "content"
