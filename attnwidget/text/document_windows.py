"""Windows of a long document that fit a model."""

from __future__ import annotations

from collections.abc import Sequence

Window = tuple[int, int]


def windows(
    pieces: Sequence[int], sentence_starts: Sequence[int], room: int, *, first_only: bool
) -> list[Window]:
    """Return windows (start, end) of words, end excluded, with at most `room` tokens each.

    A window ends at the last end of a sentence inside it, and the next window begins there.

    Args:
        pieces: Number of tokens of each of m words.
        sentence_starts: Index of the first word of each sentence.
        room: Number of tokens that fit.
        first_only: Whether to return only the beginning of the document, which then ends with the
            last word that fits, not with a sentence.

    Raises:
        ValueError: a word has more tokens than `room`.

    Example:
        >>> from attnwidget.text.document_windows import windows
        >>> windows([1, 1, 1, 1, 1], [0, 2, 4], 3, first_only=False)
        [(0, 2), (2, 5)]
        >>> windows([1, 1, 1, 1, 1], [0, 2, 4], 3, first_only=True)
        [(0, 3)]
    """
    cut: list[Window] = []
    start = 0
    starts = frozenset(sentence_starts)
    while start < len(pieces):
        end = start
        used = 0
        while end < len(pieces) and used + pieces[end] <= room:
            used += pieces[end]
            end += 1
        if end == start:
            raise ValueError(f"word {start + 1} has {pieces[start]} tokens, {room} fit")
        if first_only:
            return [(start, end)]
        if end < len(pieces):
            end = max((at for at in range(start + 1, end + 1) if at in starts), default=end)
        cut.append((start, end))
        start = end
    return cut
