"""DependencyArcs: what a head predicts for a sentence, beside its dependency tree."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import Any, Literal

import numpy as np
import traitlets

from attnwidget.capture.head import Head
from attnwidget.capture.model import AttentionModel
from attnwidget.studies.governors import GovernorPredictions
from attnwidget.studies.relation_results import DIRECTIONS, RelationAccuracies
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.heads import STATIC, Shapes
from attnwidget.widgets.predictions import Predictions
from attnwidget.widgets.relation_choice import ALL, ROOT, RelationChoice, checked_accuracies
from attnwidget.widgets.relation_words import checked_sentences, relation_names, words_of
from attnwidget.widgets.wire import to_wire

#: A figure of more words could be neither read nor drawn in time.
_MOST_WORDS = 1000
#: Seconds that a search may keep the page waiting.
_PATIENCE = 5.0


class DependencyArcs(RelationChoice):
    """A sentence with its annotated arcs above, and those that the selected head predicts below.

    A head predicts each word's governor: the other word that it attends to most, or the one that
    attends to it most (`direction`; Clark et al. 2019, section 4.2). Predicted arcs are solid where
    the governor is the annotated one, dashed elsewhere; strong weights are opaque. Point at a word
    for its attention to all others. The root's governor is no word, so nothing is predicted for it.

    `model` is what `load_model` gave, `sentences` those of a treebank. With the `accuracies` that
    `probe_relations` found, words are made of tokens as there, the title says how often the head is
    right in the whole treebank, and the first head shown is the best. Further options are the
    traits below, as keywords. An unknown one raises TypeError, a value out of range
    traitlets.TraitError.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.text.treebank import Sentence
        >>> from attnwidget.widgets.dependency_arcs import DependencyArcs
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> arcs = DependencyArcs(load_model(), [cats], selected=[(2, 4)], relation="obj")
        >>> arcs.predictions.governors[arcs.head[:2]].shape
        (2, 3)
    """

    _esm = (STATIC / "dependency_arcs.js").read_text("utf-8")
    _css = (STATIC / "dependency_arcs.css").read_text("utf-8")

    sentences = traitlets.Any(help="The sentences; assign others to show those.")
    sentence = traitlets.Int(0, min=0, help="Index of the sentence shown.").tag(sync=True)
    threshold = traitlets.Float(
        0.0, min=0.0, max=1.0, help="Predicted arcs of a smaller weight are not drawn."
    ).tag(sync=True)

    # Dicts once there is something to draw, else None.
    _drawn = traitlets.Any(None).tag(sync=True)
    _measured = traitlets.Any(None).tag(sync=True)
    _source = traitlets.Dict().tag(sync=True)
    # What the page asks for and what came of it, numbered.
    _jump = traitlets.Dict().tag(sync=True)
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
            self._check_accuracies(checked_accuracies(accuracies, type(self).__name__))
            if "selected" not in traits and traits.get("relation", ALL) in accuracies.relations:
                traits = {**self._best(traits), **traits}
        super().__init__(sentences=checked_sentences(sentences), **traits)

    @property
    def model(self) -> AttentionModel:
        """What predicts."""
        return self._model

    @property
    def accuracies(self) -> RelationAccuracies | None:
        """What was measured, or None."""
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

        Looked for is a word of `relation` whose governor, predicted in `direction` with a weight
        from `threshold` on, is the annotated one, or another one. The search goes on at the other
        end of the list.

        Args:
            outcome: "right" or "wrong".
            step: 1 for the next sentence, -1 for the previous one.

        Returns:
            The sentence's index, or None where no other sentence has such a word or no head is
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

    def _jump_within(self, outcome: str, step: int, seconds: float) -> tuple[int | None, int]:
        """As `jump`; also how many sentences were looked at until one was found or time was up."""
        with self._lock:
            found, looked_at = self._search(outcome == "right", step, monotonic() + seconds)
            if found is not None:
                self.sentence = found
        return found, looked_at

    def _search(self, right: bool, step: int, until: float) -> tuple[int | None, int]:
        count = len(self.sentences)
        if self.head is None:
            return None, count - 1
        layer, head, _ = self.head
        direction = DIRECTIONS.index(self.direction)
        for away in range(1, count):
            if monotonic() > until:
                return None, away - 1
            index = (self.sentence + step * away) % count
            sentence = self.sentences[index]
            words = words_of(sentence, self.relation)
            if not words or len(sentence) > _MOST_WORDS:
                continue
            try:
                predicted = self._predictions.predicted(index)
            except ValueError:
                continue  # no head reads it: said when it is shown
            annotated = np.array(sentence.governors)[words]
            is_right = predicted.governors[layer, head, direction, words] == annotated
            strong = predicted.weights[layer, head, direction, words] >= self.threshold
            if bool(((is_right == right) & strong).any()):
                return index, away
        return None, count - 1

    def _shapes(self) -> Shapes:
        has_encoder = getattr(self._model.hf_model.config, "is_encoder_decoder", False)
        stack = "encoder" if has_encoder else "self"
        return {stack: (self._model.n_layers, self._model.n_heads)}

    def _relations(self) -> tuple[str, ...]:
        measured = self._accuracies.relations if self._accuracies else ()
        names = (ALL, *relation_names(self.sentences), *measured)
        return tuple(name for name in dict.fromkeys(names) if name != ROOT)

    def _check_accuracies(self, accuracies: RelationAccuracies) -> None:
        found = {accuracies.stack: accuracies.correct.shape[:2]}
        if found != self._shapes():
            stack, shape = next(iter(self._shapes().items()))
            layers, heads = accuracies.correct.shape[:2]
            raise ValueError(
                f"'accuracies' are of {layers}×{heads} heads ({accuracies.stack}), the model has "
                f"{shape[0]}×{shape[1]} ({stack}): probe this model"
            )

    def _best(self, traits: dict[str, Any]) -> dict[str, Any]:
        """Where the accuracy is largest on the relation asked for, the last of equals."""
        found = self._accuracies
        assert found is not None
        correct = found.correct[..., found.relations.index(traits.get("relation", ALL))]
        if traits.get("direction") in DIRECTIONS:
            others = np.arange(2) != DIRECTIONS.index(traits["direction"])
            correct = np.where(others, -1, correct)
        last = correct.size - 1 - correct.ravel()[::-1].argmax()
        layer, head, direction = np.unravel_index(last, correct.shape)
        return {
            "selected": [Head(int(layer), int(head), found.stack)],
            "layer": int(layer),
            "direction": DIRECTIONS[direction],
        }

    @traitlets.validate("sentences")
    def _check_sentences(self, proposal: dict[str, Any]) -> tuple[Sentence, ...]:
        try:
            return checked_sentences(proposal["value"])
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(str(error)) from None

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> int:
        index, count = proposal["value"], len(self.sentences)
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
        asked = change["new"]
        with self._answering():
            found, looked_at = self._jump_within(asked["outcome"], asked["step"], _PATIENCE)
            # What was read is kept, so that the same question again goes on from there.
            left = len(self.sentences) - 1 - looked_at
            self._jumped = {"n": asked["n"], "found": found is not None, "left": left}

    def _compute(self) -> None:
        unit = self._accuracies.unit if self._accuracies else "words"
        self._predictions = Predictions(self._model, list(self.sentences), unit)
        self._source = {
            "model": self._model.name,
            "note": "" if unit == "words" else f"unit: {unit}",
            "count": len(self.sentences),
            "layers": self.n_layers,
            "relations": list(self._relations()),
        }
        self._draw()

    def _draw(self) -> None:
        """The sentence with what the shown head predicts for it."""
        sentence, head = self.sentences[self.sentence], self.head
        drawn: dict[str, Any] = {
            "sentence": self.sentence,
            "name": sentence.name or sentence.source,
            "words": list(sentence.words),
            "spaces": list(sentence.space_after),
            "relations": list(sentence.relations),
            "governors": to_wire(np.array(sentence.governors, np.int32)),
            "head": head,
            "predicted": None,
            "problem": "",
        }
        if len(sentence) > _MOST_WORDS:
            drawn["problem"] = (
                f"{sentence.label} has {len(sentence):,} words; up to {_MOST_WORDS:,} are drawn."
            )
        elif head is not None:
            try:
                predicted = self._predictions.maps(self.sentence)
            except ValueError as error:
                drawn["problem"] = str(error)
            else:
                drawn["predicted"] = {
                    "governors": to_wire(predicted.governors[head[:2]].astype(np.int32)),
                    "map": to_wire(predicted.map(*head[:2]).astype(np.float32)),
                }
        if drawn["problem"]:
            empty = to_wire(np.zeros(0, np.int32))
            drawn |= {"words": [], "spaces": [], "relations": [], "governors": empty}
        self._drawn = drawn
        self._measure()

    def _measure(self) -> None:
        """How often the shown head is right on the relation, where that was measured."""
        found, head = self._accuracies, self.head
        if found is None or head is None or self.relation not in found.relations:
            self._measured = None
            return
        r = found.relations.index(self.relation)
        direction = DIRECTIONS.index(self.direction)
        self._measured = {
            "correct": int(found.correct[head.layer, head.head, direction, r]),
            "n": int(found.counts[r]),
            "baseline": float(found.baseline[r]),
            "offset": int(found.baseline_offset[r]),
        }

    def __repr__(self) -> str:
        n_layers, n_heads = self._model.n_layers, self._model.n_heads
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"DependencyArcs({self._model.name}, {n_layers}×{n_heads} heads, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation}, selected: {chosen})"
        )
