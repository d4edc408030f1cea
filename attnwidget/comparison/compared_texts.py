"""Texts that are tokenized for each compared model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.comparison.map_changes import MapUnit
from attnwidget.corpus.argument_checks import all_of
from attnwidget.corpus.shared_inputs import SharedInputs
from attnwidget.inputs.advised_error import AdvisedError, on_page
from attnwidget.inputs.input_list import INPUTS, each_of
from attnwidget.inputs.special_token_template import Template
from attnwidget.text.running_text import RunningText
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.words.word_segments import WordSegmenter

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_HOW = "words are compared over sentences of a treebank, or lists of words, such as [text.split()]"
_ADVICE = (
    "compare models that share a tokenizer, such as a model and its fine-tuned copy, or pass "
    'sentences, lists of words, and unit="words", which compares maps between words'
)


class ComparedTexts:
    """Texts for several models that read them one after the other.

    The object holds no reference to the models.

    Args:
        texts: Texts, segments, or pictures and sounds; with words, sentences of a treebank or lists
            of words.
        unit: Unit of the compared maps, "tokens" or "words".

    Attributes:
        are_media: Whether the inputs are pictures and sounds.

    Raises:
        TypeError: The texts have another type.
        ValueError: There are no segments.
    """

    def __init__(self, texts: Iterable[Any], unit: MapUnit) -> None:
        self._unit = unit
        self._first: _Vocabulary | None = None
        self._segments: Sequence[Segment] = []
        self._words: list[RunningText] = []
        self._annotated: list[Sentence] = []
        self._inputs = SharedInputs(() if unit == "words" else texts)
        self.are_media = self._inputs.are_media
        if unit == "words":
            listed = list(each_of(texts, _HOW))
            self._words = list(_labeled(listed))
            self._annotated = [text for text in listed if isinstance(text, Sentence)]
        elif not len(self._inputs):
            raise ValueError(f"there are no segments to compare models over: {INPUTS}")

    def __len__(self) -> int:
        return len(self._words) or len(self._inputs)

    @property
    def first(self) -> Segment | None:
        """First segment, which determines the reader of all inputs; None before `of`."""
        return self._segments[0] if self._segments else None

    @property
    def sentences(self) -> list[Sentence]:
        """Sentences of a treebank, for metrics that need annotations.

        Raises:
            ValueError: The texts are not sentences of a treebank, or tokens are compared.
        """
        if not self._words or len(self._annotated) < len(self._words):
            raise ValueError(
                'the metric "features" reads sentences of a treebank (load_treebank) with '
                'unit="words", as in compare(a, b, sentences, unit="words", metrics=["features"])'
            )
        return self._annotated

    @property
    def documents(self) -> NDArray[np.int64] | None:
        """Source document of each text, or None if documents are unknown."""
        documents = self._inputs.documents
        return np.array(documents, np.int64) if documents else None

    def segments(self, model: AttentionModel) -> Sequence[Segment]:
        """Return the texts as tokens of a model, in order; the first model cuts the texts.

        Args:
            model: Model that reads the texts.

        Raises:
            ValueError: A text is not valid (see `make_segments`), a word has no tokens, or the
                model reads other tokens than the first model.
        """
        if self._unit == "words":
            try:
                return WordSegmenter(model).segments(self._words, False)[0]
            except AdvisedError as error:
                raise ValueError(
                    f"{on_page(error)}: leave the sentence out, or pass sentence.with_spaces() if "
                    "a token is part of several words"
                ) from None
        self._segments = self._inputs.segments(model)
        if self.are_media:
            # The maps will show whether both models have the same tokens.
            return self._segments
        vocabulary = _Vocabulary.from_segments(model, self._segments)
        if self._first is None:
            self._first = vocabulary
        self._first.refuse_other(vocabulary)
        return self._segments


@dataclass(frozen=True)
class _Vocabulary:
    """Token ids and special tokens of some segments in one model."""

    name: str
    ids: dict[str, int | None]
    templates: list[Template]

    @classmethod
    def from_segments(cls, model: AttentionModel, segments: Sequence[Segment]) -> _Vocabulary:
        """Return the token ids and special tokens of the segments in a model."""
        tokens = sorted(
            {token for segment in segments for token in (*segment.first, *segment.second)}
        )
        if model.tokenizer is None:
            raise ValueError(
                f"{model.name} has no tokenizer that could put special tokens around segments: "
                "pass one to load_model(model, tokenizer)"
            )
        ids = model.tokenizer.convert_tokens_to_ids(tokens)
        pairs = sorted({bool(segment.second) for segment in segments if not segment.roles})
        templates = [model.texts.template(pair=pair) for pair in pairs]
        return cls(model.name, dict(zip(tokens, ids, strict=True)), templates)

    def refuse_other(self, other: _Vocabulary) -> None:
        """Raise ValueError if two models would read different ids, including special tokens."""
        differing = [token for token, number in self.ids.items() if other.ids[token] != number]
        if differing:
            examples = ", ".join(map(repr, differing[:3]))
            raise ValueError(
                f"{self.name} and {other.name} do not have the same tokens: {len(differing)} of "
                f"{len(self.ids)} ids in the segments ({examples}) differ or are missing; {_ADVICE}"
            )
        if self.templates != other.templates:
            raise ValueError(
                f"{self.name} and {other.name} put different special tokens or token types around "
                f"a text: {_ADVICE}"
            )


def _labeled(sentences: Sequence[Any]) -> Iterable[RunningText]:
    """Yield the words of each sentence, with a label for errors."""
    for number, sentence in enumerate(sentences):
        words = sentence.words if isinstance(sentence, Sentence) else sentence
        if isinstance(sentence, (str, Segment)) or not all_of(str, words, _HOW):
            raise TypeError(f"expected a list of words at {number}, got {sentence!r:.60}: {_HOW}")
        if isinstance(sentence, Sentence):
            yield sentence.running
        else:
            yield RunningText(tuple(words), label=f"sentence {number}")
