"""Words in text order, with the positions where no space follows a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RunningText:
    """The words of a text, as in corpora with annotated words.

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
        """Words as one string, with the spaces of the original text."""
        spaces = self.space_after or (True,) * len(self.words)
        word_strings = (word + " " * space for word, space in zip(self.words, spaces, strict=True))
        return "".join(word_strings).rstrip()

    @property
    def with_spaces(self) -> RunningText:
        """Running text with the same words and a space between all words."""
        return replace(self, space_after=())

    def part(self, start: int, end: int | None) -> RunningText:
        """Return a part of the words.

        Args:
            start: Index of the first word.
            end: Index after the last word; None = to the end.
        """
        word_slice = slice(start, end)
        return replace(self, words=self.words[word_slice], space_after=self.space_after[word_slice])


def close_range(
    words: Sequence[str], space_after: list[bool], n: int, form: str, *, space: bool
) -> None:
    """Record missing spaces in a multiword range of CoNLL-U, such as "don't" for "do" and "n't".

    Args:
        words: Words up to the end of the range, whose last `n` words are the range.
        space_after: For each word, whether a space follows. The function changes the entries of the
            range: if the words spell `form`, there are no spaces between them.
        n: Number of words in the range.
        form: Written form of the range.
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
