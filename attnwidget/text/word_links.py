"""Labeled links between the words of a sentence, and a reader for link tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.decoded_lines import decoded_lines
from attnwidget.text.placeholders import refuse_no_text
from attnwidget.text.running_text import RunningText

if TYPE_CHECKING:
    import pandas as pd

_EXPECTED = "a table of links (.csv or .tsv) with a header, plain or .gz"
_COLUMNS = ("sentence", "source", "target", "label")


@dataclass(frozen=True)
class Link:
    """A labeled link from the attending words to the attended words.

    Attributes:
        source: Indices of the attending words, from 0.
        target: Indices of the attended words, from 0.
        label: Label of the link.

    Example:
        >>> from attnwidget.results import Link
        >>> Link(source=(0,), target=(3,), label="Experiencer")
        Link(source=(0,), target=(3,), label='Experiencer')
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    label: str


@dataclass(frozen=True)
class LinkedSentence:
    """A sentence and its links; a sentence may have none.

    Attributes:
        words: m words.
        links: Links between the words.
        name: Name of the sentence in the corpus, or file and line.
        space_after: For each word, False if the next word follows without a space; empty = spaces
            after all words.

    Raises:
        ValueError: There are no words, a link refers to a word that does not exist, or the length
            of `space_after` is not m.

    Example:
        >>> from attnwidget.results import Link, LinkedSentence
        >>> words = ("he", "was", "becoming", "agitated", ".")
        >>> sentence = LinkedSentence(words, (Link((0,), (3,), "Experiencer"),))
        >>> sentence.running.text
        'he was becoming agitated .'
    """

    words: tuple[str, ...]
    links: tuple[Link, ...]
    name: str = ""
    space_after: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError(f"{self.name or 'sentence'}: no words")
        if self.space_after and len(self.space_after) != len(self.words):
            raise ValueError(
                f"{self.name or 'sentence'}: {len(self.words)} words need as many entries of "
                f"space_after, got {len(self.space_after)}"
            )
        for link in self.links:
            ends = (*link.source, *link.target)
            inside = all(0 <= word < len(self.words) for word in ends)
            if not link.source or not link.target or not inside:
                raise ValueError(
                    f"{self.name or 'sentence'}: a link joins some of the words 0 to "
                    f"{len(self.words) - 1}, got {link}"
                )

    @property
    def running(self) -> RunningText:
        """Words with their spaces, as models read the sentence."""
        return RunningText(self.words, self.space_after, self.name or "sentence")


@hides_frames
def load_links(table: str | Path | pd.DataFrame) -> list[LinkedSentence]:
    """Load links from a table with one row per link: sentence, source, target, label.

    A sentence has spaces between its words. Source and target are spans. A span is the position of
    a word, counted from 1 ("3"), the positions of the first and last word ("3-5"), or the words
    themselves if they occur once in the sentence. Rows with the same sentence are the links of this
    sentence.

    Args:
        table: A .csv or .tsv file in UTF-8, plain or .gz, whose first line names the columns, or a
            DataFrame. Column names: sentence, source, target, label, optionally followed by "span".

    Returns:
        One `LinkedSentence` per different sentence, in the order of the table.

    Raises:
        ValueError: Columns are missing, a span is not in its sentence, or a sentence consists of
            placeholders such as "[WORD]"; the message names the line.
        OSError: The file cannot be read.

    Example:
        >>> import pandas as pd
        >>> from attnwidget import load_links
        >>> rows = [("He was becoming agitated .", "1", "agitated", "Experiencer")]
        >>> table = pd.DataFrame(rows, columns=["sentence", "source", "target", "label"])
        >>> load_links(table)[0].links
        (Link(source=(0,), target=(3,), label='Experiencer'),)
    """
    sentences: dict[tuple[str, ...], list[Link]] = {}
    names: dict[tuple[str, ...], str] = {}
    for where, cells in _rows(table):
        words = tuple(cells[0].split())
        if not words or not cells[3].strip():
            raise ValueError(f"{where}: the {'label' if words else 'sentence'} is empty")
        refuse_no_text(words, f"{where}: the sentence")
        source, target = (
            _span(cell, words, f"{where}: the {name} span")
            for name, cell in zip(_COLUMNS[1:3], cells[1:3], strict=True)
        )
        sentences.setdefault(words, []).append(Link(source, target, cells[3].strip()))
        names.setdefault(words, where)
    if not sentences:
        raise ValueError(f"{_name(table)}: no links, only a header")
    return [LinkedSentence(w, tuple(links), names[w]) for w, links in sentences.items()]


