"""Panels for the best heads of dependency relations, with sentences in which they are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attnwidget.behaviors.gallery.gallery_result import TIMES_EVEN, HeadPanel, Side
from attnwidget.behaviors.relations import name_of_relation
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.argument_checks import SENTENCES, all_of, each_once
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.governors import GovernorPredictions
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies

_LEAST = 0.03
"""Smallest weight of a link in an example, as drawn by `head_gallery`."""


@in_plain_torch
def relation_panels(
    relations: RelationAccuracies,
    names: Iterable[str],
    sentences: Iterable[Sentence],
    *,
    scored_on: RelationAccuracies | None = None,
    n_texts: int = 2,
    max_words: int = 12,
) -> list[HeadPanel]:
    """Return a panel of `head_gallery` for the best head of each relation.

    The sentences are chosen by a rule. The head is right for every word of the relation in the
    sentence, with a weight that `head_gallery` draws. Sentences with the farthest governors come
    first (mean distance in words), then sentences with more words of the relation, then shorter
    ones. No sentence is in two panels.

    Args:
        relations: Accuracies from `probe_relations`, which choose the head and the direction of
            each relation.
        names: Names of the relations, such as "obj" and "det".
        sentences: Sentences to choose the examples from.
        scored_on: Accuracies of the same model on other sentences, which are printed. None prints
            the accuracies of `relations`, and says that they chose the heads.
        n_texts: Largest number of sentences per head.
        max_words: Largest number of words in a sentence.

    Raises:
        ValueError: If a relation does not exist, or there is no sentence of at most `max_words`
            words in which its head is right; if `scored_on` is of another model.
        RuntimeError: If `relations` came without its model.
        TypeError: If `sentences` is not a list of sentences.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.behaviors import head_gallery, relation_panels
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_relations
        >>> sentences = demo_treebank()
        >>> first = probe_relations(load_model(), sentences[::2], progress=False)
        >>> second = probe_relations(load_model(), sentences[1::2], progress=False)
        >>> panels = relation_panels(first, ["det"], sentences, scored_on=second)
        >>> panels[0].head, panels[0].name
        (Head(layer=2, head=8, stack='self'), 'determiner to its noun')
    """
    if isinstance(names, str):
        names = [names]
    labels = each_once("names", names)
    listed = all_of(Sentence, sentences, SENTENCES)
    n_texts = whole_number("n_texts", n_texts, 1, "sentence")
    max_words = whole_number("max_words", max_words, 1, "word")
    scored = relations if scored_on is None else scored_on
    if scored.model_name != relations.model_name:
        raise ValueError(
            f"the heads of {relations.model_name} are not those of {scored.model_name}: pass "
            "accuracies of one model"
        )
    for label in labels:
        for accuracies in (relations, scored):
            if label not in accuracies.relations:
                raise ValueError(
                    f"there is no relation {label!r}: {among(label, accuracies.relations)}"
                )
    if relations.model is None:
        raise RuntimeError(
            "these accuracies came without their model: relation_panels reads the examples with "
            "it, so run probe_relations again"
        )
    rows = relations.best(1, skip=()).to_dict("records")
    best = {row["relation"]: row for row in rows}
    examples = _Examples(relations, listed, max_words)
    panels = []
    for label in labels:
        row = best[label]
        head = Head(row["layer"], row["head"], relations.stack)
        direction = row["direction"]
        texts = examples.take(label, head, direction, n_texts)
        index = scored.relations.index(label)
        at = head.layer, head.head, DIRECTIONS.index(direction), index
        side: Side = "query" if direction == DIRECTIONS[0] else "key"
        panels.append(
            HeadPanel(
                head,
                [attention for attention, _ in texts],
                [words for _, words in texts],
                name=name_of_relation(label, direction),
                side=side,
                accuracy=float(scored.accuracy[at]),
                baseline=float(scored.baseline[index]),
                offset=int(scored.baseline_offset[index]),
                n_words=int(scored.counts[index]),
                scored_on=_described(scored, scored_on is None),
            )
        )
    return panels


def _described(scored: RelationAccuracies, is_same: bool) -> str:
    sentences = counted(scored.n_sentences, "sentence")
    if is_same:
        return f"the {sentences} that also chose the heads"
    return f"{sentences} that did not choose the heads"


class _Examples:
    """Sentences in which a head finds the governor of every word of a relation.

    Each sentence is read once, for the first relation that it has, and given out once.
    """

    def __init__(
        self, relations: RelationAccuracies, sentences: Sequence[Sentence], max_words: int
    ) -> None:
        self._relations = relations
        self._sentences = [sentence for sentence in sentences if len(sentence) <= max_words]
        self._max_words = max_words
        self._predictions: dict[int, GovernorPredictions] = {}
        self._taken: set[int] = set()

    def take(
        self, relation: str, head: Head, direction: str, count: int
    ) -> list[tuple[Attention, list[int]]]:
        """Return attentions of at most `count` sentences, with the positions of the dependents."""
        model = self._relations.model
        assert model is not None
        texts: list[tuple[Attention, list[int]]] = []
        for *_, index in sorted(self._right(relation, head, DIRECTIONS.index(direction))):
            if len(texts) == count:
                break
            sentence = self._sentences[index]
            words = self._words(relation, index)
            attention = model.attend(list(sentence.words))
            dependents = _positions(attention, head, words)
            governors = _positions(attention, head, [sentence.governors[w] - 1 for w in words])
            if direction != DIRECTIONS[0]:
                links = list(zip(governors, dependents, strict=True))
            else:
                links = list(zip(dependents, governors, strict=True))
            if _are_drawn(attention, head, links):
                self._taken.add(index)
                texts.append((attention, dependents))
        if not texts:
            raise ValueError(
                f"there is no sentence of at most {self._max_words} words in which {head} is right "
                f"for every {relation}: pass more sentences, or a larger max_words"
            )
        return texts

    def _words(self, relation: str, index: int) -> list[int]:
        """Return the words of a relation in a sentence, from 0."""
        pooled = relation.removesuffix(" (all)")
        sentence = self._sentences[index]
        return [
            word
            for word, (label, governor) in enumerate(
                zip(sentence.relations, sentence.governors, strict=True)
            )
            if governor and (label == relation or (pooled != relation and _base(label) == pooled))
        ]

    def _right(
        self, relation: str, head: Head, direction: int
    ) -> Iterator[tuple[float, int, int, int]]:
        """Yield the rank of each sentence in which the head is right, and its index."""
        for index, sentence in enumerate(self._sentences):
            words = self._words(relation, index)
            if not words or index in self._taken:
                continue
            if index not in self._predictions:
                self._predictions[index] = self._relations.predictions(sentence)
            predictions = self._predictions[index]
            at = head.layer, head.head, direction
            governors = np.array(sentence.governors)[words]
            least = max(TIMES_EVEN / (len(sentence) + 2), _LEAST)
            is_right = predictions.governors[at][words] == governors
            if is_right.all() and (predictions.weights[at][words] >= least).all():
                distance = float(np.abs(governors - 1 - words).mean())
                yield -distance, -len(words), len(sentence), index


def _base(relation: str) -> str:
    return relation.partition(":")[0]


def _positions(attention: Attention, head: Head, words: Sequence[int]) -> list[int]:
    """Return the positions of words of the sentence on the axis of words."""
    axis = attention.words.stacks[attention.head(head).stack].query
    of_sentence = [position for position, word in enumerate(axis.words) if word is not None]
    return [of_sentence[word] for word in words]


def _are_drawn(attention: Attention, head: Head, links: Sequence[tuple[int, int]]) -> bool:
    """Return whether `head_gallery` draws all links, given as query and key.

    In a causal model, the first words see few words, so that their even share is large.
    """
    weights = attention.words.weights(head.layer, head.head, stack=head.stack)
    visible = attention.words.visible(head.layer, head.head, stack=head.stack)
    n_visible = np.full(len(weights), weights.shape[1]) if visible is None else visible.sum(-1)
    least = np.maximum(TIMES_EVEN / np.maximum(1, n_visible), _LEAST)
    return all(weights[query, key] >= least[query] for query, key in links)
