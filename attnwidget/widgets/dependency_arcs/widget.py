"""DependencyArcs: a sentence's dependency tree with the predictions of a head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.model import AttentionModel
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.answerer import ArcsOptions
from attnwidget.widgets.dependency_arcs.heads_answerer import HeadsAnswerer
from attnwidget.widgets.dependency_arcs.sentence_arcs import SentenceArcs, SentenceOptions
from attnwidget.widgets.shared.computed import computed
from attnwidget.widgets.shared.relation_choice import (
    ROOT,
    DirectionChoice,
    DirectionOptions,
    checked_accuracies,
    measured_on,
    refuse_other_heads,
    refuse_other_model,
)
from attnwidget.widgets.shared.widget_code import chosen_options
from attnwidget.words.governors import GovernorPredictions
from attnwidget.words.relation_results import RelationAccuracies

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DependencyArcsOptions(SentenceOptions, DirectionOptions, total=False):
    """Options of `DependencyArcs`."""


class DependencyArcs(SentenceArcs, DirectionChoice):
    """Sentence with its annotated arcs above the text and the selected head's predictions below.

    A head predicts a word's governor: the word that it attends to most, or the word that attends to
    it most (`direction`; Clark et al. 2019, section 4.2). Predicted arcs are solid if the governor
    is right, and dashed otherwise. Arcs with a larger weight are thicker and more opaque. Point at
    a word to see its attention to all other words. The governor of the root is not a word, so the
    root has no prediction.

    `model` is a result of `load_model`, and `sentences` are sentences of a treebank. With
    `accuracies` from `probe_relations`, the figure uses the same definition of words, the title has
    the head's accuracy on the whole treebank, and the figure opens on the best head.

    Options are keywords, and traits of the figure. An unknown option raises TypeError, and a value
    out of range raises traitlets.TraitError.

    Example:
        >>> from attnwidget import DependencyArcs, Sentence, load_model
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> arcs = DependencyArcs(load_model(), [cats], selected=[(2, 4)], relation="obj")
        >>> arcs.predictions.governors[arcs.head[:2]].shape
        (2, 3)
    """

    kind = "dependency_arcs"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "selected": "the best head of `relation` with `accuracies`, otherwise []",
        "layer": "the layer of the selected head, otherwise 0",
        "direction": "the direction of the best head with `accuracies`, otherwise "
        '"dependent to governor"',
    }

    _answerer: HeadsAnswerer

    def __init__(
        self,
        model: AttentionModel,
        sentences: Iterable[Sentence],
        accuracies: RelationAccuracies | None = None,
        **traits: Unpack[DependencyArcsOptions],
    ) -> None:
        if not isinstance(model, AttentionModel):
            raise TypeError(
                f"DependencyArcs reads a model, got {type(model).__name__}. Load one with "
                "load_model()."
            )
        checked = None if accuracies is None else checked_accuracies(accuracies, "DependencyArcs")
        self._accuracies = checked
        self._answerer = HeadsAnswerer(model, checked)
        if checked is not None:
            refuse_other_heads(checked, self.shapes())
            refuse_other_model(checked, model)
        super().__init__(self._answerer, sentences, traits)

    def _given(self) -> dict[str, Any]:
        accuracies = YOURS if self._accuracies is not None else None
        return {"model": self.model.made_by, "sentences": YOURS, "accuracies": accuracies}

    def _chosen(self) -> dict[str, Any]:
        # Always include these options: without them, the figure opens on the best head.
        best = self._accuracies is not None
        return chosen_options(self, always=("selected", "direction") if best else ())

    @property
    def accuracies(self) -> RelationAccuracies | None:
        """Measured accuracies, or None."""
        return self._accuracies

    @property
    def predictions(self) -> GovernorPredictions:
        """Predictions of every head for the current sentence.

        Raises:
            ValueError: If the sentence is too long for the model or has a word without tokens.
            RuntimeError: If the model was closed.
        """
        with self._lock:
            return self._answerer.predictions(self.sentences[self.sentence])

    def _arcs_options(self) -> ArcsOptions:
        return replace(super()._arcs_options(), direction=self.direction)

    def relations(self) -> tuple[str, ...]:
        relations = self._accuracies.relations if self._accuracies else ()
        names = (*super().relations(), *relations)
        return tuple(name for name in dict.fromkeys(names) if name != ROOT)

    @computed("sentences", "sentence", "selected", page_chooses=("sentence", "selected"))
    def _drawn(self) -> dict[str, Any]:
        """Drawing data of the current sentence with the current head's predictions."""
        return self._answered()

    @computed(
        "selected", "relation", "direction", page_chooses=("selected", "relation", "direction")
    )
    def _measured(self) -> dict[str, Any] | None:
        """Accuracy of the current head on the relation; None if it was not measured."""
        return measured_on(self._accuracies, self.head, self.relation, self.direction)

    def __repr__(self) -> str:
        n_layers = self.model.n_layers
        n_heads = self.model.n_heads
        selected = ", ".join(map(str, self.selected)) or "none"
        return (
            f"DependencyArcs({self.model.name}, {n_layers}×{n_heads} heads, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation}, selected: {selected})"
        )
