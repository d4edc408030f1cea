"""DependencyArcs: what a head predicts for a sentence, beside its dependency tree."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import Any, Literal

import traitlets

from attnwidget.capture.hub_model.advised_error import on_page
from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.model import AttentionModel
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.studies.words.governors import GovernorPredictions
from attnwidget.studies.words.relation_results import RelationAccuracies
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.predictions import (
    SentencePredictions,
    Sought,
    sentence_to_wire,
    too_long,
)
from attnwidget.widgets.shared.head_widget import Shapes
from attnwidget.widgets.shared.relation_choice import (
    ALL,
    ROOT,
    RelationChoice,
    best_on,
    checked_accuracies,
    measured_on,
    refuse_other_heads,
    refuse_other_model,
)
from attnwidget.widgets.shared.relation_words import checked_sentences, relation_names
from attnwidget.widgets.shared.traits import Jump
from attnwidget.widgets.shared.widget_code import chosen_options

#: Seconds that a search may keep the page waiting.
_PATIENCE = 5.0


class DependencyArcs(RelationChoice):
    """A sentence with its annotated arcs above, and those that the selected head predicts below.

    A head predicts each word's governor: the word that it attends to most, or the word that attends
    to it most (`direction`; Clark et al. 2019, section 4.2). Predicted arcs are solid where the
    governor is the annotated one, dashed elsewhere; the stronger the weight, the thicker and the
    more opaque. Point at a word for its attention to all others. The governor of the root is no
    word, so the root has no prediction.

    `model` is the result of `load_model`, `sentences` are sentences of a treebank. With the
    `accuracies` from `probe_relations`, the figure uses its definition of words, the title gives
    the head's accuracy in the whole treebank, and the figure opens on the best head. Further
    options are the traits below, as keywords. An unknown one raises TypeError, a value out of range
    traitlets.TraitError.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.text.treebank import Sentence
        >>> from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> arcs = DependencyArcs(load_model(), [cats], selected=[(2, 4)], relation="obj")
        >>> arcs.predictions.governors[arcs.head[:2]].shape
        (2, 3)
    """

    kind = "dependency_arcs"

    sentences = traitlets.Any(help="The sentences to show.")
    sentence = traitlets.Int(0, min=0, help="Index of the sentence shown.").tag(sync=True)
    threshold = traitlets.Float(
        0.0, min=0.0, max=1.0, help="Predicted arcs of a smaller weight are not drawn."
    ).tag(sync=True)

    # Dicts once there is something to draw, else None.
    _drawn = traitlets.Any(None).tag(sync=True)
    _measured = traitlets.Any(None).tag(sync=True)
    _source = traitlets.Dict().tag(sync=True)
    # The numbered requests of the page, and the results.
    _jump = Jump().tag(sync=True)
    _jumped = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        model: AttentionModel,
        sentences: Iterable[Sentence],
        accuracies: RelationAccuracies | None = None,
        **traits: Any,
    ) -> None:
        if not isinstance(model, AttentionModel):
            raise TypeError(
                f"DependencyArcs reads a model, got {type(model).__name__}. Load one with "
                "load_model()."
            )
        self._model = model
        self._accuracies = accuracies
        if accuracies is not None:
            checked = checked_accuracies(accuracies, type(self).__name__)
            refuse_other_heads(checked, self._shapes())
            refuse_other_model(checked, model)
            relation = traits.get("relation", ALL)
            if "selected" not in traits and relation in checked.relations:
                traits = {**best_on(checked, relation, traits.get("direction")), **traits}
        super().__init__(sentences=checked_sentences(sentences), **traits)

    def _given(self) -> dict[str, Any]:
        measured = YOURS if self._accuracies is not None else None
        return {"model": self._model.made_by, "sentences": YOURS, "accuracies": measured}

    def _chosen(self) -> dict[str, Any]:
        # Without these the figure begins with the best head.
        best = self._accuracies is not None
        return chosen_options(self, always=("selected", "direction") if best else ())

    @property
    def model(self) -> AttentionModel:
        """What predicts."""
        return self._model

    @property
    def accuracies(self) -> RelationAccuracies | None:
        """The measured result, or None."""
        return self._accuracies

    @property
    def predictions(self) -> GovernorPredictions:
        """What every head predicts for the sentence shown.

        Raises:
            ValueError: it is too long for the model, or has a word without tokens.
            RuntimeError: the model was closed.
        """
        with self._lock:
            return self._predictions.maps(self.sentence)

    def jump(self, outcome: Literal["right", "wrong"], step: int = 1) -> int | None:
        """Show the next sentence on which the shown head is right, or wrong.

        The search looks for a word of `relation` whose governor, predicted in `direction` with a
        weight of at least `threshold`, is right or wrong. The search wraps around at the end of the
        list.

        Args:
            outcome: "right" or "wrong".
            step: 1 for the next sentence, -1 for the previous one.

        Returns:
            The sentence's index, or None if no other sentence has such a word or no head is
            selected.

        Raises:
            ValueError: another outcome or step.
            RuntimeError: the model was closed.
        """
        if outcome not in ("right", "wrong") or step not in (1, -1):
            raise ValueError(
                f"jump('right' | 'wrong', step=1 | -1), got {outcome!r} and step={step!r}"
            )
        return self._jump_within(outcome, step, inf)[0]

    def seek_right(self, seconds: float) -> bool:
        """Show a sentence on which the shown head is right: the shown sentence, or the next match.

        As `jump`, for `seconds` at most; returns whether there is one.
        """
        with self._lock:
            sentence, _ = self._next(True, self.sentence - 1, 1, seconds)
            if sentence is not None:
                self.sentence = sentence
        return sentence is not None

    def _jump_within(self, outcome: str, step: int, seconds: float) -> tuple[int | None, int]:
        """As `jump`; also how many sentences were looked at until one was found or time was up."""
        with self._lock:
            sentence, looked_at = self._next(outcome == "right", self.sentence, step, seconds)
            if sentence is not None:
                self.sentence = sentence
        return sentence, looked_at

    def _next(self, right: bool, start: int, step: int, seconds: float) -> tuple[int | None, int]:
        """The next sentence from `start` on, and how many were looked at."""
        sought = self.head and Sought(
            self.head, right, self.relation, self.direction, self.threshold
        )
        return self._predictions.next_with(
            sought, start=start, step=step, until=monotonic() + seconds
        )

    def _shapes(self) -> Shapes:
        has_encoder = getattr(self._model.hf_model.config, "is_encoder_decoder", False)
        stack = "encoder" if has_encoder else "self"
        return {stack: (self._model.n_layers, self._model.n_heads)}

    def _layers(self, stack: str) -> LayerNumbers:
        return self._model.hybrid_layers.get(stack) or super()._layers(stack)

    def _relations(self) -> tuple[str, ...]:
        measured = self._accuracies.relations if self._accuracies else ()
        names = (ALL, *relation_names(self.sentences), *measured)
        return tuple(name for name in dict.fromkeys(names) if name != ROOT)

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
            raise traitlets.TraitError(f"'sentence' is 0 to {count - 1} here, got {index}")
        return int(index)

    @traitlets.observe("sentences")
    def _other_sentences(self, change: object) -> None:
        if self._drawn:
            with self.hold_sync():
                self.sentence = 0
                if not self.has_relation(self.relation):
                    self.relation = ALL
                self._refresh()

    @traitlets.observe("sentence", "selected")
    def _other_arcs(self, change: object) -> None:
        if self._drawn:
            with self._answering():
                self._draw()

    @traitlets.observe("relation", "direction")
    def _other_relation(self, change: object) -> None:
        if self._drawn:
            self._measure()

    @traitlets.observe("_jump")
    def _asked_to_jump(self, change: dict[str, Any]) -> None:
        request = change["new"]
        if not request:
            return
        with self._answering():
            sentence, looked_at = self._jump_within(request["outcome"], request["step"], _PATIENCE)
            # Results are kept, so that a repeated request continues after the last result.
            left = len(self.sentences) - 1 - looked_at
            self._jumped = {"n": request["n"], "found": sentence is not None, "left": left}

    def _compute(self) -> None:
        unit = self._accuracies.unit if self._accuracies else "words"
        self._predictions = SentencePredictions(
            self._model, list(self.sentences), unit, self._by_clitic()
        )
        self._source = {
            "model": self._model.name,
            "note": "" if unit == "words" else f"unit: {unit}",
            "count": len(self.sentences),
            "layers": self.n_layers,
            "without_attention": list(self._layers(next(iter(self._shapes()))).without_attention),
            "relations": list(self._relations()),
        }
        self._draw()

    def _by_clitic(self) -> bool:
        """Whether possessors are judged by their clitics: as in the study, else as by default."""
        return self._accuracies is None or self._accuracies.possessive == "clark"

    def _draw(self) -> None:
        """The sentence with what the shown head predicts for it."""
        sentence = self.sentences[self.sentence]
        head = self.head
        predicted = None
        problem = too_long(sentence)
        # Heads may be off by now, or on again.
        self._source = {**self._source, "model": self._model.name}
        if head is not None and not problem:
            try:
                if self._accuracies is not None:
                    refuse_other_model(self._accuracies, self._model)
                predicted = self._predictions.maps(self.sentence)
            except ValueError as error:
                problem = on_page(error)
        self._drawn = sentence_to_wire(self.sentence, sentence, head, predicted, problem)
        self._measure()

    def _measure(self) -> None:
        """How often the shown head is right on the relation, where that was measured."""
        self._measured = measured_on(self._accuracies, self.head, self.relation, self.direction)

    def __repr__(self) -> str:
        n_layers = self._model.n_layers
        n_heads = self._model.n_heads
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"DependencyArcs({self._model.name}, {n_layers}×{n_heads} heads, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation}, selected: {chosen})"
        )
