"""DependencyArcs: what a head predicts for a sentence, beside its dependency tree."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import traitlets

from attnwidget.capture.model import AttentionModel
from attnwidget.studies.governors import GovernorPredictions
from attnwidget.studies.relation_results import RelationAccuracies
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.heads import STATIC, Shapes
from attnwidget.widgets.measured_relations import (
    best_on,
    measured_on,
    refuse_other_heads,
    refuse_other_model,
)
from attnwidget.widgets.predictions import Predictions
from attnwidget.widgets.relation_choice import ALL, ROOT, RelationChoice, checked_accuracies
from attnwidget.widgets.relation_words import checked_sentences, relation_names
from attnwidget.widgets.sentence_search import Sought, next_sentence
from attnwidget.widgets.sentence_wire import sentence_to_wire, too_long

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.figures.caption import Caption
    from attnwidget.widgets.exporting import ThemeName

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
            checked = checked_accuracies(accuracies, type(self).__name__)
            refuse_other_heads(checked, self._shapes())
            refuse_other_model(checked, model)
            relation = traits.get("relation", ALL)
            if "selected" not in traits and relation in checked.relations:
                traits = {**best_on(checked, relation, traits.get("direction")), **traits}
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

    def figure(self, *, width: int | None = None, theme: ThemeName = "light") -> alt.LayerChart:
        """The sentence with its arcs as shown now, drawn without a page.

        What no page can scroll breaks into rows: an arc whose governor stands in another row
        begins at the edge, where that word is named.

        Args:
            width: pixels of a row, 720 without one.
            theme: "light" or "dark".

        Raises:
            RuntimeError: the model was closed.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.text.treebank import Sentence
            >>> from attnwidget.widgets.dependency_arcs import DependencyArcs
            >>> tree = ["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]
            >>> arcs = DependencyArcs(load_model(), Sentence.from_lists(*tree), selected=[(2, 4)])
            >>> arcs.figure().title.text
            ['L2 H4 · 3-5 · all relations · dependent to governor']
        """
        from attnwidget.widgets.pictures import dependency_arcs

        return dependency_arcs.figure(self, width=width, theme=theme)

    @property
    def caption(self) -> Caption:
        """What is shown now, in words."""
        from attnwidget.widgets.pictures import dependency_arcs

        return dependency_arcs.caption(self)

    def _table(self) -> pd.DataFrame:
        from attnwidget.widgets.pictures import dependency_arcs

        return dependency_arcs.table(self)

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
            sought = self.head and Sought(
                *(self.head, outcome == "right", self.relation, self.direction, self.threshold)
            )
            found, looked_at = next_sentence(
                self.sentences,
                self._predictions,
                sought,
                start=self.sentence,
                step=step,
                until=monotonic() + seconds,
            )
            if found is not None:
                self.sentence = found
        return found, looked_at

    def _shapes(self) -> Shapes:
        has_encoder = getattr(self._model.hf_model.config, "is_encoder_decoder", False)
        stack = "encoder" if has_encoder else "self"
        return {stack: (self._model.n_layers, self._model.n_heads)}

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
        predicted, problem = None, too_long(sentence)
        if head is not None and not problem:
            try:
                predicted = self._predictions.maps(self.sentence)
            except ValueError as error:
                problem = str(error)
        self._drawn = sentence_to_wire(self.sentence, sentence, head, predicted, problem)
        self._measure()

    def _measure(self) -> None:
        """How often the shown head is right on the relation, where that was measured."""
        self._measured = measured_on(self._accuracies, self.head, self.relation, self.direction)

    def __repr__(self) -> str:
        n_layers, n_heads = self._model.n_layers, self._model.n_heads
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"DependencyArcs({self._model.name}, {n_layers}×{n_heads} heads, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation}, selected: {chosen})"
        )
