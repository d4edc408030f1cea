"""Mentions of the same people and things in a document: their spans, head words and kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from attnwidget.text.counted import counted

MentionKind = Literal["pronoun", "proper", "nominal"]
MentionSpan = tuple[int, int]

_PRONOUN_TAGS = frozenset({"PRP", "PRP$", "PRON"})
_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his "
    "himself she her hers herself it its itself they them their theirs themselves"
)


@dataclass(frozen=True)
class Mention:
    """A span of words that refers to somebody or something.

    Attributes:
        start: index of its first word in the document, from 0.
        end: index of its last word.
        cluster: what it refers to; mentions of one cluster corefer.
        head: index of its head word.
        kind: "pronoun", "proper" (a name) or "nominal".
        parts: first and last word of each part of a discontinuous mention; empty for others.

    Example:
        >>> from attnwidget.text.mentions import Mention
        >>> Mention(3, 5, cluster="crew", head=5, kind="nominal").words
        (3, 4, 5)
    """

    start: int
    end: int
    cluster: str
    head: int
    kind: MentionKind
    parts: tuple[MentionSpan, ...] = ()

    @property
    def words(self) -> tuple[int, ...]:
        """Indices of its words, in order."""
        spans = self.parts or ((self.start, self.end),)
        return tuple(word for start, end in spans for word in range(start, end + 1))


@dataclass(frozen=True)
class Document:
    """Running text with its mentions.

    Attributes:
        words: m words.
        mentions: by first word, then by last.
        sentence_starts: index of the first word of each sentence.
        tags: m part-of-speech tags: the Penn Treebank's where known, else UPOS; empty = unknown.
        governors: index of the governor of each of m words, -1 for a root; empty = no trees.
        name: what the corpus calls it.
        source: file and line, "file.conllu:1".

    Raises:
        ValueError: no words, or fields that do not fit them.

    Example:
        >>> from attnwidget.text.mentions import Document
        >>> document = Document.from_spans(["Ann", "saw", "herself"], [(0, 0, "a"), (2, 2, "a")])
        >>> [mention.kind for mention in document.mentions]
        ['nominal', 'pronoun']
    """

    words: tuple[str, ...]
    mentions: tuple[Mention, ...]
    sentence_starts: tuple[int, ...] = (0,)
    tags: tuple[str, ...] = ()
    governors: tuple[int, ...] = ()
    name: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        m = len(self.words)
        where = self.source or self.name or "document"
        if not m:
            raise ValueError(f"{where}: a document has at least one word")
        for field, values in (("tags", self.tags), ("governors", self.governors)):
            if values and len(values) != m:
                raise ValueError(f"{where}: {m} words need as many {field}, got {len(values)}")
        starts = list(self.sentence_starts)
        if starts != sorted(set(starts)) or starts[:1] != [0] or starts[-1] >= m:
            raise ValueError(
                f"{where}: sentence_starts rise from 0 to {m - 1} at most, got {starts}"
            )
        if any(not -1 <= governor < m for governor in self.governors):
            raise ValueError(f"{where}: governors are words 0 to {m - 1}, or -1 for a root")
        for mention in self.mentions:
            if not 0 <= mention.start <= mention.end < m or mention.head not in mention.words:
                raise ValueError(f"{where}: {mention} does not lie within the {m} words")

    @classmethod
    def from_spans(
        cls,
        words: Sequence[str],
        spans: Iterable[tuple[int, int, str] | tuple[Sequence[MentionSpan], str]],
        *,
        sentence_starts: Sequence[int] = (0,),
        tags: Sequence[str] = (),
        governors: Sequence[int] = (),
        name: str = "",
        source: str = "",
    ) -> Document:
        """A document from spans; head words and kinds of mentions are found (`head_word`).

        Args:
            words: m words.
            spans: first word, last word (from 0) and cluster of each mention; of a discontinuous
                one the spans of its parts and the cluster.
            sentence_starts: index of the first word of each sentence.
            tags: m part-of-speech tags, or none.
            governors: index of each word's governor, -1 for a root, or none.
            name: what the corpus calls it.
            source: file and line.

        Raises:
            ValueError: as `Document`.

        Example:
            >>> from attnwidget.text.mentions import Document
            >>> words = "The captain told his men .".split()
            >>> document = Document.from_spans(words, [(0, 1, "a"), (3, 3, "a"), (3, 4, "b")])
            >>> [(words[m.head], m.kind) for m in document.mentions]
            [('captain', 'nominal'), ('his', 'pronoun'), ('men', 'nominal')]
        """
        where = source or name or "document"
        mentions = []
        for span in spans:
            parts = ((span[0], span[1]),) if len(span) == 3 else tuple(span[0])
            inside = [w for first, last in parts for w in range(first, last + 1)]
            if not inside or min(inside) < 0 or max(inside) >= len(words):
                raise ValueError(f"{where}: span {span} is not within the {len(words)} words")
            head = head_word(inside, governors, tags)
            mentions.append(
                Mention(
                    start=inside[0],
                    end=inside[-1],
                    cluster=str(span[-1]),
                    head=head,
                    kind=mention_kind(words, inside, head, tags),
                    parts=parts if len(parts) > 1 else (),
                )
            )
        mentions.sort(key=lambda mention: (mention.start, mention.end, mention.cluster))
        return cls(
            tuple(words),
            tuple(mentions),
            tuple(sentence_starts),
            tuple(tags),
            tuple(governors),
            name,
            source,
        )

    def __repr__(self) -> str:
        clusters = len({mention.cluster for mention in self.mentions})
        return (
            f"Document({self.name!r}, {counted(len(self.words), 'word')}, "
            f"{counted(len(self.mentions), 'mention')} of "
            f"{clusters} clusters)"
        )


def head_word(span: Sequence[int], governors: Sequence[int], tags: Sequence[str]) -> int:
    """The word of `span` whose governor is outside of it, the leftmost of several.

    Without `governors`: the last noun by `tags`, else the last word.

    Example:
        >>> from attnwidget.text.mentions import head_word
        >>> head_word([0, 1, 2], governors=[1, -1, 1], tags=[])
        1
    """
    inside = set(span)
    if governors:
        for word in span:
            if governors[word] not in inside:
                return word
    nouns = [w for w in span if tags and (tags[w].startswith("NN") or tags[w] in ("NOUN", "PROPN"))]
    return nouns[-1] if nouns else span[-1]


def mention_kind(
    words: Sequence[str], span: Sequence[int], head: int, tags: Sequence[str]
) -> MentionKind:
    """What kind of mention a span is.

    "pronoun": one word tagged PRP or PRP$ (UPOS: PRON), without tags a personal, possessive or
    reflexive pronoun; else "proper": the head word's tag starts with NNP (UPOS: PROPN); else
    "nominal".
    """
    if len(span) == 1:
        word = span[0]
        if tags[word] in _PRONOUN_TAGS if tags else words[word].lower() in _PRONOUNS.split():
            return "pronoun"
    if tags and (tags[head].startswith("NNP") or tags[head] == "PROPN"):
        return "proper"
    return "nominal"
