"""Ends of links between tokens: positions, words, roles of a chat, regions and kinds of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from attnwidget.text.patch_geometry import Patches, Region
from attnwidget.text.place_of_token import place_of_token
from attnwidget.text.places import Box, Span
from attnwidget.text.tokens import TEMPLATE
from attnwidget.text.whole_number import is_whole_number, whole_number

if TYPE_CHECKING:
    from attnwidget.text.tokens import Tokens

#: A group of tokens. The other end of the link, or the length of the text, decides its members.
Group: TypeAlias = Literal["all", "all before", "all after"]
#: Positions of an end in a text, or a group of tokens.
EndPositions: TypeAlias = tuple[int, ...] | Group
#: One end of a link, as a caller names it.
LinkEnd: TypeAlias = Any
#: A link: the tokens that look, and the tokens that they look at.
LinkName: TypeAlias = tuple[LinkEnd, LinkEnd]

BEFORE: Group = "all before"
AFTER: Group = "all after"
ALL: Group = "all"
_GROUPS: tuple[Group, ...] = (ALL, BEFORE, AFTER)
_ROLE = "role="
# Kinds of tokens by name. Their names have two words, so that they are no words of a text.
_KINDS: dict[str, Callable[[Tokens], Sequence[bool]]] = {
    "first token": lambda tokens: [i == 0 for i in range(len(tokens))],
    "last token": lambda tokens: [i == len(tokens) - 1 for i in range(len(tokens))],
    "special tokens": lambda tokens: [bool(kind) for kind in tokens.special],
    "other tokens": lambda tokens: [not kind for kind in tokens.special],
    ". ,": lambda tokens: [text.strip() in (".", ",") for text in tokens.text],
}
# Largest number of positions that a name lists.
_LISTED = 4
_FORMS = (
    "positions from 0, words ('he', or ('he', 2) for the second), roles of a chat "
    "('role=system'), a Box, a Span, a set of tokens, 'special tokens', 'all', 'all before' or "
    "'all after', or lists of these"
)


def listed_links(links: object) -> tuple[LinkName, ...]:
    """Return links as a tuple of pairs, after a check of their form.

    Args:
        links: Pairs (query, key). Each end has one of the forms of `end_positions`.

    Raises:
        ValueError: There are no links, a link is not a pair, or a position is negative.
        TypeError: An end has another form.

    Example:
        >>> from attnwidget.text.link_ends import listed_links
        >>> listed_links([("he", "captain"), (7, "all before")])
        (('he', 'captain'), (7, 'all before'))
    """
    example = "[('he', 'captain')], or by position [(7, 2)]"
    if isinstance(links, (str, bytes)) or not isinstance(links, Iterable):
        raise ValueError(f"links must be a list of pairs (query, key), {example}; got {links!r}")
    pairs = []
    for link in links:
        if not isinstance(link, (tuple, list)) or len(link) != 2:
            raise ValueError(
                f"a link must be a pair (query, key), both counted from 0 or named by words: links "
                f"are {example}; got {link!r}"
            )
        query, key = (_checked(name, end) for name, end in zip(("query", "key"), link, strict=True))
        if query == BEFORE or key == AFTER:
            raise ValueError(
                "'all before' is a key, the tokens before the query, and 'all after' is a query, "
                f"the tokens after the key: got {tuple(link)!r}"
            )
        pairs.append((query, key))
    if not pairs:
        raise ValueError(f"links is empty: name the links, {example}")
    return tuple(dict.fromkeys(pairs))


def needs_tokens(end: LinkEnd) -> bool:
    """Return whether the positions of an end, checked by `listed_links`, depend on the tokens.

    Example:
        >>> from attnwidget.text.link_ends import needs_tokens
        >>> needs_tokens("he"), needs_tokens(3), needs_tokens("all before")
        (True, False, False)
    """
    if isinstance(end, tuple) and not _is_occurrence(end):
        return any(map(needs_tokens, end))
    return not (is_whole_number(end) or (isinstance(end, str) and end in _GROUPS))


def end_positions(name: str, end: LinkEnd, tokens: Tokens | None) -> EndPositions:
    """Return the positions of one end of a link.

    A word of several tokens is all its tokens.

    Args:
        name: Role of the end, for error messages: "query" or "key".
        end: Position from 0, a word or neighboring words that occur once, a pair (word,
            occurrence), "role=system" or the name of a role that is no word of the chat, a `Box`, a
            `Span`, a set of token texts, a function from the tokens to one bool per token, "first
            token", "last token", "special tokens", "other tokens", ". ,", "all", "all before", "all
            after", or a tuple of these.
        tokens: Tokens of the axis; None if only positions and groups are named.

    Raises:
        ValueError: The tokens have no such word, role, region or kind.
        TypeError: The end has another form.

    Example:
        >>> from attnwidget.text.link_ends import end_positions
        >>> from attnwidget.text.tokens import Tokens
        >>> tokens = Tokens.plain(["[CLS]", "math", "##s", "helps", "[SEP]"])
        >>> end_positions("key", "maths", tokens), end_positions("key", "special tokens", tokens)
        ((1, 2), (0, 4))
    """
    if isinstance(end, str) and end in _GROUPS:
        return next(group for group in _GROUPS if group == end)
    if is_whole_number(end):
        return (int(end),)
    if isinstance(end, tuple) and not _is_occurrence(end):
        positions: dict[int, None] = {}
        for part in end:
            part_positions = end_positions(name, part, tokens)
            if isinstance(part_positions, str):
                raise ValueError(
                    f"the {name} {part!r} cannot be part of a list: pass it as the whole {name}"
                )
            positions |= dict.fromkeys(part_positions)
        return tuple(sorted(positions))
    if tokens is None:
        raise ValueError(
            f"the {name} {end_name(end)!r} is looked up in a text, and the ids of this input are "
            "not known: pass text= to scaled_links, or positions counted from 0"
        )
    if isinstance(end, (Box, Span)):
        return _in_region(name, end, tokens)
    if isinstance(end, str):
        return _of_string(name, end, tokens)
    if isinstance(end, tuple):
        return _of_word(name, end, tokens)
    if callable(end):
        flags = list(end(tokens))
        if len(flags) != len(tokens):
            raise ValueError(
                f"a function for the {name} of a link must return one bool per token, "
                f"{len(tokens)}; got {len(flags)}"
            )
        return _nonempty(name, end, flags)
    return _nonempty(name, end, [text.strip() in end for text in tokens.text])


def end_name(end: LinkEnd) -> str:
    """Return an end as captions name it.

    Example:
        >>> from attnwidget.text.link_ends import end_name
        >>> end_name(("he", 2)), end_name((3, 4, 5)), end_name("all before")
        ('he (2)', '3 to 5', 'all before')
    """
    if isinstance(end, Box):
        numbers = ", ".join(f"{n:g}" for n in (end.left, end.top, end.right, end.bottom))
        return f"box {numbers}"
    if isinstance(end, Span):
        return f"{end.start:g} to {end.end:g} s"
    if isinstance(end, AbstractSet):
        return f"any of {', '.join(sorted(end)[:_LISTED])}{', ...' if len(end) > _LISTED else ''}"
    if isinstance(end, tuple) and _is_occurrence(end):
        return f"{end[0]} ({end[1]})"
    if isinstance(end, tuple):
        is_run = len(end) > 2 and all(map(is_whole_number, end))
        if is_run and list(end) == list(range(end[0], end[-1] + 1)):
            return f"{end[0]} to {end[-1]}"
        more = ", ..." if len(end) > _LISTED else ""
        return ", ".join(map(end_name, end[:_LISTED])) + more
    return getattr(end, "__name__", type(end).__name__) if callable(end) else str(end)


def _checked(name: str, end: LinkEnd) -> LinkEnd:
    """Return an end in a hashable form: lists and ranges become tuples, sets frozen sets."""
    if isinstance(end, (str, Box, Span)) or callable(end):
        if not end:
            raise ValueError(f"the {name} of a link is empty: {_FORMS}")
        return end
    if isinstance(end, AbstractSet):
        if not end or not all(isinstance(text, str) for text in end):
            raise ValueError(f"a set must have the texts of tokens, {{'a', 'the'}}; got {end!r}")
        return frozenset(end)
    if isinstance(end, Sequence) and _is_occurrence(end):
        return (end[0], int(end[1]))
    if isinstance(end, (Sequence, np.ndarray, range)):
        parts = tuple(_checked(name, part) for part in end)
        if not parts:
            raise ValueError(f"the {name} of a link is empty: {_FORMS}")
        return parts[0] if len(parts) == 1 else parts
    if isinstance(end, bool):
        raise TypeError(f"the {name} of a link must be an integer from 0 or a word; got {end!r}")
    if not is_whole_number(end):
        raise TypeError(f"the {name} of a link must be {_FORMS}; got {end!r}")
    position = whole_number(f"the {name} of a link", end)
    if position < 0:
        raise ValueError(f"the {name} of a link must be counted from 0; got {end!r}")
    return position


def _is_occurrence(end: Sequence[Any]) -> bool:
    return len(end) == 2 and isinstance(end[0], str) and is_whole_number(end[1])


def _of_string(name: str, end: str, tokens: Tokens) -> tuple[int, ...]:
    """Return the positions of a kind of tokens, a role or a word."""
    if end in _KINDS:
        return _nonempty(name, end, _KINDS[end](tokens))
    if end.startswith(_ROLE):
        roles = end.removeprefix(_ROLE).split("|")
        if not tokens.roles:
            raise ValueError(
                f"the {name} {end!r} is a role, and this text has no roles: pass the chat as text="
            )
        return _nonempty(name, end, [role in roles for role in tokens.roles])
    if end in tokens.roles:
        words = tokens.to_words()
        # Templates write the name of a role before each message.
        in_messages = (
            text.strip() == end and role != TEMPLATE
            for text, role in zip(words.text, words.roles, strict=True)
        )
        if any(in_messages):
            raise ValueError(
                f"the {name} {end!r} is a role of the chat and a word of it: write "
                f"'role={end}', or ({end!r}, 1) for the word"
            )
        return tuple(i for i, role in enumerate(tokens.roles) if role == end)
    return _of_word(name, end, tokens)


def _of_word(name: str, word: str | tuple[str, int], tokens: Tokens) -> tuple[int, ...]:
    """Return all tokens of a word, or the token that its text names."""
    words = tokens.to_words()
    text = word if isinstance(word, str) else word[0]
    if any(other.strip().casefold() == text.casefold() for other in words.text):
        group = tokens.word_groups()[place_of_token(name, word, words)]
        return tuple(group)
    if len(text.split()) > 1:
        return _of_phrase(name, word, tokens)
    return (place_of_token(name, word, tokens),)


def _of_phrase(name: str, phrase: str | tuple[str, int], tokens: Tokens) -> tuple[int, ...]:
    """Return all tokens of several neighboring words."""
    text, occurrence = (phrase, None) if isinstance(phrase, str) else phrase
    words = [word.strip().casefold() for word in tokens.to_words().text]
    sought = text.casefold().split()
    size = len(sought)
    starts = [i for i in range(len(words) - size + 1) if words[i : i + size] == sought]
    if len(starts) < (occurrence or 1):
        raise ValueError(f"{name} {phrase!r} are no neighboring words of the input")
    if occurrence is None and len(starts) > 1:
        raise ValueError(
            f"{name} {text!r} occurs {len(starts)} times: pass ({text!r}, 2) for the second"
        )
    start = starts[(occurrence or 1) - 1]
    groups = tokens.word_groups()[start : start + size]
    return tuple(i for group in groups for i in group)


def _in_region(name: str, end: Box | Span, tokens: Tokens) -> tuple[int, ...]:
    kind = type(end)
    places = [place if isinstance(place, kind) else None for place in tokens.places]
    if not any(places):
        what = "picture" if kind is Box else "sound"
        raise ValueError(
            f"the {name} is a region of a {what}, and no token of this input is from one: "
            "attention.scaled_links names regions of the inputs of an attention"
        )
    if isinstance(end, Box):
        patches = Patches.from_regions(places)
        inside = set(patches.tokens[patches.members(Region.from_boxes(end))].tolist())
        return _nonempty(name, end, [i in inside for i in range(len(tokens))])
    return _nonempty(
        name,
        end,
        [
            isinstance(place, Span)
            and place.sound == end.sound
            # Frames overlap, so that the middle of a frame decides.
            and end.start <= (place.start + place.end) / 2 < end.end
            for place in places
        ],
    )


def _nonempty(name: str, end: LinkEnd, flags: Sequence[bool]) -> tuple[int, ...]:
    positions = tuple(i for i, flag in enumerate(flags) if flag)
    if not positions:
        raise ValueError(f"the {name} {end_name(end)!r} is no token of this input")
    return positions
