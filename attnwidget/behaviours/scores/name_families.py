"""Families of the names of heads, which figures draw in colours and words can be matched with."""

from __future__ import annotations

from typing import Literal

NameFamily = Literal["neighbour", "grammar", "pronoun", "same word", "rests", ""]

_FAMILIES: dict[str, NameFamily] = {
    "two tokens before": "neighbour",
    "previous token": "neighbour",
    "current token": "neighbour",
    "next token": "neighbour",
    "two tokens after": "neighbour",
    "within sentence": "neighbour",
    "duplicate token": "same word",
    "duplicate token (random tokens)": "same word",
    "pronoun to person": "pronoun",
    "coreference": "pronoun",
    "first token": "rests",
    "punctuation": "rests",
}


def name_family(name: str) -> NameFamily:
    """Return the family of the name of a head; "" for other names and for no name.

    Example:
        >>> from attnwidget.behaviours.scores.name_families import name_family
        >>> [name_family(name) for name in ("previous token", "det to governor", "my behaviour")]
        ['neighbour', 'grammar', '']
    """
    if name.endswith(" to governor") or name.startswith("governor to "):
        return "grammar"
    # The names of special tokens, such as [CLS] and <s>.
    return "rests" if name.startswith(("[", "<")) else _FAMILIES.get(name, "")
