"""Traits that both the page and the user write: each trait validates and normalizes its values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.tapping.head import Head, HeadName, is_one_head
from attnwidget.text.near_names import did_you_mean
from attnwidget.text.place_of_token import place_of_token
from attnwidget.text.whole_number import whole_number
from attnwidget.widgets.shared.option_list import ListOption

#: One head or several heads: "L1 H3", [(1, 3), (2, 4)], or an array with a row per head.
Heads: TypeAlias = HeadName | Sequence[HeadName] | NDArray[np.integer[Any]]
#: Locked tokens: "he", ["he"], [("he", 2)], [("query", 2)] or [("key", "ship")].
MarkedTokens: TypeAlias = str | Sequence[str | Sequence[Any]]


class HeadsTrait(ListOption[Head]):
    """A list of heads, or one head, each as (3, 5), (3, 5, stack), "L3 H5" or a `Head`.

    Values become `Head`s, checked against the owner's stacks; a head they lack raises TraitError.
    """

    info_text = "a list of heads such as [(3, 5)] or ['L3 H5']"

    if TYPE_CHECKING:  # what is assigned is wider than what is read

        def __set__(self, obj: Any, value: Heads) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[Head]:
        """The value as a list of heads that the owner has."""
        if isinstance(value, np.ndarray):  # rows of (layer, head), as numpy.argwhere gives them
            value = value.tolist()
        if is_one_head(value):
            value = [value]
        if not isinstance(value, Sequence):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        try:
            heads = [obj._find_head(item) for item in value]
        except (ValueError, TypeError) as error:
            raise traitlets.TraitError(f"{self.name!r}: {error}") from None
        return list(dict.fromkeys(heads))


class TokenMarks(ListOption[tuple[str, int]]):
    """A list of ("query" | "key", index): queries attend, keys are attended to.

    A word that occurs once stands for its index, ("he", 2) for the index of the second "he", and a
    word alone is a query. The owner's `_locked_axes` have the tokens of each side.
    """

    info_text = 'a list such as [("query", 2)], [("key", "ship")] or ["he"]'

    if TYPE_CHECKING:  # what is assigned is wider than what is read

        def __set__(self, obj: Any, value: MarkedTokens) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[tuple[str, int]]:
        """Return the value as a list of tuples."""
        listed = [value] if isinstance(value, str) else value
        refused = f"{self.name!r} takes {self.info_text}, got {value!r}"
        if not isinstance(listed, Sequence):
            raise traitlets.TraitError(refused)
        marks = []
        for mark in listed:
            is_pair = isinstance(mark, Sequence) and len(mark) == 2 and not isinstance(mark, str)
            has_side = is_pair and mark[0] in ("query", "key")
            if not (has_side or isinstance(mark, str) or (is_pair and isinstance(mark[0], str))):
                raise traitlets.TraitError(refused)
            side, token = (mark[0], mark[1]) if has_side else ("query", mark)
            try:
                index = _index_of(side, token, obj)
            except (ValueError, TypeError) as error:
                raise traitlets.TraitError(f"{self.name!r}: {error}") from None
            marks.append((side, index))
        return marks


def _index_of(side: str, token: Any, owner: Any) -> int:
    """Return the index of a token on the first axis of its side that has it."""
    if not hasattr(token, "__len__"):
        return whole_number(side, token, 0)
    *axes, last = owner._locked_axes(side)
    for axis in axes:
        with suppress(ValueError):
            return place_of_token(side, token, axis)
    return place_of_token(side, token, last)


class WindowTrait(traitlets.TraitType[Any, Any]):
    """A part of a map as (query from, query to, key from, key to), ends excluded, or None."""

    info_text = "None or (query from, query to, key from, key to) such as (0, 40, 0, 40)"
    default_value = None

    def validate(self, obj: Any, value: Any) -> tuple[int, int, int, int] | None:
        """The value as a tuple, or None."""
        if value is None:
            return None
        try:
            q0, q1, k0, k1 = (whole_number("end", end) for end in value)
        except (ValueError, TypeError):
            q0 = q1 = k0 = k1 = 0
        if not (0 <= q0 < q1 and 0 <= k0 < k1):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        return q0, q1, k0, k1


class Subset(ListOption[str]):
    """Some of a fixed set of names, in that set's order and without repeats."""

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
        self.choices = tuple(choices)
        super().__init__(**kwargs)

    def validate(self, obj: Any, value: Any) -> list[str]:
        """The value in canonical order."""
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)):
            raise traitlets.TraitError(
                f"{self.name!r} takes a list of {', '.join(map(repr, self.choices))}, got {value!r}"
            )
        if unknown := [name for name in names if name not in self.choices]:
            close = did_you_mean(unknown[0], self.choices)
            raise traitlets.TraitError(
                f"{self.name!r} takes some of {', '.join(map(repr, self.choices))}, got {unknown}"
                f"{close and f': {close}'}"
            )
        return [name for name in self.choices if name in names]
