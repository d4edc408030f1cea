"""Documents with coreference from files: CorefUD and CoNLL-2012."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.decoded_lines import decoded_lines
from attnwidget.text.loaded import Loaded, loaded
from attnwidget.text.mention_brackets import Brackets
from attnwidget.text.mentions import Document, Mention, MentionKind
from attnwidget.text.running_text import close_range
from attnwidget.text.treebank import tree_fault

__all__ = ["Document", "Mention", "MentionKind", "load_coreference"]

# If a file has one of these Penn Treebank tags, its XPOS column determines the kinds of mentions.
# Otherwise the UPOS column does.
_PENN = frozenset({"PRP", "PRP$", "NNP", "NNPS"})
_NUMBER = re.compile("[0-9]{1,9}")
# Numbers of lines without a word of their own: word ranges (1-2) and empty nodes (1.1).
_NO_WORD = re.compile("[0-9]{1,9}[-.][0-9]{1,9}")
_CLUSTER_FIELDS = ("GRP", "eid")

_BEGIN = "#begin document"

Lines = Iterable[tuple[int, str]]
_EXPECTED = "documents of CorefUD (.conllu) or CoNLL-2012 (.conll), plain or .gz"


@hides_frames
def load_coreference(path: str | Path, *, skip_invalid: bool = False) -> Loaded[Document]:
    """Load documents with mentions from CorefUD (.conllu) or CoNLL-2012 (.conll), plain or .gz.

    The format is detected from the beginning of the file. CorefUD files have brackets in `Entity=`
    of the MISC column, with the fields that `# global.Entity` lists, and documents start at
    `# newdoc`. Mentions may nest, cross and be discontinuous; mentions that consist only of empty
    nodes are left out. CoNLL-2012 files have brackets in the last column, and documents between
    `#begin document` and `#end document`. Head words come from the dependency trees of the file if
    it has trees (`head_word`).

    Args:
        path: UTF-8 file, plain or .gz.
        skip_invalid: Whether to leave out documents with broken lines or brackets, with a sentence
            that is not a single tree, or without their text. A warning states how many documents
            were left out, and the attribute `left_out` of the list has the reason for each. The
            result of `probe_coreference` states the number.

    Returns:
        The documents in file order, with all mentions, including mentions without a coreferent
        mention.

    Warns:
        UserWarning: `skip_invalid` left out documents.

    Raises:
        ValueError: The file has another format or is empty; or a document (with `skip_invalid`,
            every document) is broken or has placeholders such as "[WORD]" instead of words. The
            message names the line.
        OSError: The file cannot be read.

    Example:
        >>> from attnwidget import load_coreference
        >>> documents = load_coreference("en_gum.conllu.gz")  # doctest: +SKIP
    """
    path = Path(path)
    lines = enumerate(decoded_lines(path, _EXPECTED), 1)
    first_lines: list[tuple[int, str]] = []
    is_conll_2012 = False
    for number, line in lines:
        first_lines.append((number, line))
        is_conll_2012 = line.startswith(_BEGIN)
        if is_conll_2012 or (line and not line.startswith("#")):
            break
    all_lines = chain(first_lines, lines)
    documents = loaded(
        _conll_2012(path, all_lines) if is_conll_2012 else _corefud(path, all_lines),
        kind="document",
        source=str(path),
        loader="load_coreference",
        skip_invalid=skip_invalid,
    )
    return _checked(documents, path)


def _checked(documents: Loaded[Document], path: Path) -> Loaded[Document]:
    """Return the documents; raise ValueError if there are no documents or no mentions."""
    if not documents:
        raise ValueError(f"{path}: no documents; expected CorefUD (.conllu) or CoNLL-2012 lines")
    if not any(document.mentions for document in documents):
        raise ValueError(
            f"{path}: no mentions in {len(documents)} documents; expected Entity=(…) in the MISC "
            "column (CorefUD) or brackets in the last column (CoNLL-2012)"
        )
    return documents


@dataclass
class _OpenDocument:
    """Document whose lines are being read."""

    name: str
    source: str
    brackets: Brackets
    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    governors: list[int] = field(default_factory=list)
    space_after: list[bool] = field(default_factory=list)

    def close(self) -> Document:
        """Return the document of all lines."""
        has_penn_tags = not _PENN.isdisjoint(self.xpos)
        tags = self.xpos if has_penn_tags else self.upos
        return Document.from_spans(
            self.words,
            self.brackets.finish(),
            sentence_starts=self.starts,
            tags=["" if tag == "_" else tag for tag in tags] if any(tags) else (),
            governors=self.governors,
            name=self.name,
            source=self.source,
            space_after=() if all(self.space_after) else self.space_after,
        )


def _parts(lines: Lines, is_start: Callable[[str], bool]) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines before the first document, and then the lines of each document."""
    part: list[tuple[int, str]] = []
    for number, line in lines:
        if is_start(line):
            yield part
            part = []
        part.append((number, line))
    yield part


