"""Minimal pairs: an acceptable sentence and a minimally different, unacceptable sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.segments import read_lines

_EXPECTED = "minimal pairs, JSON lines with sentence_good and sentence_bad (.jsonl), plain or .gz"


@dataclass(frozen=True)
class MinimalPair:
    """An acceptable and an unacceptable sentence that differ in one or two words.

    Attributes:
        good: The acceptable sentence.
        bad: The unacceptable sentence.
        phenomenon: Grammatical phenomenon that the pair tests; in BLiMP, the UID of the paradigm.

    Example:
        >>> from attnwidget import MinimalPair
        >>> MinimalPair("Susan revealed herself.", "Susan revealed themselves.").differing
        (('herself.',), ('themselves.',))
    """

    good: str
    bad: str
    phenomenon: str = ""

    def __post_init__(self) -> None:
        for sentence in (self.good, self.bad):
            if not isinstance(sentence, str) or not sentence.strip():
                raise ValueError(f"a minimal pair must be two sentences, got {sentence!r}")
        if self.good == self.bad:
            raise ValueError(f"both sentences of a minimal pair are {self.good!r}")

    @property
    def differing(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Words of each sentence between the common beginning and the common end."""
        good = self.good.split()
        bad = self.bad.split()
        start, end = common_ends(good, bad)
        return tuple(good[start : len(good) - end]), tuple(bad[start : len(bad) - end])


def common_ends(first: Sequence[object], second: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common beginning and the common end of two sequences.

    Args:
        first: First sequence.
        second: Second sequence.

    Example:
        >>> from attnwidget.text.minimal_pairs import common_ends
        >>> common_ends([1, 2, 3, 9], [1, 5, 9])
        (1, 1)
    """
    shorter = min(len(first), len(second))
    start = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    n_remaining = shorter - start
    end = next((i for i in range(n_remaining) if first[-1 - i] != second[-1 - i]), n_remaining)
    return start, end


@hides_frames
def load_minimal_pairs(path: str | Path) -> list[MinimalPair]:
    """Load the pairs of a BLiMP file (Warstadt et al. 2020): JSON lines, plain or .gz.

    Args:
        path: Path of the file. Each line has sentence_good and sentence_bad, and may have a UID.

    Raises:
        OSError: The file does not exist or cannot be read.
        ValueError: A line is not such a JSON object, or the file is empty.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from attnwidget import load_minimal_pairs
        >>> line = '{"sentence_good": "Cats purr.", "sentence_bad": "Cats purrs.", "UID": "sv"}'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "pairs.jsonl")
        ...     _ = path.write_text(line)
        ...     load_minimal_pairs(path)
        [MinimalPair(good='Cats purr.', bad='Cats purrs.', phenomenon='sv')]
    """
    pairs = []
    for number, line in enumerate(read_lines(path, _EXPECTED), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            pair = MinimalPair(
                record["sentence_good"], record["sentence_bad"], str(record.get("UID", ""))
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"line {number} of {Path(path).name} is no minimal pair, a JSON object with "
                f"sentence_good and sentence_bad: {error}"
            ) from error
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"{Path(path).name} has no minimal pairs")
    return pairs
