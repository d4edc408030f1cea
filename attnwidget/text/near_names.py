"""Suggestions for misspelled names: the most similar existing names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names whose spelling is close to `name`, closest first, ignoring case.

    Args:
        name: Name that does not exist.
        known: Names that exist.
        most: Largest number of names to return.

    Example:
        >>> from attnwidget.text.near_names import near_names
        >>> near_names("Entropi", ["position", "entropy"]), near_names("x", ["entropy"])
        (['entropy'], [])
    """
    by_folded: dict[str, str] = {}
    for other in known:
        by_folded.setdefault(other.casefold(), other)
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=most)
    return [by_folded[folded] for folded in matches]


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return "did you mean 'entropy'?" if the spelling of a known name is close; otherwise "".

    Args:
        name: Name that does not exist.
        known: Names that exist.

    Example:
        >>> from attnwidget.text.near_names import did_you_mean
        >>> did_you_mean("entropi", ["position", "entropy"]), did_you_mean(3, ["position"])
        ("did you mean 'entropy'?", '')
    """
    if not isinstance(name, str):
        return ""
    matches = near_names(name, (other for other in known if isinstance(other, str)))
    return f"did you mean {matches[0]!r}?" if matches else ""


def among(name: object, known: Iterable[object]) -> str:
    """Return advice about a name that does not exist: the most similar name, and all names.

    Args:
        name: Name that does not exist.
        known: Names that exist.

    Example:
        >>> from attnwidget.text.near_names import among
        >>> print(among("entropi", ["position", "entropy"]))
        did you mean 'entropy'? The names are 'position', 'entropy'
        >>> print(among("x", ["position", "entropy"]))
        the names are 'position', 'entropy'
    """
    known = list(known)
    suggestion = did_you_mean(name, known)
    all_names = ", ".join(map(repr, known))
    return f"{suggestion} The names are {all_names}" if suggestion else f"the names are {all_names}"
