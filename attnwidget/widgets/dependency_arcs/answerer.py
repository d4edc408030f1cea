"""What figures of arcs ask: which word governs each word of a sentence."""

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

#: A longer sentence could neither be read in a figure nor drawn in time.
_MOST_WORDS = 1000


@dataclass(frozen=True)
class ArcsOptions:
    """Options of a figure that answers depend on.

    Attributes:
        head: The shown head; None without a selection.
        layer: The stepped layer.
        relation: The shown relation, such as "nsubj" or "all".
        direction: Who attends to whom, one of `DIRECTIONS`.
    """

    head: Head | None
    layer: int
    relation: str
    direction: str


@dataclass(frozen=True)
class PageAnswers:
    """The answers that a page without a kernel holds.

    Attributes:
        title: The heading of the page.
        own: Small data for the figure, as JSON.
        holdings: Large data by name.
        drawn: Drawing data of the shown sentence if the page holds no other sentence; else None.
        remark: A remark for the reader.
    """

    title: str
    own: Mapping[str, Any]
    holdings: Mapping[str, Holding] = field(default_factory=dict)
    drawn: Mapping[str, Any] | None = None
    remark: str = ""


class Answerer(ABC):
    """A source of predicted governors for the words of a sentence: heads, or a probe.

    Not safe for threads: the figure holds its lock during each call.

    Args:
        model: The model that reads the sentences.
    """

    def __init__(self, model: AttentionModel) -> None:
        self.model = model

    @cached_property
    def hybrid_layers(self) -> Mapping[str, LayerNumbers]:
        """The layers of hybrid models, kept because finding them looks at every module."""
        return self.model._hybrid_layers

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The numbers of layers and of heads per layer, kept for the same reason."""
        return self.model.n_layers, self.model.n_heads

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return the kind of the answerer and its name, as the page knows them."""

    @abstractmethod
    def note(self, options: ArcsOptions) -> str:
        """Return what the caption must add on the answers; "" for nothing."""

    @abstractmethod
    def answered(self, sentence: Sentence, options: ArcsOptions) -> dict[str, Any]:
        """Return the answers for a sentence, as entries of the drawing data.

        Raises:
            ValueError: The sentence cannot be read, or the model has changed.
        """

    @abstractmethod
    def outcomes(
        self, sentence: Sentence, words: list[int], options: ArcsOptions
    ) -> NDArray[np.int64]:
        """Return for each of the words 1 for a right answer, 0 for a wrong one, -1 for no arc.

        Raises:
            ValueError: As `answered`.
        """

    @abstractmethod
    def page_answers(
        self, sentences: Sequence[Sentence], index: int, options: ArcsOptions
    ) -> PageAnswers:
        """Return the answers for a page without a kernel that shows the sentence at `index`."""

    @abstractmethod
    def forget(self) -> None:
        """Forget all answers, so that the next request computes new answers."""

    def opening(self, traits: Mapping[str, Any]) -> dict[str, Any]:
        """Return options that the figure opens with, beside the given `traits`."""
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
        """Whether the answer for a word of the relation is right, or wrong.

        False for a sentence that cannot be read: the figure says so when it shows the sentence.
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
    """Why a sentence cannot be drawn; "" if it can be."""
    if len(sentence) <= _MOST_WORDS:
        return ""
    return f"{sentence.label} has {len(sentence):,} words; up to {_MOST_WORDS:,} are drawn."


def sentence_to_wire(index: int, sentence: Sentence, problem: str) -> dict[str, Any]:
    """Return a sentence as the page draws it, without answers; without words if it has a problem.

    Args:
        index: The index of the sentence in the figure.
        sentence: The sentence.
        problem: Why there is nothing to draw, or "".
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
