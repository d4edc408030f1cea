"""Sentence pairs with gold word alignments, and a reader for the Pharaoh format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.decoded_lines import decoded_lines
from attnwidget.text.placeholders import refuse_no_text

_LINK = re.compile(r"(\d{1,9})([-?p])(\d{1,9})")
_FORMAT = 'word alignments in the Pharaoh format, such as "0-0 1-2", plain or .gz'
_TEXT = "a text with one sentence per line, its words between spaces, plain or .gz"

WordLink = tuple[int, int]


@dataclass(frozen=True)
class AlignedPair:
    """A sentence and its translation, with the links between their words.

    Attributes:
        source: Words of the sentence that is translated.
        target: Words of the translation.
        sure: Sure links: pairs (source word, target word), from 0.
        possible: Further links that a prediction may have.
        name: Name of the pair, or file and line.

    Raises:
        ValueError: If a sentence has no words, or a link joins words that do not exist.

    Example:
        >>> from attnwidget.results import AlignedPair
        >>> AlignedPair.from_text("the old dog", "le chien vieux", "0-0 1-2 2-1").sure
        ((0, 0), (1, 2), (2, 1))
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: tuple[WordLink, ...]
    possible: tuple[WordLink, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        label = self.name or "pair"
        if not self.source or not self.target:
            side = "target" if self.source else "source"
            raise ValueError(f"{label}: the {side} sentence has no words")
        for link in (*self.sure, *self.possible):
            if not (0 <= link[0] < len(self.source) and 0 <= link[1] < len(self.target)):
                raise ValueError(
                    f"{label}: the link {link[0]}-{link[1]} must join one of the source words 0 to "
                    f"{len(self.source) - 1} and one of the target words 0 to "
                    f"{len(self.target) - 1}; files that count from 1 need first=1"
                )

    @classmethod
    def from_text(
        cls, source: str, target: str, links: str, *, first: int = 0, name: str = ""
    ) -> AlignedPair:
        """Return a pair from two sentences and the text of their links.

        Args:
            source: Sentence that is translated, with spaces between its words.
            target: Translation, with spaces between its words.
            links: Links in the Pharaoh format: "0-0" for a sure link, "1?2" or "1p2" for a possible
                link, source word first.
            first: Number of the first word, 0 or 1.
            name: Name of the pair for error messages.

        Raises:
            ValueError: If a link has another format, or joins words that do not exist.
        """
        sure, possible = _links(links, first, name or "pair")
        return cls(tuple(source.split()), tuple(target.split()), sure, possible, name)


@hides_frames
def load_alignments(
    path: str | Path, source: str | Path, target: str | Path, *, first: int = 0
) -> list[AlignedPair]:
    """Load sentence pairs with word alignments in the Pharaoh format.

    Line n of all three files is pair n. Lines without a sentence and without links are left out.

    Args:
        path: File of links, such as "0-0 1-2 3?2": source word, "-" for a sure link or "?" or "p"
            for a possible link, target word.
        source: File of the sentences that are translated, with spaces between words.
        target: File of the translations, with spaces between words.
        first: Number of the first word of a sentence in `path`, 0 or 1.

    Returns:
        Pairs in the order of the files, for `probe_alignment`.

    Raises:
        ValueError: If the files have different numbers of lines, or a link has another format or
            joins words that do not exist; the message names the line.
        OSError: If a file cannot be read.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_alignments
        >>> folder = Path(tempfile.mkdtemp())
        >>> paths = [folder / name for name in ("links.txt", "text.en", "text.fr")]
        >>> for path, line in zip(paths, ["0-0 1-2 2-1", "the old dog", "le chien vieux"]):
        ...     _ = path.write_text(line)
        >>> load_alignments(*paths)[0].target
        ('le', 'chien', 'vieux')
    """
    if first not in (0, 1):
        raise ValueError(f"first must be 0 or 1, the number of the first word, got {first!r}")
    files = [(path, _FORMAT), (source, _TEXT), (target, _TEXT)]
    lines = [list(decoded_lines(Path(file), expected)) for file, expected in files]
    counts = [len(of_file) for of_file in lines]
    if len({*counts}) > 1:
        raise ValueError(
            f"the three files must have the same number of lines: {path} has {counts[0]}, {source} "
            f"has {counts[1]}, {target} has {counts[2]}"
        )
    pairs = []
    for number, (links, source_text, target_text) in enumerate(zip(*lines, strict=True), 1):
        where = f"{path}:{number}"
        if not (links.strip() or source_text.strip() or target_text.strip()):
            continue
        for file, text in ((source, source_text), (target, target_text)):
            refuse_no_text(text.split(), f"{file}:{number}: the sentence")
        pairs.append(
            AlignedPair.from_text(source_text, target_text, links, first=first, name=where)
        )
    if not any(pair.sure or pair.possible for pair in pairs):
        raise ValueError(f"{path} has no links: expected {_FORMAT}")
    return pairs


def _links(text: str, first: int, where: str) -> tuple[tuple[WordLink, ...], tuple[WordLink, ...]]:
    """Return the sure and the possible links of a line."""
    sure: list[WordLink] = []
    possible: list[WordLink] = []
    for part in text.split():
        matched = _LINK.fullmatch(part)
        if matched is None:
            raise ValueError(
                f'{where}: a link must be written as "0-2", or as "0?2" or "0p2" if it is only '
                f"possible; got {part[:40]!r}"
            )
        link = int(matched[1]) - first, int(matched[3]) - first
        (sure if matched[2] == "-" else possible).append(link)
    return tuple(dict.fromkeys(sure)), tuple(dict.fromkeys(possible))


def n_sure_links(pairs: Sequence[AlignedPair]) -> int:
    """Return the number of sure links of all pairs."""
    return sum(len(pair.sure) for pair in pairs)
