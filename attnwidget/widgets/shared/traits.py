"""Traits that the page and the user can set, which validate and normalize their values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

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
#: Values of a trait for heads, for `help`.
TAKES_HEADS = 'a head such as "L1 H3", (1, 3) or a `Head`, or a list of heads'
#: Locked tokens: "he", ["he"], [("he", 2)], [("query", 2)] or [("key", "ship")].
MarkedTokens: TypeAlias = str | Sequence[str | Sequence[Any]]


class HeadsTrait(ListOption[Head]):
    """Trait for a list of heads, or one head, each as (3, 5), (3, 5, stack), "L3 H5" or a `Head`.

    Values are converted to `Head`s. A head that the owner does not have raises TraitError.
    """

    info_text = "a list of heads such as [(3, 5)] or ['L3 H5']"

    if TYPE_CHECKING:  # The trait accepts more types than it returns.

        def __set__(self, obj: Any, value: Heads) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[Head]:
        """Return the value as a list of heads that the owner has."""
        if isinstance(value, np.ndarray):  # Rows of (layer, head), for example from numpy.argwhere.
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
    """Trait for a list of ("query" | "key", index): queries attend, keys are attended to.

    A word can replace an index: "he" is the only "he" in the text, and ("he", 2) is the second one.
    A word without a side is a query. The owner's `_locked_axes` returns the tokens of each side.
    """

    info_text = 'a list such as [("query", 2)], [("key", "ship")] or ["he"]'

    if TYPE_CHECKING:  # The trait accepts more types than it returns.

        def __set__(self, obj: Any, value: MarkedTokens) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[tuple[str, int]]:
        """Return the value as a list of tuples."""
        items = [value] if isinstance(value, str) else value
        message = f"{self.name!r} takes {self.info_text}, got {value!r}"
        if not isinstance(items, Sequence):
            raise traitlets.TraitError(message)
        marks = []
        for mark in items:
            is_pair = isinstance(mark, Sequence) and len(mark) == 2 and not isinstance(mark, str)
            has_side = is_pair and mark[0] in ("query", "key")
            if not (has_side or isinstance(mark, str) or (is_pair and isinstance(mark[0], str))):
                raise traitlets.TraitError(message)
            side, token = (mark[0], mark[1]) if has_side else ("query", mark)
            try:
                index = _index_of(side, token, obj)
            except (ValueError, TypeError) as error:
                raise traitlets.TraitError(f"{self.name!r}: {error}") from None
            marks.append((side, index))
        return marks


def _index_of(side: str, token: Any, owner: Any) -> int:
    """Return the index of a token on the first axis of its side that has the token."""
    if not hasattr(token, "__len__"):
        return whole_number(side, token, 0)
    *axes, last = owner._locked_axes(side)
    for axis in axes:
        with suppress(ValueError):
            return place_of_token(side, token, axis)
    return place_of_token(side, token, last)


class WindowTrait(traitlets.TraitType[Any, Any]):
    """Trait for a part of a map: None, or (query from, query to, key from, key to).

    The ends are excluded.
    """

    info_text = "None or (query from, query to, key from, key to) such as (0, 40, 0, 40)"
    default_value = None

    def validate(self, obj: Any, value: Any) -> tuple[int, int, int, int] | None:
        """Return the value as a tuple, or None."""
        if value is None:
            return None
        try:
            q0, q1, k0, k1 = (whole_number("end", end) for end in value)
        except (ValueError, TypeError):
            q0 = q1 = k0 = k1 = 0
        if not (0 <= q0 < q1 and 0 <= k0 < k1):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        return q0, q1, k0, k1


class Choice(traitlets.Enum[Any]):
    """Trait for one of several values, with a hint for values that other packages use."""

    def error(
        self, obj: Any, value: Any, error: Exception | None = None, info: str | None = None
    ) -> NoReturn:
        """Raise the TraitError of a value, with the value that may be meant."""
        try:
            super().error(obj, value, error, info)
        except traitlets.TraitError as refusal:
            if advice := self._advice_on(obj, value):
                raise traitlets.TraitError(f"{refusal} {advice}") from None
            raise

    def _advice_on(self, obj: Any, value: Any) -> str:
        """Return advice on an invalid value: another option that takes it, or a similar value."""
        choices = {
            name: tuple(trait.values or ())
            for name, trait in obj.traits(option=True).items()
            if isinstance(trait, Choice)
        }
        takers = [name for name in choices if value in choices[name]]
        if takers:
            return f"Pass {takers[0]}={value!r}."
        meant = _OTHER_VALUES.get(value) if isinstance(value, str) else None
        if meant in (self.values or ()):
            return f"Did you mean {meant!r}?"
        suggestion = did_you_mean(value, self.values or ())
        return suggestion and suggestion[0].upper() + suggestion[1:]


# Values of options, by names that other packages use.
_OTHER_VALUES = {"heatmap": "matrix", "map": "matrix", "arcs": "lines", "image": "places"}


class Subset(ListOption[str]):
    """Trait for a subset of fixed names, in a fixed order and without duplicates."""

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
        self.choices = tuple(choices)
        # "[CLS]" names the kind "cls" too.
        self._spellings = {f"[{choice.upper()}]": choice for choice in choices}
        super().__init__(**kwargs)

    def validate(self, obj: Any, value: Any) -> list[str]:
        """Return the names in canonical order."""
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)):
            raise traitlets.TraitError(
                f"{self.name!r} takes a list of {', '.join(map(repr, self.choices))}, got {value!r}"
            )
        names = [self._spellings.get(name, name) for name in names]
        if unknown := [name for name in names if name not in self.choices]:
            suggestion = did_you_mean(unknown[0], self.choices)
            raise traitlets.TraitError(
                f"{self.name!r} takes some of {', '.join(map(repr, self.choices))}, got {unknown}"
                f"{suggestion and f': {suggestion}'}"
            )
        return [name for name in self.choices if name in names]
