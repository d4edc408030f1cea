"""Sentences with their dependency trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from attnwidget.text.placeholders import refuse_no_text
from attnwidget.text.running_text import RunningText
from attnwidget.text.whole_number import whole_number


@dataclass(frozen=True)
class Sentence:
    """A sentence and its dependency tree; every tuple has one entry per word.

    Attributes:
        words: The words as the treebank splits them: "do" and "n't" are two words.
        governors: Position of the governor of each word, counted from 1; 0 for the root.
        relations: Relation of each word to its governor with its subtype, such as "nmod:poss".
            "unlabeled" in treebanks that have governors alone.
        tags: Universal part-of-speech tags, "" for unknown tags; empty if there are no tags.
        xpos: Part-of-speech tags of the treebank, in the same form.
        name: Name of the sentence in the treebank.
        source: File and line of the sentence, such as "file.conllu:123".
        space_after: For each word, False if the next word follows without a space; empty = spaces
            after all words. Models whose vocabulary marks spaces read the sentence so.

    Raises:
        ValueError: no words, an empty word, fields of other lengths, or no tree: a missing
            governor, a cycle, or not exactly one root. Also for a sentence without its text, with
            placeholders such as "_" in place of the words.

    Example:
        >>> from attnwidget import Sentence
        >>> sentence = Sentence(("Cats", "purr"), (2, 0), ("nsubj", "root"))
        >>> sentence.text
        'Cats purr'
    """

    words: tuple[str, ...]
    governors: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()
    name: str = ""
    source: str = ""
    space_after: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.words)
        needed = {"governors": len(self.governors), "relations": len(self.relations)}
        counts = {name: len(getattr(self, name)) for name in ("tags", "xpos", "space_after")}
        differing = {k: v for k, v in (needed | counts).items() if v != n and (v or k in needed)}
        if differing:
            raise ValueError(f"{self.label}: {n} words, but {_listed(differing)}: one entry a word")
        if not n:
            raise ValueError(f"{self.label} has no words")
        for position, word in enumerate(self.words, 1):
            if not word.strip():
                raise ValueError(f"{self.label}: word {position} is empty")
        refuse_no_text(self.words, self.label, self.tags or self.xpos)
        if fault := tree_fault(self.governors):
            position, problem = fault
            word = f"word {position} {self.words[position - 1]!r}"
            raise ValueError(f"{self.label}: {word} {problem}")

    @classmethod
    def from_lists(
        cls,
        words: Iterable[str],
        governors: Iterable[int],
        relations: Iterable[str],
        *,
        tags: Iterable[str] = (),
        name: str = "",
    ) -> Sentence:
        """Make a sentence of plain lists: words, 1-based governors (0 = root) and relations.

        Raises:
            ValueError: as for every sentence.
            TypeError: a governor is not an integer, or `words` is a string.

        Example:
            >>> from attnwidget import Sentence
            >>> Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"]).governors
            (2, 0)
        """
        if isinstance(words, str):
            raise TypeError(f"words are a list such as ['Cats', 'purr'], got {words!r}")
        numbers = tuple(whole_number("a governor", governor) for governor in governors)
        return cls(tuple(words), numbers, tuple(relations), tags=tuple(tags), name=name)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def text(self) -> str:
        """The joined words as written; without `space_after`, with spaces between all words."""
        return self.running.text

    @property
    def running(self) -> RunningText:
        """The words with their spaces, as models read the sentence."""
        return RunningText(self.words, self.space_after, self.label)

    def with_spaces(self) -> Sentence:
        """Return the sentence with a space between any two words.

        Models whose vocabulary marks spaces read a sentence as written. With spaces, each token
        belongs to one word, but the text is unusual: "does n't".

        Example:
            >>> from attnwidget import Sentence
            >>> words = ("does", "n't")
            >>> sentence = Sentence(words, (0, 1), ("root", "advmod"), space_after=(False, True))
            >>> sentence.text, sentence.with_spaces().text
            ("doesn't", "does n't")
        """
        return replace(self, space_after=())

    @property
    def label(self) -> str:
        """Label of the sentence in messages: its name and place, or its first words."""
        if self.name or self.source:
            parts = [self.name and repr(self.name), self.source and f"({self.source})"]
            return " ".join(["sentence", *filter(None, parts)])
        first = " ".join(self.words[:5])
        return f"sentence {first + ' ...' if len(self.words) > 5 else first!r}"


def tree_fault(governors: Sequence[int]) -> tuple[int, str] | None:
    """Return why governors (1-based, 0 = root) are not a tree: a position and the fault.

    Example:
        >>> from attnwidget.text.treebank import tree_fault
        >>> tree_fault([2, 1, 0])
        (1, 'is in a cycle: 1 -> 2 -> 1')
    """
    n = len(governors)
    roots = [position for position, governor in enumerate(governors, 1) if governor == 0]
    for position, governor in enumerate(governors, 1):
        if not 0 <= governor <= n:
            return position, f"depends on word {governor}, but there are 1 to {n} (0 = root)"
        if governor == position:
            return position, "depends on itself"
    if len(roots) > 1:
        return roots[1], f"is a second root beside word {roots[0]}: a tree has one (governor 0)"
    settled = [False] * (n + 1)
    settled[0] = True
    for start in range(1, n + 1):
        path: list[int] = []
        at = start
        met = set[int]()
        while not settled[at] and at not in met:
            met.add(at)
            path.append(at)
            at = governors[at - 1]
        if at in met:
            cycle = [*path[path.index(at) :], at]
            shown = cycle if len(cycle) <= 7 else [*cycle[:5], "...", at]
            return at, f"is in a cycle: {' -> '.join(map(str, shown))}"
        for position in path:
            settled[position] = True
    return None


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
