"""Mentions written as brackets, `(12 … 12)`, as coreference corpora have them."""

from __future__ import annotations

import re

from attnwidget.text.mentions import MentionSpan

_BRACKETS = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
# Of a number of thousands of digits, which Python does not read, a label is no part.
_PART = re.compile(r"(.+)\[([0-9]{1,9})/([0-9]{1,9})\]")

Spans = tuple[tuple[MentionSpan, ...], str]


class Brackets:
    """Collects the mentions of a document from the brackets at its words.

    Mentions may nest, cross and have several parts. The same cluster's innermost mention closes
    first, since nothing tells its mentions apart.

    Args:
        field: which of the fields in an opening bracket, separated by "-", names the cluster.

    Example:
        >>> from attnwidget.text.mention_brackets import Brackets
        >>> brackets = Brackets()
        >>> brackets.read("(1(2)", word=0, where="file:1")
        >>> brackets.read("1)", word=1, where="file:2")
        >>> brackets.finish()
        [(((0, 0),), '2'), (((0, 1),), '1')]
    """

    def __init__(self, field: int = 0) -> None:
        self._field = field
        self._open: dict[str, list[tuple[int, str]]] = {}
        self._unfinished: dict[tuple[str, int], list[tuple[list[MentionSpan], str]]] = {}
        self._found: list[Spans] = []

    def read(self, text: str, *, word: int, where: str, last: int | None = None) -> None:
        """Take the brackets at one word.

        Args:
            text: the brackets, such as "(3(4)" or "4)3)".
            word: index of the word that mentions open at.
            where: file and line, for errors.
            last: index of the word that mentions close at; None = `word`. At an empty node, which
                is no word, mentions open at the next word and close at the one before.

        Raises:
            ValueError: the text is no row of brackets, or closes what is not open.
        """
        last = word if last is None else last
        at = 0
        while at < len(text) or not text:
            # Searching on from every place would take the square of a long text's length.
            match = _BRACKETS.match(text, at)
            if match is None:
                raise ValueError(
                    f"{where}: {text[:60]!r} is no row of brackets such as (3(4) or 4)3)"
                )
            at = match.end()
            opened, single, closed = match.groups()
            if opened is not None:
                label = self._label(opened, f"({opened}", where)
                self._open.setdefault(label, []).append((word, where))
                if single:
                    self._close(label, last, where)
            else:
                # A closing bracket has the cluster alone, or the fields of the opening one.
                label = self._label(closed, f"{closed})", where) if "-" in closed else closed
                self._close(label, last, where)

    def finish(self) -> list[Spans]:
        """The spans of every mention and its cluster, in the order in which they close.

        Raises:
            ValueError: a mention is open, or parts of one are missing.
        """
        for label, places in self._open.items():
            for _, where in places:
                raise ValueError(f"{where}: mention ({label} does not close within the document")
        for (cluster, total), unfinished in self._unfinished.items():
            for parts, where in unfinished:
                raise ValueError(
                    f"{where}: mention of {cluster} has {len(parts)} of its {total} parts"
                )
        return self._found

    def _label(self, fields: str, bracket: str, where: str) -> str:
        parts = fields.split("-")
        if self._field >= len(parts) or not parts[self._field]:
            raise ValueError(f"{where}: bracket {bracket[:60]} names no cluster")
        return parts[self._field]

    def _close(self, label: str, last: int, where: str) -> None:
        places = self._open.get(label)
        if not places:
            raise ValueError(f"{where}: {label}) closes a mention that is not open")
        first, opened_where = places.pop()
        # What opens and closes at empty nodes has no words.
        span = [(first, last)] if first <= last else []
        part = _PART.fullmatch(label)
        if part is None:
            self._add(span, label)
            return
        cluster = part[1]
        number = int(part[2])
        total = int(part[3])
        waiting = self._unfinished.setdefault((cluster, total), [])
        if number == 1:
            waiting.append(([], opened_where))
        for parts, _ in waiting:
            if len(parts) == number - 1 and number <= total:
                parts.append((first, last))
                break
        else:
            raise ValueError(f"{where}: {label} does not follow part {number - 1} of {cluster}")
        for done in [mention for mention in waiting if len(mention[0]) == total]:
            waiting.remove(done)
            self._add([s for s in done[0] if s[0] <= s[1]], cluster)

    def _add(self, spans: list[MentionSpan], cluster: str) -> None:
        if spans:
            self._found.append((tuple(spans), cluster))
