"""Traits that both the page and the user write: each trait validates and normalises its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from attnwidget.capture.tapping.head import Head
from attnwidget.text.near_names import did_you_mean
from attnwidget.text.whole_number import is_whole_number, whole_number


class HeadsTrait(traitlets.List[Head]):
    """A list of heads: `Head`s, (layer, head) or (layer, head, stack), or one of these alone.

    Values become `Head`s, checked against the owner's stacks; a head they lack raises TraitError.
    """

    info_text = "a list of heads such as [(3, 5)] or [Head(3, 5)]"

    if TYPE_CHECKING:  # what is assigned is wider than what is read

        def __set__(self, obj: Any, value: Sequence[Any]) -> None: ...

    def validate(self, obj: Any, value: Any) -> list[Head]:
        """The value as a list of heads that the owner has."""
        if isinstance(value, np.ndarray):  # rows of (layer, head), as numpy.argwhere gives them
            value = value.tolist()
        if isinstance(value, tuple) and len(value) in (2, 3) and is_whole_number(value[0]):
            value = [value]
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        try:
            heads = [obj.find_head(item) for item in value]
        except (ValueError, TypeError) as error:
            raise traitlets.TraitError(f"{self.name!r}: {error}") from None
        return list(dict.fromkeys(heads))


class TokenMarks(traitlets.List[tuple[str, int]]):
    """A list of ("query" | "key", index): queries attend, keys are attended to."""

    info_text = 'a list of ("query" | "key", index) pairs such as [("query", 2)]'

    def validate(self, obj: Any, value: Any) -> list[tuple[str, int]]:
        """The value as a list of tuples."""
        try:
            marks = [(side, whole_number(str(side), index)) for side, index in value]
        except (ValueError, TypeError):
            marks = [("", -1)]
        if any(side not in ("query", "key") or index < 0 for side, index in marks):
            raise traitlets.TraitError(f"{self.name!r} takes {self.info_text}, got {value!r}")
        return marks


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


class Subset(traitlets.List[str]):
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