def _corefud(path: Path, lines: Lines) -> Iterator[Callable[[], Document | None]]:
    """Yield functions that return the documents of a CorefUD file."""
    reader = _CorefUD(path)
    for part in _parts(lines, _begins_corefud):
        yield partial(reader.document, part)


def _begins_corefud(line: str) -> bool:
    return line.startswith("#") and line[1:].partition("=")[0].split()[:1] == ["newdoc"]


class _CorefUD:
    """Reader of the documents of one file, whose brackets have the same field order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cluster_field: int | None = None

    def document(self, part: list[tuple[int, str]]) -> Document | None:
        """Return the document in numbered lines, or None if the lines contain no words.

        Args:
            part: Lines of the document with their numbers.
        """
        path = self._path
        document: _OpenDocument | None = None
        rows: list[tuple[int, list[str]]] = []
        for number, line in chain(part, [(0, "")]):
            where = f"{path}:{number}"
            if line.startswith("#"):
                value = line.partition("=")[2].strip()
                if _begins_corefud(line):
                    document = _OpenDocument(
                        value, f"{path.name}:{number}", Brackets(self._cluster_field or 0)
                    )
                elif line[1:].partition("=")[0].strip() == "global.Entity":
                    self._cluster_field = _cluster_field(value, where)
                    if document is not None and not document.words:
                        document.brackets = Brackets(self._cluster_field)
            elif line.strip():
                columns = line.split("\t")
                if len(columns) != 10:
                    raise ValueError(
                        f"{where}: expected the 10 tab-separated columns of CoNLL-U, got "
                        f"{len(columns)}; make documents of other formats, such as JSON, with "
                        "Document.from_spans(words, spans)"
                    )
                rows.append((number, columns))
            elif rows:
                if document is None:
                    document = _OpenDocument(path.stem, f"{path.name}:{rows[0][0]}", Brackets())
                _add_sentence(document, rows, path, self._cluster_field)
                rows = []
        return document.close() if document is not None and document.words else None


def _cluster_field(value: str, where: str) -> int:
    """Return the index of the cluster among the fields of `global.Entity`."""
    fields = value.split("-")
    for name in _CLUSTER_FIELDS:
        if name in fields:
            return fields.index(name)
    raise ValueError(
        f"{where}: global.Entity has the fields {', '.join(fields)}; expected "
        f"{' or '.join(_CLUSTER_FIELDS)} among them, which names the cluster"
    )


def _add_sentence(
    document: _OpenDocument,
    rows: list[tuple[int, list[str]]],
    path: Path,
    cluster_field: int | None,
) -> None:
    """Add the rows of a sentence to a document."""
    start = len(document.words)
    document.starts.append(start)
    governors: list[tuple[str, str]] = []
    word_range: tuple[int, int, str, bool] | None = None
    for number, columns in rows:
        where = f"{path}:{number}"
        index = columns[0]
        attributes = [attribute.strip() for attribute in columns[9].split("|")]
        space = "SpaceAfter=No" not in attributes
        is_word = not _NO_WORD.fullmatch(index)
        if is_word:
            if index != str(len(governors) + 1):
                raise ValueError(
                    f"{where}: expected the word number {len(governors) + 1}, got {index[:20]!r}"
                )
            if not columns[1].strip():
                raise ValueError(f"{where}: word {index} is empty")
            document.words.append(columns[1])
            document.upos.append(columns[3])
            document.xpos.append(columns[4])
            document.space_after.append(space)
            governors.append((columns[6], where))
            if word_range is not None and len(governors) == word_range[1]:
                first, last, form, space_after_range = word_range
                close_range(
                    document.words,
                    document.space_after,
                    last - first + 1,
                    form,
                    space=space_after_range,
                )
                word_range = None
        elif "-" in index:
            first, last = map(int, index.split("-"))
            # A range that does not begin at the next word is invalid; its words keep their spaces.
            if first == len(governors) + 1 <= last:
                word_range = (first, last, columns[1], space)
        for attribute in attributes:
            if attribute.startswith("Entity="):
                if cluster_field is None:
                    raise ValueError(f"{where}: Entity= comes before any # global.Entity = … line")
                _read_entity(document, attribute.removeprefix("Entity="), index, where)
    if not governors:
        raise ValueError(f"{path}:{rows[0][0]}: a sentence without words")
    document.governors += _governors(governors, start)


def _read_entity(document: _OpenDocument, brackets: str, index: str, where: str) -> None:
    """Read the brackets at the latest word, or at an empty node after it.

    Args:
        document: Document with all words up to this line.
        brackets: Brackets of mentions that begin or end here.
        index: First column of the line.
        where: File and line, for messages.
    """
    if "-" in index:
        raise ValueError(
            f"{where}: Entity= stands at the range {index}: expected it at the words of the range, "
            "because a range is no word"
        )
    last = len(document.words) - 1
    is_word = not _NO_WORD.fullmatch(index)
    document.brackets.read(brackets, word=last if is_word else last + 1, last=last, where=where)


def _governors(heads: list[tuple[str, str]], start: int) -> list[int]:
    """Return the governors as indices into the document, and check that they form a tree."""
    governors = []
    for word, (text, where) in enumerate(heads, 1):
        if not _NUMBER.fullmatch(text):
            raise ValueError(
                f"{where}: the governor of word {word} is the number of a word, or 0 for the root; "
                f"got {text[:20]!r}"
            )
        governors.append(int(text))
    if tree_error := tree_fault(governors):
        word, problem = tree_error
        raise ValueError(f"{heads[word - 1][1]}: word {word} {problem}")
    return [start + governor - 1 if governor else -1 for governor in governors]


def _conll_2012(path: Path, lines: Lines) -> Iterator[Callable[[], Document | None]]:
    """Yield functions that return the documents of a CoNLL-2012 file."""
    previous: list[tuple[int, str]] | None = None
    for part in _parts(lines, _begins_conll_2012):
        if previous is not None:
            yield partial(_conll_2012_document, path, previous, part[0][0])
        previous = part
    if previous is not None:
        yield partial(_conll_2012_document, path, previous, None)


def _begins_conll_2012(line: str) -> bool:
    return line.startswith(_BEGIN)


def _add_conll_2012_word(
    document: _OpenDocument | None, columns: list[str], where: str, *, begins_sentence: bool
) -> None:
    """Add the word of a line, with its brackets, to a document."""
    if document is None or len(columns) < 12:
        raise ValueError(
            f"{where}: expected 12 or more columns between #begin and #end document, "
            f"got {len(columns)}{' outside of a document' if document is None else ''}"
        )
    word = len(document.words)
    if begins_sentence:
        document.starts.append(word)
    number = word - document.starts[-1]
    if columns[2] != str(number):
        raise ValueError(f"{where}: expected the word number {number}, got {columns[2]!r}")
    document.words.append(columns[3])
    document.xpos.append(columns[4])
    document.upos.append("")
    if columns[-1] != "-":
        for bracket in columns[-1].split("|"):
            document.brackets.read(bracket, word=word, where=where)


def _conll_2012_document(
    path: Path, part: list[tuple[int, str]], following: int | None
) -> Document | None:
    """Return the document in numbered lines, or None if the lines contain no words.

    Args:
        path: The file.
        part: Lines up to the beginning of the next document.
        following: Number of the line where the next document begins; None = no further document.
    """
    document: _OpenDocument | None = None
    finished_document: Document | None = None
    in_sentence = False
    for number, line in part:
        where = f"{path}:{number}"
        if _begins_conll_2012(line):
            name, _, section = line.removeprefix(_BEGIN).partition(";")
            title = " ".join([name.strip().strip("()"), section.strip()]).strip()
            document = _OpenDocument(title, f"{path.name}:{number}", Brackets())
        elif line.startswith("#end document"):
            if document is None:
                raise ValueError(f"{where}: a document ends that did not begin")
            finished_document = document.close() if document.words else None
            document = None
        elif not line.strip():
            in_sentence = False
        elif not line.startswith("#"):
            _add_conll_2012_word(document, line.split(), where, begins_sentence=not in_sentence)
            in_sentence = True
    if document is not None and following is not None:
        raise ValueError(f"{path}:{following}: the document of {document.source} has not ended")
    if document is not None:
        raise ValueError(f"{document.source}: the document has no #end document")
    return finished_document
