"""Sentences from documents that spaCy has parsed. This module does not import spaCy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from attnwidget.text.loaded import Loaded, loaded
from attnwidget.text.treebank import Sentence


def sentences_from_spacy(docs: Iterable[Any], *, skip_invalid: bool = False) -> Loaded[Sentence]:
    """Return the sentences of parsed spaCy `Doc`s, with spaCy's words, relations and tags.

    Tokens that consist of white space are left out. The root's relation, "ROOT" in spaCy, is called
    "root" as in treebanks. English pipelines name the other relations as in Stanford Dependencies
    ("dobj").

    Args:
        docs: The output of a pipeline with a parser, one `Doc` or several.
        skip_invalid: Whether to leave out sentences that are no single tree, as in `load_treebank`.

    Warns:
        UserWarning: `skip_invalid` left out sentences.

    Raises:
        ValueError: a `Doc` was not parsed, there are no words, or a sentence is not a single tree.
        TypeError: `docs` has an entry that is not a `Doc`.

    Example:
        >>> import spacy  # doctest: +SKIP
        >>> pipeline = spacy.load("en_core_web_sm")  # doctest: +SKIP
        >>> sentences_from_spacy([pipeline("Cats purr.")])[0].relations  # doctest: +SKIP
        ('nsubj', 'root', 'punct')
    """
    sentences = loaded(
        _parts(docs),
        kind="sentence",
        source="the documents",
        loader="sentences_from_spacy",
        skip_invalid=skip_invalid,
    )
    if not sentences:
        raise ValueError("the documents hold no words")
    return sentences


def _parts(docs: Iterable[Any]) -> Iterator[Callable[[], Sentence]]:
    """Yield functions that return the sentences of documents.

    Raises:
        ValueError, TypeError: as `sentences_from_spacy`.
    """
    for number, doc in enumerate([docs] if hasattr(docs, "sents") else docs):
        if not hasattr(doc, "has_annotation"):
            raise TypeError(f"expected spaCy Docs, got {type(doc).__name__}: pass pipeline(text)")
        if not doc.has_annotation("DEP"):
            raise ValueError(
                f"document {number} has no dependencies: use a pipeline with a parser, such as "
                'spacy.load("en_core_web_sm")'
            )
        for place, span in enumerate(doc.sents):
            words = [token for token in span if not token.is_space]
            if words:
                yield partial(_sentence, words, f"document {number}, sentence {place}")


def _sentence(words: list[Any], source: str) -> Sentence:
    places = {token.i: place for place, token in enumerate(words, 1)}
    governors = []
    for token in words:
        above = token.head
        while above.i not in places and above.head.i != above.i:
            above = above.head  # its governor replaces white space
        governors.append(0 if above.i == token.i else places.get(above.i, 0))
    # A gap between the numbers of two words is a token of white space that was left out.
    return Sentence(
        tuple(token.text for token in words),
        tuple(governors),
        tuple("root" if token.dep_ == "ROOT" else token.dep_ for token in words),
        tags=tuple(token.pos_ for token in words),
        xpos=tuple(token.tag_ for token in words),
        source=source,
        space_after=(
            *(bool(one.whitespace_) or after.i > one.i + 1 for one, after in pairwise(words)),
            bool(words[-1].whitespace_),
        ),
    )