def _rows(table: str | Path | pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Yield the location of each row for messages, and its cells in the order of `_COLUMNS`."""
    if not isinstance(table, (str, Path)):
        order = _order(list(map(str, table.columns)), "the table")
        is_missing = table.isna().to_numpy()
        column_indices = list(zip(_COLUMNS, order, strict=True))
        for number, row in enumerate(table.itertuples(index=False, name=None)):
            empty = [name for name, column in column_indices if is_missing[number, column]]
            if empty:
                raise ValueError(f"row {number}: no value for {', '.join(empty)}")
            yield f"row {number}", [str(row[column]) for column in order]
        return
    path = Path(table)
    is_tsv = path.name.removesuffix(".gz").endswith(".tsv")
    # csv recognizes quoted line breaks only if the lines include their line ends.
    lines = (f"{line}\n" for line in decoded_lines(path, _EXPECTED))
    reader = csv.reader(lines, delimiter="\t" if is_tsv else ",", strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise ValueError(f"{path}: the file is empty; expected columns {', '.join(_COLUMNS)}")
        order = _order(header, f"{path}:1")
        for cells in reader:
            where = f"{path}:{reader.line_num}"
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise ValueError(f"{where}: expected {len(header)} columns, got {len(cells)}")
            yield where, [cells[column] for column in order]
    except csv.Error as error:
        raise ValueError(f"{path}:{reader.line_num}: {error}") from error


def _order(header: Sequence[str], where: str) -> list[int]:
    """Return the indices of `_COLUMNS` in a header."""
    names = [name.strip().lower().replace("_", " ").removesuffix(" span") for name in header]
    if missing := [name for name in _COLUMNS if name not in names]:
        raise ValueError(
            f"{where}: expected the columns {', '.join(_COLUMNS)}; {', '.join(missing)} missing "
            f"among {', '.join(header) or 'none'}"
        )
    if duplicates := [name for name in _COLUMNS if names.count(name) > 1]:
        raise ValueError(
            f"{where}: {duplicates[0]} is the name of two columns among {', '.join(header)}: "
            "rename or remove one of them"
        )
    return [names.index(name) for name in _COLUMNS]


def _span(text: str, words: Sequence[str], what: str) -> tuple[int, ...]:
    """Return the word indices of a span, which has positions or words."""
    first, dash, last = (part.strip() for part in text.partition("-"))
    if first.isdecimal() and (last.isdecimal() if dash else not last):
        # Read no more than nine digits: Python refuses to read numbers of thousands of digits.
        is_readable = max(len(first), len(last)) < 10
        start, end = (int(first), int(last or first)) if is_readable else (0, 0)
        if not 1 <= start <= end <= len(words):
            raise ValueError(f"{what} {text[:40]!r} is not within the words 1 to {len(words)}")
        return tuple(range(start - 1, end))
    span_words = text.split()
    n = len(span_words)
    positions = [
        i
        for i in range(len(words) - n + 1)
        # Compare the first word first, because most positions differ in it.
        if n and words[i] == span_words[0] and list(words[i : i + n]) == span_words
    ]
    if len(positions) != 1:
        raise ValueError(
            f"{what} {text[:60]!r} occurs {len(positions)} times among the words "
            f"{' '.join(words)[:200]!r}; give the positions of its first and last word, such as 3-5"
        )
    return tuple(range(positions[0], positions[0] + n))


def _name(table: str | Path | pd.DataFrame) -> str:
    return str(table) if isinstance(table, (str, Path)) else "the table"
