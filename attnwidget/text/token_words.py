"""The word of each token, for words that are read as running text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


def token_words(words: Sequence[str], offsets: Iterable[tuple[int, int]]) -> list[int]:
    """Return the word, from 0, of each token of `" ".join(words)`.

    A token belongs to the word of its first character. The space between two words belongs to the
    second word, as in vocabularies that mark the beginning of words. A word may contain spaces.

    `offsets` has the first character and the end of each token in the joined text (the offset
    mapping of a fast tokenizer, which refers to the original text).

    Example:
        >>> from attnwidget.text.token_words import token_words
        >>> token_words(["do", "n't", "x"], [(0, 2), (2, 4), (4, 6), (6, 7), (7, 8)])
        [0, 1, 1, 2, 2]
    """
    # The next word begins after this word and one space.
    ends = list(accumulate(len(word) + 1 for word in words))
    owners = []
    for start, _ in offsets:
        word = bisect_right(ends, start)
        if word < len(ends) and start == ends[word] - 1:
            word += 1
        owners.append(min(word, len(ends) - 1))
    return owners


def words_without_tokens(owners: Iterable[int | None], n_words: int) -> list[int]:
    """Return the words, from 0, that have no token in `owners`, the word of each token.

    Example:
        >>> from attnwidget.text.token_words import words_without_tokens
        >>> words_without_tokens([None, 0, 0, 2, None], 3)
        [1]
    """
    return sorted(set(range(n_words)) - set(owners))
