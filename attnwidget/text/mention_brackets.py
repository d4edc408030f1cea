"""Mentions written as brackets, `(12 … 12)`, as in coreference corpora."""

from __future__ import annotations

import re

from attnwidget.text.mentions import MentionSpan

_BRACKETS = re.compile(r"\(([^()]+)(\)?)|([^()]+)\)")
# The number of digits is limited because Python refuses to read numbers of thousands of digits.
_PART = re.compile(r"(.+)\[([0-9]{1,9})/([0-9]{1,9})\]")

Spans = tuple[tuple[MentionSpan, ...], str]


class Brackets:
    """Collector of a document's mentions from the brackets at its words.

    Mentions may nest, cross and have several parts. If several mentions of a cluster are open, the
    innermost closes first, because nothing distinguishes them.

    Args:
        field: Index of the cluster among the fields of an opening bracket, which are separated by
            "-".

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
        """Read the brackets at one word.

        Args:
            text: Brackets, such as "(3(4)" or "4)3)".
            word: Index of the word at which mentions open.
            where: File and line, for errors.
            last: Index of the word at which mentions close; None = `word`. At an empty node, which
                is not a word, mentions open at the next word and close at the previous word.

        Raises:
            ValueError: The text is not a sequence of brackets, or closes a mention that is not
                open.
        """
        last = word if last is None else last
        position = 0
        while position < len(text) or not text:
            # `match` takes linear time, while `search` from each position would be quadratic.
            match = _BRACKETS.match(text, position)
            if match is None:
                raise ValueError(
                    f"{where}: {text[:60]!r} is no row of brackets such as (3(4) or 4)3)"
                )
            position = match.end()
            opening, single, closing = match.groups()
            if opening is not None:
                label = self._label(opening, f"({opening}", where)
                self._open.setdefault(label, []).append((word, where))
                if single:
                    self._close(label, last, where)
            else:
                # A closing bracket has only the cluster, or all fields of the opening bracket.
                label = self._label(closing, f"{closing})", where) if "-" in closing else closing
                self._close(label, last, where)

    def finish(self) -> list[Spans]:
        """Return the spans and the cluster of each mention, in the order in which mentions close.

        Raises:
            ValueError: A mention is still open, or parts of a mention are missing.
        """
        for label, open_mentions in self._open.items():
            for _, where in open_mentions:
                raise ValueError(f"{where}: mention ({label} does not close within the document")
        for (cluster, total), unfinished in self._unfinished.items():
            for parts, where in unfinished:
                raise ValueError(
                    f"{where}: mention of {cluster} has {len(parts)} of its {total} parts"
                )
        return self._found

    def _label(self, fields: str, bracket: str, where: str) -> str:
        """Return the label of a mention from the fields of a bracket."""
        parts = fields.split("-")
        if self._field >= len(parts) or not parts[self._field]:
            raise ValueError(f"{where}: bracket {bracket[:60]} names no cluster")
        return parts[self._field]

    def _close(self, label: str, last: int, where: str) -> None:
        """Close the innermost open mention with a label."""
        open_mentions = self._open.get(label)
        if not open_mentions:
            raise ValueError(f"{where}: {label}) closes a mention that is not open")
        first, opened_where = open_mentions.pop()
        # Mentions that open and close at empty nodes have no words.
        span = [(first, last)] if first <= last else []
        part = _PART.fullmatch(label)
        if part is None:
            self._add(span, label)
            return
        cluster = part[1]
        number = int(part[2])
        total = int(part[3])
        incomplete = self._unfinished.setdefault((cluster, total), [])
        if number == 1:
            incomplete.append(([], opened_where))
        for parts, _ in incomplete:
            if len(parts) == number - 1 and number <= total:
                parts.append((first, last))
                break
        else:
            raise ValueError(f"{where}: {label} does not follow part {number - 1} of {cluster}")
        for mention in [mention for mention in incomplete if len(mention[0]) == total]:
            incomplete.remove(mention)
            self._add([s for s in mention[0] if s[0] <= s[1]], cluster)

    def _add(self, spans: list[MentionSpan], cluster: str) -> None:
        if spans:
            self._found.append((tuple(spans), cluster))
