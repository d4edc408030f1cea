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
        words: Words as the treebank splits them: "do" and "n't" are two words.
        governors: Position of each word's governor, counted from 1; 0 for the root.
        relations: Relation of each word to its governor, including the subtype, such as
            "nmod:poss"; "unlabeled" in treebanks that have only governors.
        tags: Universal part-of-speech tags, "" for unknown tags; empty = no tags.
        xpos: Part-of-speech tags from the tagset of the treebank, "" for unknown tags; empty = no
            tags.
        name: Name of the sentence in the treebank.
        source: File and line of the sentence, such as "file.conllu:123".
        space_after: For each word, False if the next word follows without a space; empty = spaces
            after all words. Models whose vocabulary marks spaces read the sentence with these
            spaces.

    Raises:
        ValueError: There are no words, a word is empty, or a field has another length. Also if the
            governors are not a tree (a governor does not exist, there is a cycle, or not exactly
            one root), or if all words are placeholders such as "_" because the text is missing.

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
        required = {"governors": len(self.governors), "relations": len(self.relations)}
        optional = {name: len(getattr(self, name)) for name in ("tags", "xpos", "space_after")}
        wrong_lengths = {
            k: v for k, v in (required | optional).items() if v != n and (v or k in required)
        }
        if wrong_lengths:
            raise ValueError(
                f"{self.label}: {n} words, but {_listed(wrong_lengths)}: one entry a word"
            )
        if not n:
            raise ValueError(f"{self.label} has no words")
        for position, word in enumerate(self.words, 1):
            if not word.strip():
                raise ValueError(f"{self.label}: word {position} is empty")
        refuse_no_text(self.words, self.label, self.tags or self.xpos)
        if tree_error := tree_fault(self.governors):
            position, problem = tree_error
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
        """Make a sentence from lists.

        Args:
            words: Words of the sentence.
            governors: Position of each word's governor, counted from 1; 0 for the root.
            relations: Relation of each word to its governor.
            tags: Universal part-of-speech tags; empty = no tags.
            name: Name of the sentence.

        Raises:
            ValueError: See `Sentence`.
            TypeError: A governor is not an integer, or `words` is a string.

        Example:
            >>> from attnwidget import Sentence
            >>> Sentence.from_lists(["Cats", "purr"], [2, 0], ["nsubj", "root"]).governors
            (2, 0)
        """
        if isinstance(words, str):
            raise TypeError(f"words must be a list such as ['Cats', 'purr'], got {words!r}")
        numbers = tuple(whole_number("a governor", governor) for governor in governors)
        return cls(tuple(words), numbers, tuple(relations), tags=tuple(tags), name=name)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def text(self) -> str:
        """Text of the sentence; without `space_after`, there are spaces between all words."""
        return self.running.text

    @property
    def running(self) -> RunningText:
        """Words with their spaces, as models read the sentence."""
        return RunningText(self.words, self.space_after, self.label)

    def with_spaces(self) -> Sentence:
        """Return the sentence with a space between all words.

        Models whose vocabulary marks spaces normally read the original text. With spaces between
        all words, each token belongs to one word, but the text is unusual: "does n't".

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
        """Label of the sentence in messages: its name and source, or its first words."""
        if self.name or self.source:
            parts = [self.name and repr(self.name), self.source and f"({self.source})"]
            return " ".join(["sentence", *filter(None, parts)])
        beginning = " ".join(self.words[:5])
        return f"sentence {beginning + ' ...' if len(self.words) > 5 else beginning!r}"


def tree_fault(governors: Sequence[int]) -> tuple[int, str] | None:
    """Return the first word at which governors are not a tree, with the problem; None for a tree.

    Args:
        governors: Position of each word's governor, counted from 1; 0 for the root.

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
    is_connected = [False] * (n + 1)
    is_connected[0] = True
    for start in range(1, n + 1):
        path: list[int] = []
        word = start
        visited = set[int]()
        while not is_connected[word] and word not in visited:
            visited.add(word)
            path.append(word)
            word = governors[word - 1]
        if word in visited:
            cycle = [*path[path.index(word) :], word]
            printed_cycle = cycle if len(cycle) <= 7 else [*cycle[:5], "...", word]
            return word, f"is in a cycle: {' -> '.join(map(str, printed_cycle))}"
        for position in path:
            is_connected[position] = True
    return None


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
