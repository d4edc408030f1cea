"""Checks that an argument is a list of inputs, and not a single input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Advice in errors about study inputs.
INPUTS = (
    "pass a list of texts, such as the lines of a file, or segments of read_segments(path, model) "
    "or make_segments(texts, model)"
)


def each_of(items: Iterable[T], how: str) -> Iterable[T]:
    """Return an iterable argument; raise TypeError for a single text, a path or None.

    Args:
        items: Iterable or stream.
        how: Advice for the message.
    """
    iterable: object = items
    if isinstance(iterable, (str, bytes, Path)) or not isinstance(iterable, Iterable):
        description = (
            repr(iterable) if isinstance(iterable, (str, Path)) else type(iterable).__name__
        )
        raise TypeError(f"expected a list, got {description}: {how}")
    return items


def each_input(inputs: Iterable[T]) -> Iterable[T]:
    """Return the inputs of a study; raise TypeError for a single input, a table or a dict.

    Iterating over one of these would give characters, messages or names, which are not inputs.

    Args:
        inputs: Inputs of a study.

    Example:
        >>> from attnwidget.inputs.input_list import each_input
        >>> each_input("The cat sat.")
        Traceback (most recent call last):
        TypeError: expected a list, got 'The cat sat.': for one text pass [text], ...
    """
    if isinstance(inputs, str):
        raise TypeError(
            f"expected a list, got {inputs!r:.60}: for one text pass [text], for a file with one "
            "text per line Path(path).read_text().splitlines(), for running text "
            "read_segments(path, model)"
        )
    if isinstance(inputs, Mapping):
        names = ", ".join(map(repr, inputs))
        raise TypeError(
            f"expected a list of inputs, got {type(inputs).__name__} with {names:.60}: for one "
            "row pass [row], of several data sets pass one"
        )
    if hasattr(inputs, "columns"):
        raise TypeError(
            "expected a list of inputs, got a table, which is a list of the names of its columns: "
            "pass the column with the texts, table['text']"
        )
    items = each_of(inputs, INPUTS)
    if has_roles(inputs):
        raise TypeError("expected a list of inputs, got the messages of a chat: pass [chat]")
    return items


def has_roles(text: object) -> bool:
    """Return whether an input is one chat, rather than a list of rows with texts.

    Example:
        >>> from attnwidget.inputs.input_list import has_roles
        >>> has_roles([{"role": "user", "content": "Hi"}]), has_roles([{"text": "Hi"}])
        (True, False)
    """
    if not isinstance(text, (list, tuple)) or not text:
        return False
    return all(isinstance(row, Mapping) and "role" in row for row in text)
