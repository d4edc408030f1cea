"""Assignment of tokens to words, for words that are read as running text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate


def token_words(
    words: Sequence[str], offsets: Iterable[tuple[int, int]], space_after: Sequence[bool] = ()
) -> list[int]:
    """Return the word index, from 0, of each token of a text.

    A token belongs to the word of its first character. The space between two words belongs to the
    second word, as in vocabularies that mark the beginning of words. A word may contain spaces.

    Args:
        words: Words of the text.
        offsets: First character and end of each token in the text (the offset mapping of a fast
            tokenizer, which refers to the original text).
        space_after: For each word, whether a space follows it; empty = spaces between all words.

    Example:
        >>> from attnwidget.text.token_words import token_words
        >>> token_words(["do", "n't", "x"], [(0, 2), (2, 4), (4, 6), (6, 7), (7, 8)])
        [0, 1, 1, 2, 2]
        >>> token_words(["do", "n't"], [(0, 2), (2, 5)], [False, True])
        [0, 1]
    """
    starts = _word_starts(words, space_after)
    last = len(words) - 1
    owners = []
    for start, _ in offsets:
        word = bisect_right(starts, start) - 1
        in_space_after = start >= starts[word] + len(words[word])
        owners.append(min(word + in_space_after, last))
    return owners


def shared_token(
    words: Sequence[str], offsets: Iterable[tuple[int, int]], space_after: Sequence[bool] = ()
) -> tuple[int, int, int] | None:
    """Return the index, first word and last word of the first token that spans several words.

    Return None if no token spans several words. The arguments are the same as in `token_words`.

    Example:
        >>> from attnwidget.text.token_words import shared_token
        >>> shared_token(["does", "n't"], [(0, 5), (5, 7)], [False, True])
        (0, 0, 1)
    """
    offsets = list(offsets)
    starts = _word_starts(words, space_after)
    owners = token_words(words, offsets, space_after)
    for token, ((start, end), first) in enumerate(zip(offsets, owners, strict=True)):
        last = bisect_right(starts, end - 1) - 1
        if end > start and last > first:
            return token, first, last
    return None


def _word_starts(words: Sequence[str], space_after: Sequence[bool]) -> list[int]:
    """Return the position of each word's first character in the text."""
    spaces = space_after or (True,) * len(words)
    sizes = (len(word) + space for word, space in zip(words, spaces, strict=True))
    return list(accumulate(sizes, initial=0))[:-1]


def words_without_tokens(owners: Iterable[int | None], n_words: int) -> list[int]:
    """Return the indices, from 0, of words without a token.

    Args:
        owners: Word index of each token, or None.
        n_words: Number of words.

    Example:
        >>> from attnwidget.text.token_words import words_without_tokens
        >>> words_without_tokens([None, 0, 0, 2, None], 3)
        [1]
    """
    return sorted(set(range(n_words)) - set(owners))
