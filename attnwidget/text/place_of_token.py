"""Lookup of a token that a caller names by its index or its word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from attnwidget.text.index_among import index_among
from attnwidget.text.whole_number import is_whole_number

if TYPE_CHECKING:
    from attnwidget.text.tokens import Tokens

#: A token: its index, a word that occurs once, or a pair of a word and an occurrence, from 1.
TokenName: TypeAlias = int | str | tuple[str, int]

# Largest number of tokens that an error lists.
_LISTED = 12


def place_of_token(name: str, token: TokenName, tokens: Tokens, of: str = "") -> int:
    """Return the index of a token on an axis.

    The search first distinguishes upper and lower case, and ignores case if there is no match. The
    vocabulary entry of a token, such as "##ing", also names the token.

    Args:
        name: Role of the token, for error messages: "query" or "key".
        token: Index of the token from 0, a single-token word that occurs once, or a pair (word,
            occurrence), such as ("he", 2) for the second "he".
        tokens: Tokens of the axis.
        of: Noun for the object that has the tokens, for error messages, or "".

    Raises:
        TypeError: The token is neither an integer nor a word.
        ValueError: There is no such token; or the word occurs more than once, or has several
            tokens. The message lists the candidates with their indices.

    Example:
        >>> from attnwidget.text.place_of_token import place_of_token
        >>> from attnwidget.text.tokens import Tokens
        >>> tokens = Tokens.plain(["[CLS]", "he", "said", "he", "left", "[SEP]"])
        >>> place_of_token("query", "said", tokens), place_of_token("key", ("he", 2), tokens)
        (2, 3)
    """
    if isinstance(token, str):
        return _place_of_word(name, token, None, tokens)
    if _is_occurrence(token):
        return _place_of_word(name, token[0], int(token[1]), tokens)
    if isinstance(token, (tuple, list)):
        raise TypeError(
            f"{name} is the number of a token, a word, or a word and which of its occurrences is "
            f"meant, such as ('he', 2), got {token!r}"
        )
    return index_among(name, token, len(tokens), of)


def listed_tokens(tokens: TokenName | Iterable[TokenName]) -> tuple[list[TokenName], bool]:
    """Return token names as a list, and whether the argument was a single token name.

    Args:
        tokens: One token name, or several.

    Example:
        >>> from attnwidget.text.place_of_token import listed_tokens
        >>> listed_tokens("he"), listed_tokens([3, ("he", 2)])
        ((['he'], True), ([3, ('he', 2)], False))
    """
    if isinstance(tokens, str) or _is_occurrence(tokens) or not isinstance(tokens, Iterable):
        return [tokens], True
    return list(tokens), False


def _is_occurrence(value: Any) -> TypeGuard[tuple[str, int]]:
    """Return whether a value is a pair of a word and an occurrence."""
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    return is_pair and isinstance(value[0], str) and is_whole_number(value[1])


def _place_of_word(name: str, word: str, occurrence: int | None, tokens: Tokens) -> int:
    """Return the index of the token that a word names."""
    positions = _places_of(word, tokens)
    if not positions:
        raise ValueError(_not_found(name, word, tokens))
    listing = ", ".join(map(str, positions[:_LISTED])) + (
        ", ..." if len(positions) > _LISTED else ""
    )
    if occurrence is not None:
        if not 1 <= occurrence <= len(positions):
            raise ValueError(
                f"{name} {(word, occurrence)!r}: {word!r} occurs {len(positions)} times, as the "
                f"tokens {listing}; occurrences are counted from 1"
            )
        return positions[occurrence - 1]
    if len(positions) > 1:
        raise ValueError(
            f"{name} {word!r} is the tokens {listing}: pass one of these numbers, or ({word!r}, 2) "
            "for the second"
        )
    return positions[0]


def _places_of(word: str, tokens: Tokens) -> list[int]:
    """Return the indices of the tokens that a word names, ignoring case only if necessary."""
    same_case: Callable[[str], str] = str
    for change in (same_case, str.casefold):
        target = change(word)
        for names in (tokens.text, tokens.raw):
            positions = [i for i, text in enumerate(names) if change(text.strip()) == target]
            if positions:
                return positions
    return []


def _not_found(name: str, word: str, tokens: Tokens) -> str:
    """Return the message for a word that names no token, with a suggestion."""
    words: Sequence[str] = tokens.to_words().text
    for word_index, group in enumerate(tokens.word_groups()):
        if words[word_index].strip().casefold() == word.casefold():
            pieces = ", ".join(f"{i} {tokens.text[i]!r}" for i in group)
            return f"{name} {word!r} has several tokens, {pieces}: pass the number of one of them"
    token_texts: dict[str, Any] = dict.fromkeys(text.strip() for text in tokens.text)
    matches = get_close_matches(word, token_texts, 1)
    if matches:
        return f"{name} {word!r} is no token of the input: did you mean {matches[0]!r}?"
    first_tokens = ", ".join(f"{i} {text!r}" for i, text in enumerate(tokens.text[:_LISTED]))
    more = ", ..." if len(tokens) > _LISTED else ""
    return f"{name} {word!r} is no token of the input, whose tokens are {first_tokens}{more}"
