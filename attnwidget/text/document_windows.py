"""Windows of a long document, each short enough for a model."""

from __future__ import annotations

from collections.abc import Sequence

Window = tuple[int, int]


def windows(
    pieces: Sequence[int], sentence_starts: Sequence[int], room: int, *, first_only: bool
) -> list[Window]:
    """Return word windows (start, end), end excluded, with at most `room` tokens each.

    A window ends at the last sentence end inside it, and the next window begins there.

    Args:
        pieces: Number of tokens per word.
        sentence_starts: Index of the first word of each sentence.
        room: Largest number of tokens per window.
        first_only: Whether to return only the first window. It then ends with the last word that
            fits, not at a sentence end.

    Raises:
        ValueError: A word has more tokens than `room`.

    Example:
        >>> from attnwidget.text.document_windows import windows
        >>> windows([1, 1, 1, 1, 1], [0, 2, 4], 3, first_only=False)
        [(0, 2), (2, 5)]
        >>> windows([1, 1, 1, 1, 1], [0, 2, 4], 3, first_only=True)
        [(0, 3)]
    """
    word_windows: list[Window] = []
    start = 0
    starts = frozenset(sentence_starts)
    while start < len(pieces):
        end = start
        n_used = 0
        while end < len(pieces) and n_used + pieces[end] <= room:
            n_used += pieces[end]
            end += 1
        if end == start:
            raise ValueError(f"word {start + 1} has {pieces[start]} tokens, {room} fit")
        if first_only:
            return [(start, end)]
        if end < len(pieces):
            end = max((word for word in range(start + 1, end + 1) if word in starts), default=end)
        word_windows.append((start, end))
        start = end
    return word_windows
