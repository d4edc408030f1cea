"""Lists of sentences or documents from a file; invalid ones raise an error or are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from attnwidget.hidden_frames import warn_caller
from attnwidget.text.counted import counted

T = TypeVar("T")


class Loaded(list[T]):
    """A list of sentences or documents, with the reasons why invalid ones were left out.

    Study results state how many were left out. A slice is a plain list without the reasons.

    Args:
        items: Valid sentences or documents.
        left_out: Reason, with file and line, for each sentence or document that was left out.

    Example:
        >>> from attnwidget.text.loaded import Loaded
        >>> sentences = Loaded(["Cats purr."], left_out=["file.conllu:3: the word is empty"])
        >>> len(sentences), len(sentences.left_out)
        (1, 1)
    """

    def __init__(self, items: Iterable[T] = (), left_out: Iterable[str] = ()) -> None:
        super().__init__(items)
        self.left_out = tuple(left_out)


def left_out_of(items: Iterable[Any]) -> tuple[str, ...]:
    """Return the reasons why sentences or documents of a loaded list were left out, or ().

    Args:
        items: A loaded list, or another iterable.
    """
    return items.left_out if isinstance(items, Loaded) else ()


def loaded(
    parts: Iterable[Callable[[], T | None]],
    *,
    kind: str,
    source: str,
    loader: str,
    skip_invalid: bool,
    limit: int | None = None,
) -> Loaded[T]:
    """Return the list of a file's sentences or documents.

    Args:
        parts: Functions that return a sentence or document, or None for lines without words.
        kind: "sentence" or "document", for messages.
        source: Name of the file, for messages.
        loader: Name of the public function that loads the file, for messages.
        skip_invalid: Whether to leave out invalid parts with a warning instead of raising an error.
        limit: Largest number of items; None = all.

    Raises:
        ValueError: A part is invalid, or with `skip_invalid` every part.
    """
    items: list[T] = []
    left_out: list[str] = []
    for part in parts:
        try:
            item = part()
        except ValueError as error:
            if not skip_invalid:
                raise ValueError(
                    f"{error}. Correct the {kind}, or leave out and count every invalid {kind}: "
                    f"{loader}(..., skip_invalid=True)"
                ) from error
            left_out.append(str(error))
            continue
        if item is not None:
            items.append(item)
            if len(items) == limit:
                break
    if left_out and not items:
        raise ValueError(
            f"{source} holds no valid {kind}: {counted(len(left_out), kind)} would be left out, "
            f"the first because of: {left_out[0]}"
        )
    if left_out:
        count = counted(len(left_out), f"invalid {kind}")
        warn_caller(
            f"{source}: {count} left out beside {len(items):,} that are valid; the first: "
            f"{left_out[0]}. The attribute `left_out` of the list has every reason",
        )
    return Loaded(items, left_out)
