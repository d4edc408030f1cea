"""Segments of running text, in the format of models that were trained on sentence pairs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Tokenized = Sequence[str]
_PROSE = "a UTF-8 text file with one paragraph per line, plain or .gz"


@dataclass(frozen=True)
class Segment:
    """One input of a study: the vocabulary entries of text A and, in a pair, of text B.

    A segment has no special tokens, because the model's tokenizer adds them. `document` is the
    index of the source text if known, because segments of one text are not independent. `index` is
    the index of the segment in its study, because batches change the order; None = the segment is
    not part of a study. Comparisons ignore `document` and `index`, so segments with the same
    content are equal.

    `n_cut` is the number of tokens that `make_segments` cut off from the text. Comparisons ignore
    it.

    In a chat, `roles` and `turns` have an entry for each token of `first`, as in `Tokens`, and
    `first` includes all special tokens.

    Example:
        >>> from attnwidget import Segment
        >>> len(Segment(("the", "cat", "sat"), ("it", "slept")))
        5
    """

    first: tuple[str, ...]
    second: tuple[str, ...] = ()
    document: int | None = field(default=None, compare=False, repr=False, kw_only=True)
    index: int | None = field(default=None, compare=False, repr=False, kw_only=True)
    roles: tuple[str, ...] = field(default=(), repr=False, kw_only=True)
    turns: tuple[int | None, ...] = field(default=(), repr=False, kw_only=True)
    n_cut: int = field(default=0, compare=False, repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def beginning(self, n_tokens: int) -> Segment:
        """Return the first tokens of text A as a segment.

        Args:
            n_tokens: Number of tokens.

        Example:
            >>> from attnwidget import Segment
            >>> Segment(("the", "cat", "sat"), ("it", "slept")).beginning(2)
            Segment(first=('the', 'cat'), second=())
        """
        roles, turns = self.roles[:n_tokens], self.turns[:n_tokens]
        return Segment(self.first[:n_tokens], roles=roles, turns=turns)


def read_lines(path: str | Path, expected: str = _PROSE) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file, plain or .gz, without line ends.

    Args:
        path: The file.
        expected: Content and format of the file, for errors about the path.

    Raises:
        ValueError: The file is empty, a line is not UTF-8, or the .gz file is truncated or not a
            .gz file.
        OSError: The file cannot be read.
    """
    # Import here, because users of `Segment` do not need the modules that read files.
    from attnwidget.text.decoded_lines import decoded_lines

    for line in decoded_lines(Path(path), expected):
        # In files of old systems, a line may end with only a carriage return.
        yield from line.split("\r")


def split_documents(lines: Iterable[str], *, keep_last: bool = True) -> Iterator[list[str]]:
    """Yield documents as lists of paragraphs.

    Args:
        lines: Lines with one paragraph each, and empty lines between documents.
        keep_last: Whether to yield the last document if no empty line follows it. The code of Clark
            et al. drops it.

    Example:
        >>> from attnwidget.text.segments import split_documents
        >>> list(split_documents(["One.", "Two.", "", "Three."]))
        [['One.', 'Two.'], ['Three.']]
    """
    document: list[str] = []
    for line in lines:
        if line.strip():
            document.append(line)
        elif document:
            yield document
            document = []
    if document and keep_last:
        yield document


def joined_tokens(
    first: Sequence[Tokenized], second: Sequence[Tokenized]
) -> tuple[list[str], list[str]]:
    """Return the tokens of text A and text B from paragraphs that are lists of tokens.

    Args:
        first: Paragraphs of text A.
        second: Paragraphs of text B.

    Example:
        >>> from attnwidget.text.segments import joined_tokens
        >>> joined_tokens([["the", "cat"], ["sat"]], [["it", "slept"]])
        (['the', 'cat', 'sat'], ['it', 'slept'])
    """
    return [t for paragraph in first for t in paragraph], [t for p in second for t in p]


def cut_segments(
    documents: Iterable[Iterable[Any]],
    *,
    max_tokens: int = 128,
    n_special: int = 3,
    limit: int | None = 1000,
    seed: int = 0,
    at_least: int = 2,
    size: Callable[[Any], int] = len,
    tokens: Callable[[Sequence[Any], Sequence[Any]], tuple[list[str], list[str]]] = joined_tokens,
) -> list[Segment]:
    """Return pairs of consecutive texts, as Clark et al. 2019 prepared Wikipedia (section 2).

    Paragraphs are collected until they fill a segment or the document ends. Text A is a random
    number of the first paragraphs, and text B the rest. Tokens are then removed from the longer
    text, at its beginning or end at random, until both fit. If A or B is empty, the rest of the
    document is left out. Segments are shuffled at the end.

    Args:
        documents: Documents, each an iterable of paragraphs. A paragraph is a list of tokens, or
            any object that `size` and `tokens` accept. Only the needed documents are read.
            Paragraphs without tokens are skipped.
        max_tokens: Number of tokens in a segment, including special tokens.
        n_special: Number of special tokens that the model adds to a pair.
        limit: Largest number of segments; None = all of `documents`.
        seed: Seed of the split points, the truncation and the order.
        at_least: Smallest number of paragraphs per segment, even if fewer paragraphs fill it. With
            1, as in the released code, the rest of a document is left out after a single paragraph
            that fills a segment.
        size: Function that returns the number of tokens in a paragraph.
        tokens: Function that returns the tokens of text A and text B from their paragraphs.

    Raises:
        ValueError: `max_tokens` leaves no room for a pair.

    Example:
        >>> from attnwidget.text.segments import cut_segments
        >>> document = [["the", "cat", "sat"], ["it", "slept"]]
        >>> cut_segments([document], max_tokens=7)
        [Segment(first=('the', 'cat'), second=('it', 'slept'))]
    """
    room = max_tokens - n_special
    if room < 2:
        raise ValueError(
            f"max_tokens {max_tokens} leaves no room for a pair beside {n_special} special tokens; "
            f"ask for at least {n_special + 2}"
        )
    draw = random.Random(seed)
    segments: list[Segment] = []
    for number, document in enumerate(documents):
        if limit is not None and len(segments) >= limit:
            break
        for chunk in _chunks(document, room, at_least, size):
            n_first = draw.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            segment = _pair(*tokens(chunk[:n_first], chunk[n_first:]), room, draw)
            if not segment.first or not segment.second:
                break
            segments.append(replace(segment, document=number))
            if limit is not None and len(segments) >= limit:
                break
    draw.shuffle(segments)
    return segments


def _chunks(
    document: Iterable[Any], room: int, at_least: int, size: Callable[[Any], int]
) -> Iterator[list[Any]]:
    """Yield lists of `at_least` or more paragraphs that fill `room`; the last may be shorter."""
    chunk: list[Any] = []
    n_used = 0
    for paragraph in document:
        n_tokens = size(paragraph)
        if not n_tokens:
            continue
        chunk.append(paragraph)
        n_used += n_tokens
        if len(chunk) >= at_least and n_used >= room:
            yield chunk
            chunk = []
            n_used = 0
    if chunk:
        yield chunk


def _pair(first: list[str], second: list[str], room: int, draw: random.Random) -> Segment:
    """Remove tokens from the longer text, at a random end, until both fit in `room`."""
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        del longer[0 if draw.random() < 0.5 else -1]
    return Segment(tuple(first), tuple(second))
