"""Suggestions for misspelled names: the nearest names among those that exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that are spelled like `name`, the nearest first; [] without any.

    Upper and lower case count as equal.

    Args:
        name: The name that does not exist.
        known: The names that exist.
        most: Largest number of names to return.

    Example:
        >>> from attnwidget.text.near_names import near_names
        >>> near_names("Entropi", ["position", "entropy"]), near_names("x", ["entropy"])
        (['entropy'], [])
    """
    by_folded: dict[str, str] = {}
    for other in known:
        by_folded.setdefault(other.casefold(), other)
    close = difflib.get_close_matches(name.casefold(), by_folded, n=most)
    return [by_folded[folded] for folded in close]


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return "did you mean 'entropy'?" if a known name is spelled like `name`; otherwise "".

    Example:
        >>> from attnwidget.text.near_names import did_you_mean
        >>> did_you_mean("entropi", ["position", "entropy"]), did_you_mean(3, ["position"])
        ("did you mean 'entropy'?", '')
    """
    if not isinstance(name, str):
        return ""
    close = near_names(name, (other for other in known if isinstance(other, str)))
    return f"did you mean {close[0]!r}?" if close else ""


def among(name: object, known: Iterable[object]) -> str:
    """Return the advice about a name that does not exist: the nearest name, and all names.

    Example:
        >>> from attnwidget.text.near_names import among
        >>> print(among("entropi", ["position", "entropy"]))
        did you mean 'entropy'? The names are 'position', 'entropy'
        >>> print(among("x", ["position", "entropy"]))
        the names are 'position', 'entropy'
    """
    known = list(known)
    close = did_you_mean(name, known)
    listed = ", ".join(map(repr, known))
    return f"{close} The names are {listed}" if close else f"the names are {listed}"
