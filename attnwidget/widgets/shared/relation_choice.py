"""Relation and direction of dependency figures, and the measured accuracies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import traitlets

from attnwidget.capture.tapping.head import Head
from attnwidget.text.near_names import among
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.head_widget import HeadWidget, LayerOptions, StackShapes
from attnwidget.widgets.shared.traits import Choice
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Name for words of all relations.
ALL = "all"
#: Relation that no head can predict.
ROOT = "root"


class RelationOptions(LayerOptions, total=False):
    """Options of a figure of relations."""

    relation: str


class DirectionOptions(RelationOptions, total=False):
    """Options of a figure of heads as predictors of governors."""

    direction: Literal["dependent to governor", "governor to dependent"]


class RelationChoice(HeadWidget):
    """Figure of one relation or all relations."""

    relation = traitlets.Unicode(
        ALL, help='Name of the current relation, such as "nsubj"; "all" = every word.'
    ).tag(sync=True, option=True, shared=True)

    def relations(self) -> tuple[str, ...]:
        """Return the relations that can be chosen, "all" first."""
        raise NotImplementedError

    def _has_relation(self, name: str) -> bool:
        """Return True if the figure has a relation of this name."""
        return name in self.relations()

    def page_part(self) -> Part:
        """Return the figure's part of a saved page, with the relations that can be chosen there."""
        return replace(super().page_part(), relations=self.relations())

    def _fitting(self, name: str, value: Any) -> Any:
        if name == "relation" and not self._has_relation(value):
            return ALL
        return super()._fitting(name, value)

    @traitlets.validate("relation")
    def _check_relation(self, proposal: dict[str, Any]) -> str:
        name = str(proposal["value"])
        if not self._has_relation(name):
            why = "; no head predicts the root" if name == ROOT else ""
            raise traitlets.TraitError(
                f"there is no 'relation' {name!r}: {among(name, self.relations())}{why}"
            )
        return name


class DirectionChoice(RelationChoice):
    """Figure of heads that predict governors."""

    direction = Choice(
        DIRECTIONS,
        DIRECTIONS[0],
        help="Direction of attention between dependents and governors; in both directions, the "
        "governor of a word is predicted.",
    ).tag(sync=True, option=True, shared=True)


def shown_relations(accuracies: RelationAccuracies) -> list[int]:
    """Return the indices of the relations that a head can predict."""
    return [r for r, name in enumerate(accuracies.relations) if name != ROOT]


def checked_accuracies(accuracies: object, widget: str) -> RelationAccuracies:
    """Return the accuracies if they have the right type, or raise TypeError.

    Args:
        accuracies: Value that the user passed.
        widget: Name of the widget, for the error message.
    """
    if not isinstance(accuracies, RelationAccuracies):
        raise TypeError(
            f"{widget} shows a RelationAccuracies, got {type(accuracies).__name__}. Make one with "
            "attnwidget.words.probe_relations(model, sentences), on the sentences of "
            "load_treebank(path) or attnwidget.demo.demo_treebank()."
        )
    return accuracies


def refuse_other_heads(accuracies: RelationAccuracies, shapes: StackShapes) -> None:
    """Raise ValueError if the accuracies do not belong to the figure's heads."""
    if {accuracies.stack: accuracies.correct.shape[:2]} != shapes:
        stack, shape = next(iter(shapes.items()))
        layers, heads = accuracies.correct.shape[:2]
        raise ValueError(
            f"'accuracies' are of {layers}×{heads} heads ({accuracies.stack}), the model has "
            f"{shape[0]}×{shape[1]} ({stack}): probe this model"
        )


def refuse_other_model(accuracies: RelationAccuracies, model: AttentionModel) -> None:
    """Raise ValueError if the accuracies were measured on a model with another name."""
    if accuracies.model_name not in ("", model.name):
        raise ValueError(
            f"'accuracies' are of the model {accuracies.model_name!r}, the figure reads "
            f"{model.name!r}: probe this model, or load both by one name"
        )


def best_on(
    accuracies: RelationAccuracies, relation: str, direction: str | None = None
) -> dict[str, Any]:
    """Return the traits that show the best head on a relation; with ties, the last head.

    Args:
        accuracies: Measured accuracies.
        relation: Relation in the accuracies.
        direction: Direction of the head; any value that is not in `DIRECTIONS` means both.
    """
    correct = accuracies.correct[..., accuracies.relations.index(relation)]
    if direction in DIRECTIONS:
        others = np.arange(2) != DIRECTIONS.index(direction)
        correct = np.where(others, -1, correct)
    last = correct.size - 1 - correct.ravel()[::-1].argmax()
    layer, head, direction_number = np.unravel_index(last, correct.shape)
    return {
        "selected": [Head(int(layer), int(head), accuracies.stack)],
        "layer": int(layer),
        "direction": DIRECTIONS[direction_number],
    }


def measured_on(
    accuracies: RelationAccuracies | None, head: Head | None, relation: str, direction: str
) -> dict[str, Any] | None:
    """Return a head's counts on a relation and the best fixed offset; None if not measured."""
    if accuracies is None or head is None or relation not in accuracies.relations:
        return None
    relation_number = accuracies.relations.index(relation)
    direction_number = DIRECTIONS.index(direction)
    return {
        "correct": int(
            accuracies.correct[head.layer, head.head, direction_number, relation_number]
        ),
        "n": int(accuracies.counts[relation_number]),
        "baseline": float(accuracies.baseline[relation_number]),
        "offset": int(accuracies.baseline_offset[relation_number]),
    }
