"""Mentions of the same people and things in a document: their spans, head words and kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attnwidget.text.counted import counted
from attnwidget.text.placeholders import refuse_no_text
from attnwidget.text.running_text import RunningText

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
        start: Index of the first word in the document, from 0.
        end: Index of the last word.
        cluster: Label of the cluster; mentions of one cluster corefer.
        head: Index of the head word.
        kind: "pronoun", "proper" (a name) or "nominal".
        parts: First and last word of each part of a discontinuous mention; empty for continuous
            mentions.

    Example:
        >>> from attnwidget import Mention
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
        """Indices of the words of the mention, in order."""
        spans = self.parts or ((self.start, self.end),)
        return tuple(word for start, end in spans for word in range(start, end + 1))


@dataclass(frozen=True)
class Document:
    """Running text with its mentions.

    Attributes:
        words: m words.
        mentions: Mentions, sorted by first word, then by last word.
        sentence_starts: Index of the first word of each sentence.
        tags: Part-of-speech tags of the m words, from the Penn Treebank or else UPOS; empty = no
            tags.
        governors: Index of each word's governor, -1 for a root; empty = no trees.
        name: Name of the document in the corpus.
        source: File and line, "file.conllu:1".
        space_after: For each word, False if the next word follows without a space; empty = spaces
            after all words. Models whose vocabulary marks spaces read the document with these
            spaces.

    Raises:
        ValueError: There are no words, all words are placeholders such as "[WORD]", or the fields
            do not fit the words.

    Example:
        >>> from attnwidget import Document
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
    space_after: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        m = len(self.words)
        where = self.source or self.name or "document"
        if not m:
            raise ValueError(f"{where}: a document has at least one word")
        for field in ("tags", "governors", "space_after"):
            values = getattr(self, field)
            if values and len(values) != m:
                raise ValueError(f"{where}: {m} words need as many {field}, got {len(values)}")
        refuse_no_text(self.words, where, self.tags)
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
        space_after: Sequence[bool] = (),
    ) -> Document:
        """Make a document from spans, and determine head words (`head_word`) and mention kinds.

        Args:
            words: m words.
            spans: First word, last word (from 0) and cluster of each mention; for a discontinuous
                mention, the spans of its parts and the cluster. A repeated span of the same
                cluster is one mention.
            sentence_starts: Index of the first word of each sentence.
            tags: Part-of-speech tags of the m words; empty = no tags.
            governors: Index of each word's governor, -1 for a root; empty = no trees.
            name: Name of the document in the corpus.
            source: File and line.
            space_after: For each word, False if the next word follows without a space; empty =
                spaces after all words.

        Raises:
            ValueError: See `Document`.
            TypeError: `words` is a string.

        Example:
            >>> from attnwidget import Document
            >>> words = "The captain told his men .".split()
            >>> document = Document.from_spans(words, [(0, 1, "a"), (3, 3, "a"), (3, 4, "b")])
            >>> [(words[m.head], m.kind) for m in document.mentions]
            [('captain', 'nominal'), ('his', 'pronoun'), ('men', 'nominal')]
        """
        where = source or name or "document"
        if isinstance(words, str):
            raise TypeError(
                f"{where}: words must be a list such as ['Cats', 'purr'], got {words!r}"
            )
        mentions = []
        for span in spans:
            parts = ((span[0], span[1]),) if len(span) == 3 else tuple(span[0])
            inside = [w for first, last in parts for w in range(first, last + 1)]
            if len(set(inside)) < len(inside):
                raise ValueError(f"{where}: the parts of span {span} share words")
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
        mentions = list(dict.fromkeys(mentions))
        mentions.sort(key=lambda mention: (mention.start, mention.end, mention.cluster))
        return cls(
            tuple(words),
            tuple(mentions),
            tuple(sentence_starts),
            tuple(tags),
            tuple(governors),
            name,
            source,
            tuple(space_after),
        )

    @property
    def running(self) -> RunningText:
        """Words with their spaces, as models read the document."""
        return RunningText(self.words, self.space_after, self.name or "document")

    def with_spaces(self) -> Document:
        """Return the document with a space between all words, like `Sentence.with_spaces`.

        Example:
            >>> from attnwidget import Document
            >>> spans = [(0, 0, "a")]
            >>> document = Document.from_spans(["I", "'m"], spans, space_after=[False, True])
            >>> document.running.text, document.with_spaces().running.text
            ("I'm", "I 'm")
        """
        return replace(self, space_after=())

    def __repr__(self) -> str:
        clusters = len({mention.cluster for mention in self.mentions})
        return (
            f"Document({self.name!r}, {counted(len(self.words), 'word')}, "
            f"{counted(len(self.mentions), 'mention')} of "
            f"{clusters} clusters)"
        )


def head_word(span: Sequence[int], governors: Sequence[int], tags: Sequence[str]) -> int:
    """Return the leftmost word of `span` whose governor is outside the span.

    Without `governors`, return the last word that `tags` mark as a noun, or else the last word.

    Args:
        span: Indices of the words.
        governors: Index of each word's governor, -1 for a root; empty = no trees.
        tags: Part-of-speech tags; empty = no tags.

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
    """Return the kind of a mention: "pronoun", "proper" or "nominal".

    A single word tagged PRP or PRP$ (UPOS: PRON) is a "pronoun". Without tags, personal, possessive
    and reflexive pronouns are recognized by their form. A mention is "proper" if the tag of its
    head word starts with NNP (UPOS: PROPN). All other mentions are "nominal".

    Args:
        words: Words of the document.
        span: Indices of the mention's words.
        head: Index of the head word.
        tags: Part-of-speech tags; empty = no tags.
    """
    if len(span) == 1:
        word = span[0]
        if tags[word] in _PRONOUN_TAGS if tags else words[word].lower() in _PRONOUNS.split():
            return "pronoun"
    if tags and (tags[head].startswith("NNP") or tags[head] == "PROPN"):
        return "proper"
    return "nominal"
