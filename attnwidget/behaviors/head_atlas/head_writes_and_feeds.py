"""Tokens that named heads promote, and the earlier heads that feed these heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.mechanisms.circuit_weights import CircuitWeights
from attnwidget.mechanisms.head_composition import FED, HeadComposition, compositions_of
from attnwidget.mechanisms.head_vocabulary import vocabulary_of
from attnwidget.mechanisms.token_vectors import TokenVectors
from attnwidget.mechanisms.vocabulary_scores import HeadVocabulary

_SOURCES = 4
_WORDS = 5
_FEEDERS = 3


@dataclass(frozen=True)
class Writes:
    """Tokens that a head promotes and suppresses when it reads a token.

    Attributes:
        source: Token that the head reads.
        promoted: Tokens with the largest logits, largest first.
        suppressed: Tokens with the smallest logits, smallest first.
    """

    source: str
    promoted: tuple[str, ...]
    suppressed: tuple[str, ...]


@dataclass(frozen=True)
class Feeds:
    """An earlier head that feeds a head.

    Attributes:
        head: Earlier head.
        fed: Input of the later head: "query", "key" or "value".
        score: Composition minus the score of unrelated heads.
    """

    head: Head
    fed: str
    score: float


def writes_of(
    model: AttentionModel, heads: Mapping[Head, Sequence[ExampleLink]]
) -> tuple[dict[Head, tuple[Writes, ...]], str]:
    """Return the tokens that heads write when they read the keys of their examples.

    The second value is "", or the reason why the model has no such circuits.
    """
    writes: dict[Head, tuple[Writes, ...]] = {}
    if not heads:
        return {}, ""
    try:
        weights = CircuitWeights(model)
        vectors = TokenVectors(weights)
        for layer, layer_heads in groupby(sorted(heads), key=lambda head: head.layer):
            circuits = weights.layer(layer)
            for head in layer_heads:
                keys = [example.tokens.ids[example.key] for example in heads[head]]
                ids = list(dict.fromkeys(keys))[:_SOURCES]
                if ids:
                    vocabulary = vocabulary_of(model, vectors, circuits, head, ids, _WORDS)
                    writes[head] = _written(vocabulary)
    except (TypeError, ValueError) as error:
        return {}, str(error)
    return writes, ""


def _written(found: HeadVocabulary) -> tuple[Writes, ...]:
    order = np.argsort(-found.scores, axis=-1, kind="stable")
    return tuple(
        Writes(
            source,
            tuple(text for text, _ in found.answers.spelt(row[:_WORDS].tolist())),
            tuple(text for text, _ in found.answers.spelt(row[: -_WORDS - 1 : -1].tolist())),
        )
        for source, row in zip(found.sources, order, strict=True)
    )


def feeds_of(
    model: AttentionModel, heads: Iterable[Head]
) -> tuple[dict[Head, tuple[Feeds, ...]], str]:
    """Return the earlier heads that feed each head most.

    The second value is "", or the reason why the model has no such circuits.
    """
    feeds: dict[Head, tuple[Feeds, ...]] = {}
    later_heads = sorted(head for head in heads if head.layer)
    if not later_heads:
        return {}, ""
    try:
        weights = CircuitWeights(model)
        first = weights.numbers.numbers[0]
        later_heads = [head for head in later_heads if head.layer > first]
        for layer, group in groupby(later_heads, key=lambda head: head.layer):
            layer_heads = list(group)
            compositions = compositions_of(weights, layer, [head.head for head in layer_heads])
            feeds |= {
                head: _strongest(composition)
                for head, composition in zip(layer_heads, compositions, strict=True)
            }
    except (TypeError, ValueError) as error:
        return {}, str(error)
    return feeds, ""


def _strongest(found: HeadComposition) -> tuple[Feeds, ...]:
    entries = [
        Feeds(Head(int(layer), int(head)), fed, float(score))
        for fed in FED
        for (layer, head), score in np.ndenumerate(getattr(found, fed))
        if np.isfinite(score)
    ]
    entries.sort(key=lambda entry: (-entry.score, entry.head, entry.fed))
    return tuple(entries[:_FEEDERS])
