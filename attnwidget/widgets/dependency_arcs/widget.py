"""DependencyArcs: what a head predicts for a sentence, beside its dependency tree."""

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
    """A sentence with its annotated arcs above, and those that the selected head predicts below.

    A head predicts each word's governor: the most attended word, or the word with the most
    attention to this word (`direction`; Clark et al. 2019, section 4.2). Predicted arcs are solid
    where the governor is the annotated one, dashed elsewhere; the stronger the weight, the thicker
    and the more opaque. Point at a word for its attention to all others. The governor of the root
    is no word, so the root has no prediction.

    `model` is the result of `load_model`, `sentences` are sentences of a treebank. With the
    `accuracies` from `probe_relations`, the figure uses its definition of words, the title gives
    the head's accuracy in the whole treebank, and the figure opens on the best head. Further
    options are the traits below, as keywords. An unknown one raises TypeError, a value out of range
    traitlets.TraitError.

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
        measured = YOURS if self._accuracies is not None else None
        return {"model": self.model.made_by, "sentences": YOURS, "accuracies": measured}

    def _chosen(self) -> dict[str, Any]:
        # Without these the figure begins with the best head.
        best = self._accuracies is not None
        return chosen_options(self, always=("selected", "direction") if best else ())

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
            return self._answerer.predictions(self.sentences[self.sentence])

    def _arcs_options(self) -> ArcsOptions:
        return replace(super()._arcs_options(), direction=self.direction)

    def relations(self) -> tuple[str, ...]:
        measured = self._accuracies.relations if self._accuracies else ()
        names = (*super().relations(), *measured)
        return tuple(name for name in dict.fromkeys(names) if name != ROOT)

    @computed("sentences", "sentence", "selected", page_chooses=("sentence", "selected"))
    def _drawn(self) -> dict[str, Any]:
        """The sentence with the predictions of the shown head."""
        return self._answered()

    @computed(
        "selected", "relation", "direction", page_chooses=("selected", "relation", "direction")
    )
    def _measured(self) -> dict[str, Any] | None:
        """How often the shown head is right on the relation, where that was measured."""
        return measured_on(self._accuracies, self.head, self.relation, self.direction)

    def __repr__(self) -> str:
        n_layers = self.model.n_layers
        n_heads = self.model.n_heads
        chosen = ", ".join(map(str, self.selected)) or "none"
        return (
            f"DependencyArcs({self.model.name}, {n_layers}×{n_heads} heads, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation}, selected: {chosen})"
        )
