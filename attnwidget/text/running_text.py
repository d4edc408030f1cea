"""Words in the order of a text, and where no space stands between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RunningText:
    """The words of a text, as corpora with annotated words give them.

    Attributes:
        words: One or more words. A word may contain spaces.
        space_after: For each word, False if the next word follows without a space; empty = spaces
            between all words.
        label: Name of the text in errors.

    Example:
        >>> from attnwidget.text.running_text import RunningText
        >>> RunningText(("He", "does", "n't", "go"), (True, False, True, True)).text
        "He doesn't go"
    """

    words: tuple[str, ...]
    space_after: tuple[bool, ...] = ()
    label: str = "text"

    @property
    def text(self) -> str:
        """The words as one string, as written."""
        spaces = self.space_after or (True,) * len(self.words)
        written = (word + " " * space for word, space in zip(self.words, spaces, strict=True))
        return "".join(written).rstrip()

    @property
    def with_spaces(self) -> RunningText:
        """The same words with a space between any two words."""
        return replace(self, space_after=())

    def part(self, start: int, end: int | None) -> RunningText:
        """Return the words from `start` to `end` (excluded; None = all further words)."""
        place = slice(start, end)
        return replace(self, words=self.words[place], space_after=self.space_after[place])


def close_range(
    words: Sequence[str], space_after: list[bool], n: int, form: str, *, space: bool
) -> None:
    """Note missing spaces in a multiword range of CoNLL-U, such as "don't" for "do" and "n't".

    Args:
        words: The words so far. The last `n` are in the range.
        space_after: For each word, whether a space follows. The entries of the range are changed:
            the words have no spaces between them if they spell `form`.
        n: Number of words of the range.
        form: The range as written.
        space: Whether a space follows the range.

    Example:
        >>> from attnwidget.text.running_text import close_range
        >>> spaces = [True, True, True]
        >>> close_range(["I", "do", "n't"], spaces, 2, "don't", space=True)
        >>> spaces
        [True, False, True]
    """
    if "".join(words[len(words) - n :]) == form:
        space_after[-n:-1] = [False] * (n - 1)
    space_after[-1] = space
