"""Segments of running text, as models trained on pairs of sentences read it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

Tokenised = Sequence[str]


@dataclass(frozen=True)
class Segment:
    """One input of a study: the vocabulary entries of text A and, in a pair, of text B.

    Special tokens are not among them: the tokenizer of the model that reads the segment puts its
    own before, between and after the two. `document` is the index of the source text, if known:
    segments of one text are not independent. `document` does not count in comparisons, so segments
    with the same content are equal.

    Example:
        >>> from attnwidget.text.segments import Segment
        >>> len(Segment(("the", "cat", "sat"), ("it", "slept")))
        5
    """

    first: tuple[str, ...]
    second: tuple[str, ...] = ()
    document: int | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.first) + len(self.second)


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, plain or .gz, without their line ends.

    Raises:
        ValueError: a line is not UTF-8, or the .gz file is cut short or none.
        OSError: the file cannot be read.
    """
    # Import here, so that `Segment` can be used without the modules that read files.
    from attnwidget.text.decoded_lines import decoded_lines

    for line in decoded_lines(Path(path)):
        # A carriage return alone ends a line as well, as in files of old.
        yield from line.split("\r")


def split_documents(lines: Iterable[str], *, keep_last: bool = True) -> Iterator[list[str]]:
    """Documents of paragraphs: one paragraph a line, documents separated by an empty line.

    Without `keep_last` a last document that no empty line follows is lost, as in the code that
    Clark et al. released.

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


def cut_segments(
    documents: Iterable[Iterable[Tokenised]],
    *,
    max_tokens: int = 128,
    n_special: int = 3,
    limit: int | None = 1000,
    seed: int = 0,
    at_least: int = 2,
) -> list[Segment]:
    """Pairs of consecutive pieces of text, as Clark et al. 2019 prepared Wikipedia (section 2).

    Paragraphs are collected until they fill a segment or the document ends; A is a random number of
    the first ones, B the rest; tokens are then removed from the longer of the two, at its front or
    end at random, until both fit. Where A or B stays empty, the rest of the document is left out.
    Segments are shuffled at the end.

    Args:
        documents: each an iterable of paragraphs, each its tokens; read no further than needed.
            Paragraphs without tokens are skipped.
        max_tokens: tokens of a segment with its special tokens.
        n_special: special tokens that the model puts around and between a pair.
        limit: stop at so many segments; None = take all of `documents`.
        seed: of the split points, the truncation and the order.
        at_least: paragraphs that are collected, also where fewer fill a segment. With 1, as in the
            released code, one that fills a segment alone leaves out the rest of its document.

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
        for chunk in _chunks(document, room, at_least):
            segment = _pair(chunk, room, draw)
            if not segment.first or not segment.second:
                break
            segments.append(replace(segment, document=number))
            if limit is not None and len(segments) >= limit:
                break
    draw.shuffle(segments)
    return segments


def _chunks(document: Iterable[Tokenised], room: int, at_least: int) -> Iterator[list[Tokenised]]:
    """Consecutive paragraphs, `at_least` or more, that fill `room`; the last may hold fewer."""
    chunk: list[Tokenised] = []
    for paragraph in document:
        if not paragraph:
            continue
        chunk.append(paragraph)
        if len(chunk) >= at_least and sum(map(len, chunk)) >= room:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _pair(chunk: Sequence[Tokenised], room: int, draw: random.Random) -> Segment:
    n_first = draw.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
    first = [token for paragraph in chunk[:n_first] for token in paragraph]
    second = [token for paragraph in chunk[n_first:] for token in paragraph]
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        del longer[0 if draw.random() < 0.5 else -1]
    return Segment(tuple(first), tuple(second))
