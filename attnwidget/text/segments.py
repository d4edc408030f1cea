"""Segments of running text, as models trained on pairs of sentences read it."""

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

    A segment has no special tokens: the tokenizer of the model adds special tokens. `document` is
    the index of the source text if known, because segments of one text are not independent.
    `index` is the index of the segment in its study, because batches change the order; None = the
    segment is not part of a study. `document` and `index` do not count in comparisons, so segments
    with the same content are equal.

    `n_cut` is the number of further tokens of the text, which `make_segments` cut off. It does not
    count in comparisons.

    In a chat, `roles` and `turns` have an entry for each token of `first`, as in `Tokens`. Then
    `first` has all special tokens.

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
        ValueError: the file is empty, a line is not UTF-8, or the .gz file is cut short or is not a
            .gz file.
        OSError: the file cannot be read.
    """
    # Import here: users of `Segment` do not need the modules that read files.
    from attnwidget.text.decoded_lines import decoded_lines

    for line in decoded_lines(Path(path), expected):
        # A carriage return alone ends a line as well, as in files of old systems.
        yield from line.split("\r")


def split_documents(lines: Iterable[str], *, keep_last: bool = True) -> Iterator[list[str]]:
    """Yield documents, lists of paragraphs: a line per paragraph, empty lines between documents.

    Without `keep_last`, the last document is lost if no empty line follows, as in the code of Clark
    et al.

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
    """Return the tokens of text A and of text B, from paragraphs that are lists of tokens.

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
        documents: The documents. Each is an iterable of paragraphs, and each paragraph a list of
            tokens, or an argument of `size` and `tokens`. Only the needed documents are read.
            Paragraphs without tokens are skipped.
        max_tokens: Number of tokens of a segment with its special tokens.
        n_special: Number of special tokens that the model adds to a pair.
        limit: Largest number of segments; None = all of `documents`.
        seed: Seed of the split points, the truncation and the order.
        at_least: Smallest number of paragraphs per segment, even if fewer paragraphs fill it. With
            1, as in the released code, a paragraph that fills a segment alone leaves out the rest
            of its document.
        size: The number of tokens of a paragraph, which fills a segment.
        tokens: The tokens of text A and text B, from the paragraphs of both.

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
    used = 0
    for paragraph in document:
        n_tokens = size(paragraph)
        if not n_tokens:
            continue
        chunk.append(paragraph)
        used += n_tokens
        if len(chunk) >= at_least and used >= room:
            yield chunk
            chunk = []
            used = 0
    if chunk:
        yield chunk


def _pair(first: list[str], second: list[str], room: int, draw: random.Random) -> Segment:
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        del longer[0 if draw.random() < 0.5 else -1]
    return Segment(tuple(first), tuple(second))
