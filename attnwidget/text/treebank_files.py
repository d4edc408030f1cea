"""Readers for treebank files: CoNLL-U, and lines of the form `word governor-relation`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from conllu.exceptions import ParseException
from conllu.parser import parse_comment_line, parse_dict_value, parse_id_value

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.decoded_lines import decoded_lines
from attnwidget.text.loaded import Loaded, loaded
from attnwidget.text.running_text import close_range
from attnwidget.text.treebank import Sentence, tree_fault
from attnwidget.text.whole_number import whole_number

_EXPECTED = "a treebank (.conllu, or lines of `word governor-relation`), plain or .gz"
_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
# Largest number of digits in a word number. Python refuses to read numbers of thousands of digits.
_DIGITS = 9
# Relation of words in treebanks that have only governors.
_UNLABELLED = "unlabeled"
_PAIR = re.compile(r"(\S+) (\d+)-(\S+)")


@hides_frames
def load_treebank(
    path: str | Path, *, limit: int | None = None, skip_invalid: bool = False
) -> Loaded[Sentence]:
    r"""Load the sentences of a treebank file, UTF-8, plain or .gz.

    In CoNLL-U, words are the numbered lines. Ranges (2-3) and empty nodes (2.1) are not words of
    the tree; a range only shows that there are no spaces between its words. The second format has
    lines of the form `word governor-relation`, and an empty line after each sentence. Clark et al.
    2019 stored their Stanford Dependencies in this format.

    Args:
        path: Treebank file.
        limit: Number of sentences to read; the rest is not checked. None = all sentences.
        skip_invalid: Whether to leave out sentences that are not a single tree, have broken lines,
            or have no text. A warning states how many sentences were left out, and the attribute
            `left_out` of the list has the reason for each. Studies add the number to `n_skipped`
            of their result.

    Returns:
        A list of sentences.

    Warns:
        UserWarning: `skip_invalid` left out sentences.

    Raises:
        ValueError: The file has neither format, is empty, is not UTF-8, or is truncated; or a
            sentence (with `skip_invalid`, every sentence) is not a single tree or has placeholders
            such as "_" instead of words. The message names file and line.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_treebank
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "two.txt")
        ...     _ = path.write_text("\n".join(["Cats 2-nsubj", "purr 0-root", "", "Look 0-root"]))
        ...     sentences = load_treebank(path)
        >>> [sentence.text for sentence in sentences]
        ['Cats purr', 'Look']
    """
    if limit is not None:
        limit = whole_number("limit", limit, 1, "sentence")
    sentences = loaded(
        _parts(Path(path)),
        kind="sentence",
        source=str(path),
        loader="load_treebank",
        skip_invalid=skip_invalid,
        limit=limit,
    )
    if not sentences:
        raise ValueError(f"{path} holds no sentence: the file is empty, or has comments alone")
    return sentences


def _parts(path: Path) -> Iterator[Callable[[], Sentence | None]]:
    """Yield functions that return the sentences of a file in either format.

    The functions raise a ValueError that names file and line.
    """
    parse: Callable[[_Block], _Rows | None] | None = None
    for block in _blocks(path):
        if parse is None:
            is_pairs = not path.name.removesuffix(".gz").endswith(".conllu") and _PAIR.fullmatch(
                block.lines[0]
            )
            parse = _from_pairs if is_pairs else _from_conllu
        yield partial(_sentence, parse, block)


def _sentence(read: Callable[[_Block], _Rows | None], block: _Block) -> Sentence | None:
    rows = read(block)
    return None if rows is None else rows.sentence()


@dataclass
class _Block:
    """Consecutive non-empty lines of a file, with the number of the first line."""

    path: Path
    first: int
    lines: list[str] = field(default_factory=list)

    def at(self, line: int) -> str:
        """Return file and line number of `lines[line]`, for `Sentence.source`."""
        return f"{self.path.name}:{self.first + line}"

    def fault(self, line: int, problem: str) -> ValueError:
        """Return an error that names file and line."""
        return ValueError(f"{self.path}:{self.first + line}: {problem}")


@dataclass
class _Rows:
    """Sentence that is being read, with the line number of each word."""

    block: _Block
    name: str = ""
    words: list[str] = field(default_factory=list)
    governors: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def add(self, line: int, word: str, governor: str, relation: str) -> None:
        """Add a word with its governor and relation."""
        if not word.strip():
            raise self.block.fault(line, "the word is empty")
        if not governor.isascii() or not governor.isdigit() or len(governor) > _DIGITS:
            raise self.block.fault(
                line,
                f"the governor of {word[:60]!r} is {governor[:20]!r}: expected the number of a "
                "word, or 0 for the root",
            )
        self.words.append(word)
        self.governors.append(int(governor))
        self.relations.append(relation)
        self.lines.append(line)

    def sentence(self) -> Sentence:
        """Return the sentence; raise ValueError if the governors are not a tree."""
        if tree_error := tree_fault(self.governors):
            position, problem = tree_error
            word = f"word {position} {self.words[position - 1]!r}"
            raise self.block.fault(self.lines[position - 1], f"{word} {problem}")
        return Sentence(
            tuple(self.words),
            tuple(self.governors),
            tuple(self.relations),
            tags=tuple(self.tags),
            xpos=tuple(self.xpos),
            name=self.name,
            source=self.block.at(0),
            space_after=tuple(self.space_after),
        )


def _blocks(path: Path) -> Iterator[_Block]:
    """Yield blocks of decoded lines; empty lines separate blocks."""
    block = _Block(path, 1)
    for number, line in enumerate(decoded_lines(path, _EXPECTED), 1):
        if line.strip():
            if not block.lines:
                block.first = number
            block.lines.append(line)
        elif block.lines:
            yield block
            block = _Block(path, number + 1)
    if block.lines:
        yield block


def _from_conllu(block: _Block) -> _Rows | None:
    """Return the sentence of a CoNLL-U block, or None if it has no words."""
    rows = _Rows(block)
    # First and last word of the latest range, and its row.
    latest = 0, 0
    range_row = dict[str, Any]()
    for index, line in enumerate(block.lines):
        if line.startswith("#"):
            for key, value in parse_comment_line(line):
                if key == "sent_id":
                    rows.name = value or ""
            continue
        row = _columns(block, index, line)
        identifier = row["id"]
        if isinstance(identifier, tuple):
            if identifier[1] == "-":
                first, _, last = identifier
                if problem := _range_fault((first, last), latest, len(rows.words)):
                    raise block.fault(index, problem)
                latest = first, last
                range_row = row
            continue
        if identifier != len(rows.words) + 1:
            raise block.fault(
                index, f"word number {identifier} where {len(rows.words) + 1} was expected"
            )
        relation = _known(row["deprel"].strip()) or _UNLABELLED
        rows.add(index, row["form"], row["head"], relation)
        rows.tags.append(_known(row["upos"]))
        rows.xpos.append(_known(row["xpos"]))
        rows.space_after.append(row["misc"].get("SpaceAfter") != "No")
        if identifier == latest[1]:
            close_range(
                rows.words,
                rows.space_after,
                latest[1] - latest[0] + 1,
                range_row["form"],
                space=range_row["misc"].get("SpaceAfter") != "No",
            )
    if latest[1] > len(rows.words):
        raise block.fault(
            len(block.lines) - 1,
            f"the sentence ends at word {len(rows.words)} inside a range up to {latest[1]}",
        )
    return rows if rows.words else None


def _range_fault(new: tuple[int, int], before: tuple[int, int], n_words: int) -> str:
    """Return the reason why a word range cannot begin here, or "".

    Args:
        new: First and last word of the range, from 1.
        before: First and last word of the previous range.
        n_words: Number of words before the range.
    """
    first, last = new
    if first <= before[1]:
        return f"the range {first}-{last} begins within the range {before[0]}-{before[1]}"
    if first != n_words + 1:
        return f"the range {first}-{last} comes after word {n_words}"
    return ""


def _columns(block: _Block, index: int, line: str) -> dict[str, Any]:
    """Return the columns of a CoNLL-U line by name."""
    columns = line.split("\t")
    if len(columns) != len(_COLUMNS):
        raise block.fault(
            index,
            f"expected the 10 columns of CoNLL-U with tabs between them, found {len(columns)}: "
            f"{line[:60]!r}",
        )
    row: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True))
    try:
        row["id"], row["misc"] = parse_id_value(row["id"]), parse_dict_value(row["misc"]) or {}
    except (ParseException, ValueError) as error:
        raise block.fault(
            index, f"the first column numbers a word: {str(error)[:80]}, got {columns[0][:20]!r}"
        ) from error
    if row["id"] is None:
        raise block.fault(index, "the word has no number in its first column")
    return row


def _known(tag: str) -> str:
    return "" if tag == "_" else tag


def _from_pairs(block: _Block) -> _Rows:
    """Return the sentence of a block with lines of the form `word governor-relation`."""
    rows = _Rows(block)
    for index, line in enumerate(block.lines):
        pair = _PAIR.fullmatch(line.strip())
        if pair is None:
            raise block.fault(
                index, f"expected `word governor-relation`, such as 'cats 2-nsubj', got {line!r}"
            )
        rows.add(index, *pair.groups())
    return rows
