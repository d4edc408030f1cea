"""Sentences from documents that spaCy has parsed. This module does not import spaCy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.loaded import Loaded, loaded
from attnwidget.text.treebank import Sentence


@hides_frames
def sentences_from_spacy(docs: Iterable[Any], *, skip_invalid: bool = False) -> Loaded[Sentence]:
    """Return the sentences of parsed spaCy `Doc`s, with spaCy's words, relations and tags.

    Whitespace tokens are left out. The relation of the root, "ROOT" in spaCy, is called "root" as
    in treebanks. English pipelines use relation names from Stanford Dependencies ("dobj").

    Args:
        docs: One `Doc` or several, from a pipeline with a parser.
        skip_invalid: Whether to leave out sentences that are not a single tree, as in
            `load_treebank`.

    Warns:
        UserWarning: `skip_invalid` left out sentences.

    Raises:
        ValueError: A `Doc` was not parsed, there are no words, or a sentence is not a single tree.
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
        ValueError, TypeError: See `sentences_from_spacy`.
    """
    for number, doc in enumerate([docs] if hasattr(docs, "sents") else docs):
        if not hasattr(doc, "has_annotation"):
            raise TypeError(f"expected spaCy Docs, got {type(doc).__name__}: pass pipeline(text)")
        if not doc.has_annotation("DEP"):
            raise ValueError(
                f"document {number} has no dependencies: use a pipeline with a parser, such as "
                'spacy.load("en_core_web_sm")'
            )
        for index, span in enumerate(doc.sents):
            words = [token for token in span if not token.is_space]
            if words:
                yield partial(_sentence, words, f"document {number}, sentence {index}")


def _sentence(words: list[Any], source: str) -> Sentence:
    """Return the sentence of spaCy tokens without whitespace tokens."""
    positions = {token.i: position for position, token in enumerate(words, 1)}
    governors = []
    for token in words:
        governor = token.head
        while governor.i not in positions and governor.head.i != governor.i:
            # A whitespace token is left out, so its governor replaces it.
            governor = governor.head
        governors.append(0 if governor.i == token.i else positions.get(governor.i, 0))
    # A gap between the indices of two words is a whitespace token that was left out.
    return Sentence(
        tuple(token.text for token in words),
        tuple(governors),
        tuple("root" if token.dep_ == "ROOT" else token.dep_ for token in words),
        tags=tuple(token.pos_ for token in words),
        xpos=tuple(token.tag_ for token in words),
        source=source,
        space_after=(
            *(
                bool(token.whitespace_) or next_token.i > token.i + 1
                for token, next_token in pairwise(words)
            ),
            bool(words[-1].whitespace_),
        ),
    )
