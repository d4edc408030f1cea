"""Queries for pairs of words: by word, role, tag, relation or regular expression."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from attnwidget.corpus.argument_checks import one_of
from attnwidget.text.treebank import Sentence
from attnwidget.words.relation_results import DIRECTIONS

_FIELDS = ("word", "role", "tag", "xpos", "relation")
# Conditions that need no treebank.
_OF_TEXT = ("word=", "role=")
_GROUPS = {"query", "key"}


@dataclass(frozen=True)
class WordQuery:
    """Query for pairs of an attending and an attended word. All conditions must hold.

    Attributes:
        query: Condition on the attending word: "word=he|she", "tag=PRON", "xpos=PRP",
            "relation=nsubj", or in a chat "role=assistant", with "|" between alternatives; None =
            any word.
        key: Condition on the attended word, in the same form.
        relation: Relation between the words in the treebank, such as "nsubj"; "nsubj (all)"
            includes the subtypes.
        direction: Direction of the relation, one of `DIRECTIONS`.
        regex: Regular expression with the groups "query" and "key", which is searched in the words
            joined by spaces.

    Raises:
        ValueError: If a condition has another form, the expression lacks these groups, or no
            condition names both words.

    Example:
        >>> from attnwidget.behaviors.places.word_query import WordQuery
        >>> query = WordQuery(regex=r"(?P<key>cat) .*?(?P<query>it)")
        >>> query.pairs(["The", "cat", "knew", "it"])
        [(3, 1)]
    """

    query: str | None = None
    key: str | None = None
    relation: str | None = None
    direction: str = DIRECTIONS[0]
    regex: str | None = None

    def __post_init__(self) -> None:
        one_of("direction", self.direction, DIRECTIONS)
        for name in ("query", "key"):
            condition = getattr(self, name)
            if condition is not None:
                _parts(name, condition)
        if self.regex is not None:
            try:
                groups = set(re.compile(self.regex).groupindex)
            except re.error as error:
                raise ValueError(
                    f"regex is no regular expression: {error}, got {self.regex!r}"
                ) from error
            if not groups >= _GROUPS:
                raise ValueError(
                    f"regex needs the groups (?P<query>…) and (?P<key>…), got {self.regex!r}"
                )
        if self.regex is None and self.relation is None and None in (self.query, self.key):
            raise ValueError(
                "name both words of a link: query= and key=, relation=, or regex= with both groups"
            )

    @property
    def needs_treebank(self) -> bool:
        """Whether the query needs the sentences of a treebank."""
        conditions = [text for text in (self.query, self.key) if text is not None]
        return self.relation is not None or any(
            not text.startswith(_OF_TEXT) for text in conditions
        )

    def pairs(
        self,
        words: Sequence[str],
        sentence: Sentence | None = None,
        roles: Sequence[str] = (),
    ) -> list[tuple[int, int]]:
        """Return the pairs (attending word, attended word) of a text, from 0, in order.

        Args:
            words: Words of the text.
            sentence: Treebank sentence with the same words, for queries that need one.
            roles: Role of each word of a chat.

        Raises:
            ValueError: If the query needs a treebank, roles, or tags that the sentence does not
                have.
        """
        if self.needs_treebank and sentence is None:
            raise ValueError(
                "tags and relations are known in a treebank: pass sentences (load_treebank)"
            )
        attends = _condition("query", self.query, words, sentence, roles)
        attended = _condition("key", self.key, words, sentence, roles)
        if self.relation is not None and sentence is not None:
            pairs = _related(sentence, self.relation, self.direction)
            if self.regex is not None:
                matched = set(_matched(words, self.regex))
                pairs = [pair for pair in pairs if pair in matched]
        elif self.regex is not None:
            pairs = _matched(words, self.regex)
        else:
            n = len(words)
            pairs = [(i, j) for i in range(n) if attends(i) for j in range(n) if attended(j)]
        return [(i, j) for i, j in pairs if i != j and attends(i) and attended(j)]

    def refuse_unknown_relation(self, sentences: Iterable[Sentence]) -> None:
        """Raise ValueError if the relation occurs in none of the sentences."""
        if self.relation is None:
            return
        sentences = list(sentences)
        if not any(_related(sentence, self.relation, self.direction) for sentence in sentences):
            relations = sorted({name for sentence in sentences for name in sentence.relations})
            raise ValueError(
                f"no word has the relation {self.relation!r}: choose from {', '.join(relations)}"
            )

    def __str__(self) -> str:
        conditions = {"query": self.query, "key": self.key, "relation": self.relation}
        conditions["regex"] = self.regex
        parts = [f"{name} {value}" for name, value in conditions.items() if value is not None]
        reverse = self.relation is not None and self.direction != DIRECTIONS[0]
        return ", ".join(parts) + (f", {self.direction}" if reverse else "")


def _parts(name: str, condition: str) -> tuple[str, frozenset[str]]:
    field, equals, values = condition.partition("=")
    if field not in _FIELDS or not equals or not values:
        fields = ", ".join(f"{field}=…" for field in _FIELDS)
        raise ValueError(f"{name} must be one of {fields}, got {condition!r}")
    return field, frozenset(values.split("|"))


def _condition(
    name: str,
    condition: str | None,
    words: Sequence[str],
    sentence: Sentence | None,
    roles: Sequence[str],
) -> Callable[[int], bool]:
    """Return a predicate that tests whether the word at an index meets a condition."""
    if condition is None:
        return lambda word: True
    field, values = _parts(name, condition)
    if field == "word":
        lowered = {value.lower() for value in values}
        return lambda word: words[word].lower() in lowered
    if field == "role":
        if not roles:
            raise ValueError(
                "roles are known in chats: pass lists of messages, make_segments(chats, model)"
            )
        return lambda word: roles[word] in values
    assert sentence is not None  # `needs_treebank` ensures this.
    column = {"tag": sentence.tags, "xpos": sentence.xpos, "relation": sentence.relations}[field]
    if not column:
        raise ValueError(f"{sentence.label} has no {field}: load a treebank that has {field}s")
    return lambda word: column[word] in values


def _related(sentence: Sentence, relation: str, direction: str) -> list[tuple[int, int]]:
    base = relation.removesuffix(" (all)")
    pairs = [
        (word, governor - 1)
        for word, (label, governor) in enumerate(
            zip(sentence.relations, sentence.governors, strict=True)
        )
        if governor and (label == relation or (base != relation and label.split(":")[0] == base))
    ]
    return pairs if direction == DIRECTIONS[0] else [(key, query) for query, key in pairs]


def _matched(words: Sequence[str], regex: str) -> list[tuple[int, int]]:
    """Return the words in which the groups of each match begin."""
    starts = [0, *accumulate(len(word) + 1 for word in words)]
    pairs = []
    for match in re.finditer(regex, " ".join(words)):
        if match.start("query") >= 0 and match.start("key") >= 0:
            word_indices = (
                bisect_right(starts, match.start(group)) - 1 for group in ("query", "key")
            )
            query, key = word_indices
            pairs.append((query, key))
    return pairs
