"""Sources of predicted arcs: the governor of each word in a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.inputs.advised_error import on_page
from attnwidget.text.short_name import short_name
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.pages.page_part import Holding
from attnwidget.widgets.shared.relation_words import words_of_relation
from attnwidget.widgets.wire.values import to_wire

#: Maximum number of words. A longer sentence would be unreadable, and slow to draw.
_MOST_WORDS = 1000


@dataclass(frozen=True)
class ArcsOptions:
    """Options of a figure that change the answers.

    Attributes:
        head: Current head; None without a selection.
        layer: Current layer.
        relation: Current relation, such as "nsubj" or "all".
        direction: Direction of attention, one of `DIRECTIONS`.
    """

    head: Head | None
    layer: int
    relation: str
    direction: str


@dataclass(frozen=True)
class PageAnswers:
    """Answers in a saved page.

    Attributes:
        title: Page title.
        own: Small data for the figure, as JSON.
        holdings: Large data by name.
        drawn: Drawing data of the current sentence if the page has no other sentence; else None.
        remark: Note for the reader.
    """

    title: str
    own: Mapping[str, Any]
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    drawn: Mapping[str, Any] | None = None
    remark: str = ""


class Answerer(ABC):
    """Source of predicted governors for the words in a sentence: heads or a probe.

    The class is not thread-safe: the figure holds its lock during each call.

    Args:
        model: Model that reads the sentences.
    """

    def __init__(self, model: AttentionModel) -> None:
        self.model = model

    @cached_property
    def hybrid_layers(self) -> Mapping[str, LayerNumbers]:
        """Attention layers of hybrid models, cached because the search visits every module."""
        return self.model._hybrid_layers

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Numbers of layers and heads per layer, cached because the search visits modules."""
        return self.model.n_layers, self.model.n_heads

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return the kind and the name of the answerer, for the page."""

    @abstractmethod
    def note(self, options: ArcsOptions) -> str:
        """Return a caption note about the answers, or ""."""

    @abstractmethod
    def answered(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the answers for a sentence, as entries of the drawing data.

        Args:
            sentence: Sentence with an annotated tree.
            options: Options of the figure.

        Raises:
            ValueError: If the sentence cannot be read, or if the model has changed.
        """

    @abstractmethod
    def outcomes(
        self, sentence: Sentence, words: list[int], options: ArcsOptions
    ) -> NDArray[np.int64]:
        """Return 1 for each word with a right answer, 0 for a wrong answer, -1 for no arc.

        Args:
            sentence: Sentence with an annotated tree.
            words: Indices of the words, from 0.
            options: Options of the figure.

        Raises:
            ValueError: If the sentence cannot be read, or if the model has changed.
        """

    @abstractmethod
    def page_answers(
        self, sentences: Sequence[Sentence], index: int, options: ArcsOptions
    ) -> PageAnswers:
        """Return the answers for a saved page that opens on the sentence at `index`."""

    @abstractmethod
    def forget(self) -> None:
        """Clear the cached answers."""

    def opening(self, traits: Mapping[str, Any]) -> dict[str, Any]:
        """Return default options for the opening figure, in addition to the given `traits`."""
        return {}

    def drawn(self, index: int, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the drawing data of a sentence: the tree, the answers, or a problem."""
        problem = too_long(sentence)
        answers: dict[str, Any] = {}
        if not problem:
            try:
                answers = self.answered(sentence, options)
            except ValueError as error:
                problem = on_page(error)
        return sentence_to_wire(index, sentence, problem) | answers

    def has(self, sentence: Sentence, right: bool, options: ArcsOptions) -> bool:
        """Return True if any word of the relation has a right, or wrong, answer.

        A sentence that cannot be read gives False, and the figure shows the error when it shows the
        sentence.

        Args:
            sentence: Sentence with an annotated tree.
            right: Whether to look for right or for wrong answers.
            options: Options of the figure.
        """
        words = words_of_relation(sentence, options.relation)
        if not words or too_long(sentence):
            return False
        try:
            outcomes = self.outcomes(sentence, words, options)
        except ValueError:
            return False
        return bool((outcomes == right).any())


def too_long(sentence: Sentence) -> str:
    """Return the reason why a sentence is too long to be drawn; "" if it is not."""
    if len(sentence) <= _MOST_WORDS:
        return ""
    return f"{sentence.label} has {len(sentence):,} words; up to {_MOST_WORDS:,} are drawn."


def sentence_to_wire(index: int, sentence: Sentence, problem: str) -> dict[str, Any]:
    """Return a sentence for the page, without answers; without words if there is a problem.

    Args:
        index: Index of the sentence in the figure.
        sentence: Sentence with an annotated tree.
        problem: Reason why there is nothing to draw, or "".
    """
    words = slice(0, 0 if problem else None)
    return {
        "sentence": index,
        "name": short_name(sentence.name or sentence.source),
        "words": list(sentence.words[words]),
        "spaces": list(sentence.space_after[words]),
        "relations": list(sentence.relations[words]),
        "governors": to_wire(np.array(sentence.governors[words], np.int32)),
        "head": None,
        "predicted": None,
        "structure": None,
        "problem": problem,
    }
