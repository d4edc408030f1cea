"""Base class of `DependencyArcs` and `ProbeView`: a dependency tree and the predicted arcs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any

import traitlets

from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import Answerer, ArcsOptions
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.shared.outcome_jumps import Outcome, OutcomeJumps, check_jump
from attnwidget.widgets.shared.relation_choice import (
    ALL,
    ROOT,
    RelationChoice,
    RelationOptions,
)
from attnwidget.widgets.shared.relation_words import checked_sentences, relation_names
from attnwidget.words.relation_results import DIRECTIONS

#: Time limit of a search by the page, in seconds.
_PATIENCE = 5.0


class SentenceOptions(RelationOptions, total=False):
    """Options of a figure of a sentence with arcs."""

    sentence: int


class SentenceArcs(RelationChoice, OutcomeJumps):
    """Sentence with its annotated arcs above the text and an answerer's arcs below."""

    page_label = "dependency arcs"

    sentences = traitlets.Any(help="Sentences of the figure.")
    sentence = traitlets.Int(0, min=0, help="Index of the current sentence.").tag(
        sync=True, option=True
    )

    def __init__(
        self, answerer: Answerer, sentences: Iterable[Sentence], traits: Mapping[str, Any]
    ) -> None:
        self._answerer = answerer
        opening = answerer.opening(traits)
        super().__init__(sentences=checked_sentences(sentences), **{**opening, **traits})

    @property
    def model(self) -> AttentionModel:
        """Model that reads the sentences."""
        return self._answerer.model

    def jump(self, outcome: Outcome, step: int = 1) -> int | None:
        """Show the next sentence with a right, or a wrong, answer.

        The search looks for a word of `relation` whose predicted governor is right or wrong, and
        wraps around at the end of the list.

        Args:
            outcome: "right" or "wrong".
            step: 1 for the next sentence, -1 for the previous one.

        Returns:
            Index of the sentence; None if no further sentence matches or no head is selected.

        Raises:
            ValueError: If `outcome` or `step` has another value.
            RuntimeError: If the model was closed.
        """
        check_jump(outcome, step)
        return self._jump_within(outcome, step, inf)[0]

    def _seek_right(self, seconds: float) -> bool:
        """Show a sentence with a right answer: the shown sentence, or the next match.

        Args:
            seconds: Time limit in seconds.

        Returns:
            True if a sentence was found within the time limit.
        """
        with self._lock:
            sentence, _ = self._next(True, self.sentence - 1, 1, seconds)
            if sentence is not None:
                self.sentence = sentence
        return sentence is not None

    def _jump_within(self, outcome: str, step: int, seconds: float) -> tuple[int | None, int]:
        """Jump like `jump`, with a time limit; also return the number of checked sentences."""
        with self._lock:
            sentence, n_checked = self._next(outcome == "right", self.sentence, step, seconds)
            if sentence is not None:
                self.sentence = sentence
        return sentence, n_checked

    def _next(self, right: bool, start: int, step: int, seconds: float) -> tuple[int | None, int]:
        """Return the next matching sentence after `start`, and the number of checked sentences."""
        options = self._arcs_options()

        def fits(index: int) -> bool:
            return self._answerer.has(self.sentences[index], right, options)

        return next_index(len(self.sentences), fits, start=start, step=step, seconds=seconds)

    def _arcs_options(self) -> ArcsOptions:
        """Return the options that change the answers."""
        return ArcsOptions(self.head, self.layer, self.relation, DIRECTIONS[0])

    def shapes(self) -> StackShapes:
        has_encoder = getattr(self.model.hf_model.config, "is_encoder_decoder", False)
        stack = "encoder" if has_encoder else "self"
        return {stack: self._answerer.shape}

    def _layers(self, stack: str) -> LayerNumbers:
        return self._answerer.hybrid_layers.get(stack) or super()._layers(stack)

    def relations(self) -> tuple[str, ...]:
        names = (ALL, *relation_names(self.sentences))
        return tuple(name for name in names if name != ROOT)

    @traitlets.validate("sentences")
    def _check_sentences(self, proposal: dict[str, Any]) -> tuple[Sentence, ...]:
        try:
            return checked_sentences(proposal["value"])
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(str(error)) from None

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> int:
        index = proposal["value"]
        count = len(self.sentences)
        if not 0 <= index < count:
            raise traitlets.TraitError(f"'sentence' must be 0 to {count - 1} here, got {index}")
        return int(index)

    @when_open("sentences")
    def _show_first_sentence(self, change: object) -> None:
        self._answerer.forget()
        self.sentence = 0
        if not self._has_relation(self.relation):
            self.relation = ALL

    def _jump_for_page(self, outcome: Outcome, step: int) -> dict[str, Any]:
        sentence, n_checked = self._jump_within(outcome, step, _PATIENCE)
        return {"found": sentence is not None, "left": len(self.sentences) - 1 - n_checked}

    @computed("sentences", sync=False)
    def _names(self) -> list[str]:
        """Relations that can be chosen, computed once because this searches all sentences."""
        return list(self.relations())

    @computed("_names", "sentence", "selected", "layer")
    def _source(self) -> dict[str, Any]:
        """Source of the answers; the model name includes disabled heads."""
        return {
            "model": self.model.name,
            "note": self._answerer.note(self._arcs_options()),
            "count": len(self.sentences),
            "layers": self.n_layers,
            "layers_without_attention": list(
                self._layers(next(iter(self.shapes()))).layers_without_attention
            ),
            "relations": self._names,
            "answerer": self._answerer.described(),
        }

    def page_part(self) -> Part:
        """Return the saved page's data: the current sentence, and answers for several sentences."""
        answers = self._answerer.page_answers(self.sentences, self.sentence, self._arcs_options())
        state = state_of(self)
        if answers.drawn is not None:
            # The current sentence is the only sentence of the page.
            state["sentence"] = 0
            state["_source"] = {**self._source, "count": 1}
            state["_drawn"] = answers.drawn
        return Part(
            figure=type(self).__name__,
            title=answers.title,
            label=self.page_label,
            state=state,
            shapes=self.shapes(),
            shared=self.shared_traits(),
            relations=self.relations(),
            own=answers.own,
            holdings=answers.holdings,
            remark=answers.remark,
            fixed=self._fixed_on_page(),
        )

    def _answered(self) -> dict[str, Any]:
        """Return the drawing data of the current sentence."""
        index = self.sentence
        return self._answerer.drawn(index, self.sentences[index], self._arcs_options())


def next_index(
    count: int, fits: Callable[[int], bool], *, start: int, step: int, seconds: float
) -> tuple[int | None, int]:
    """Return the next index that fits, and wrap around at the end.

    Args:
        count: Number of sentences.
        fits: Function that returns True if the sentence at an index fits.
        start: Index to start from, which is not checked.
        step: 1 for the next index, -1 for the previous one.
        seconds: Time limit in seconds.

    Returns:
        The index or None, and the number of checked sentences.

    Example:
        >>> from attnwidget.widgets.dependency_arcs.sentence_arcs import next_index
        >>> next_index(5, [1, 3].__contains__, start=3, step=1, seconds=1.0)
        (1, 3)
    """
    deadline = monotonic() + seconds
    for distance in range(1, count):
        if monotonic() > deadline:
            return None, distance - 1
        index = (start + step * distance) % count
        if fits(index):
            return index, distance
    return None, max(0, count - 1)
