"""The place of a token that a caller names by its number or by its word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from attnwidget.text.index_among import index_among
from attnwidget.text.whole_number import is_whole_number

if TYPE_CHECKING:
    from attnwidget.text.tokens import Tokens

#: A token: its number, a word that occurs once, or a word and which of its occurrences, from 1.
TokenName: TypeAlias = int | str | tuple[str, int]

# Number of tokens that an error lists.
_LISTED = 12


def place_of_token(name: str, token: TokenName, tokens: Tokens, of: str = "") -> int:
    """Return the number of a token on an axis.

    A word is first looked for in the same upper and lower case. The vocabulary's entry of a token,
    such as "##ing", also names the token.

    Args:
        name: What the token is, for error messages: "query" or "key".
        token: Its number from 0, a word of one token that occurs once, or the word and which of its
            occurrences is meant, ("he", 2) for the second.
        tokens: The tokens of the axis.
        of: What has these tokens, for error messages, or "".

    Raises:
        TypeError: The token is no whole number and no word.
        ValueError: There is no such token; or the word occurs more than once, or has several
            tokens. The message lists the candidates with their numbers.

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
    """Return names of tokens in a list, and whether a single token was named.

    Example:
        >>> from attnwidget.text.place_of_token import listed_tokens
        >>> listed_tokens("he"), listed_tokens([3, ("he", 2)])
        ((['he'], True), ([3, ('he', 2)], False))
    """
    if isinstance(tokens, str) or _is_occurrence(tokens) or not isinstance(tokens, Iterable):
        return [tokens], True
    return list(tokens), False


def _is_occurrence(value: Any) -> TypeGuard[tuple[str, int]]:
    """Return whether a value is a word and which of its occurrences is meant."""
    is_pair = isinstance(value, (tuple, list)) and len(value) == 2
    return is_pair and isinstance(value[0], str) and is_whole_number(value[1])


def _place_of_word(name: str, word: str, occurrence: int | None, tokens: Tokens) -> int:
    places = _places_of(word, tokens)
    if not places:
        raise ValueError(_not_found(name, word, tokens))
    listed = ", ".join(map(str, places[:_LISTED])) + (", ..." if len(places) > _LISTED else "")
    if occurrence is not None:
        if not 1 <= occurrence <= len(places):
            raise ValueError(
                f"{name} {(word, occurrence)!r}: {word!r} occurs {len(places)} times, as the "
                f"tokens {listed}; occurrences are counted from 1"
            )
        return places[occurrence - 1]
    if len(places) > 1:
        raise ValueError(
            f"{name} {word!r} is the tokens {listed}: pass one of these numbers, or ({word!r}, 2) "
            "for the second"
        )
    return places[0]


def _places_of(word: str, tokens: Tokens) -> list[int]:
    """Return the tokens that a word names: in the same case, or else in any case."""
    same_case: Callable[[str], str] = str
    for change in (same_case, str.casefold):
        wanted = change(word)
        for names in (tokens.text, tokens.raw):
            places = [i for i, text in enumerate(names) if change(text.strip()) == wanted]
            if places:
                return places
    return []


def _not_found(name: str, word: str, tokens: Tokens) -> str:
    """Return why a word is not the name of a token, with what to pass instead."""
    words: Sequence[str] = tokens.to_words().text
    for place, group in enumerate(tokens.word_groups()):
        if words[place].strip().casefold() == word.casefold():
            pieces = ", ".join(f"{i} {tokens.text[i]!r}" for i in group)
            return f"{name} {word!r} has several tokens, {pieces}: pass the number of one of them"
    known: dict[str, Any] = dict.fromkeys(text.strip() for text in tokens.text)
    near = get_close_matches(word, known, 1)
    if near:
        return f"{name} {word!r} is no token of the input: did you mean {near[0]!r}?"
    some = ", ".join(f"{i} {text!r}" for i, text in enumerate(tokens.text[:_LISTED]))
    more = ", ..." if len(tokens) > _LISTED else ""
    return f"{name} {word!r} is no token of the input, whose tokens are {some}{more}"
