"""Conversion of the tokens of an axis to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from attnwidget.text.places import Box, Place, Span
from attnwidget.text.tokens import Tokens

_KNOWN = "words_known"
_REMARK = "remark"
_LINE = "is_line"
_PLACES = "places"
_CUT = "n_cut"


def tokens_to_json(tokens: Tokens) -> dict[str, Any]:
    """Return the fields of tokens, without fields that have their default value.

    Args:
        tokens: Tokens of an axis.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.text.tokens_json import tokens_from_json, tokens_to_json
        >>> tokens = Tokens.plain(["[CLS]", "cats", "[SEP]"])
        >>> tokens_from_json(tokens_to_json(tokens)) == tokens
        True
    """
    entries = asdict(tokens)
    for name in ("pieces", "roles", "turns", _PLACES, _REMARK, _CUT):
        if not entries[name]:
            del entries[name]
    for name in (_KNOWN, _LINE):
        if entries[name]:
            del entries[name]
    return entries


def tokens_from_json(stored: Mapping[str, Any]) -> Tokens:
    """Return the tokens whose fields `tokens_to_json` returned.

    Args:
        stored: Fields of the tokens.
    """
    converted_below = (_KNOWN, _REMARK, _LINE, _PLACES, _CUT)
    values: dict[str, Any] = {
        name: tuple(value) for name, value in stored.items() if name not in converted_below
    }
    return Tokens(
        **values,
        is_line=bool(stored.get(_LINE, True)),
        words_known=bool(stored.get(_KNOWN, True)),
        remark=str(stored.get(_REMARK, "")),
        places=tuple(map(_place, stored.get(_PLACES, ()))),
        n_cut=int(stored.get(_CUT, 0)),
    )


def _place(stored: Mapping[str, Any] | None) -> Place | None:
    if stored is None:
        return None
    return Box(**stored) if "picture" in stored else Span(**stored)
