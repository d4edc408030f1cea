"""The relation and the direction of figures of dependencies, and the measured accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import traitlets

from attnwidget.capture.tapping.head import Head
from attnwidget.text.near_names import among
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.head_widget import HeadWidget, LayerOptions, StackShapes
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

#: Every word, of whatever relation.
ALL = "all"
#: What no head can be right on.
ROOT = "root"


class RelationOptions(LayerOptions, total=False):
    """Options of a figure of relations."""

    relation: str


class DirectionOptions(RelationOptions, total=False):
    """Options of a figure of heads as predictors of governors."""

    direction: Literal["dependent to governor", "governor to dependent"]


class RelationChoice(HeadWidget):
    """A figure of one relation, or of all."""

    relation = traitlets.Unicode(
        ALL, help='The relation shown, such as "nsubj"; "all" for every word.'
    ).tag(sync=True, option=True, shared=True)

    def relations(self) -> tuple[str, ...]:
        """The relations that can be shown, "all" first; each widget has its own."""
        raise NotImplementedError

    def _has_relation(self, name: str) -> bool:
        """Whether the figure has such a relation."""
        return name in self.relations()

    def page_part(self) -> Part:
        """Return the figure on a page, with the relations that can be chosen there."""
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
    """A figure of heads as predictors of governors."""

    direction = traitlets.Enum(
        DIRECTIONS,
        DIRECTIONS[0],
        help="Who attends to whom; the governor of a word is predicted either way.",
    ).tag(sync=True, option=True, shared=True)


def shown_relations(accuracies: RelationAccuracies) -> list[int]:
    """Indices of the relations that a head can be right on."""
    return [r for r, name in enumerate(accuracies.relations) if name != ROOT]


def checked_accuracies(accuracies: object, widget: str) -> RelationAccuracies:
    """The accuracies given to a widget; TypeError for anything else."""
    if not isinstance(accuracies, RelationAccuracies):
        raise TypeError(
            f"{widget} shows a RelationAccuracies, got {type(accuracies).__name__}. Make one with "
            "probe_relations(model, sentences)."
        )
    return accuracies


def refuse_other_heads(accuracies: RelationAccuracies, shapes: StackShapes) -> None:
    """Raise ValueError if the accuracies belong to heads that the figure does not have."""
    if {accuracies.stack: accuracies.correct.shape[:2]} != shapes:
        stack, shape = next(iter(shapes.items()))
        layers, heads = accuracies.correct.shape[:2]
        raise ValueError(
            f"'accuracies' are of {layers}×{heads} heads ({accuracies.stack}), the model has "
            f"{shape[0]}×{shape[1]} ({stack}): probe this model"
        )


def refuse_other_model(accuracies: RelationAccuracies, model: AttentionModel) -> None:
    """ValueError where the accuracies were measured with a model of another name."""
    if accuracies.model_name not in ("", model.name):
        raise ValueError(
            f"'accuracies' are of the model {accuracies.model_name!r}, the figure reads "
            f"{model.name!r}: probe this model, or load both by one name"
        )


def best_on(
    accuracies: RelationAccuracies, relation: str, direction: str | None = None
) -> dict[str, Any]:
    """The traits that show the best head on a relation, the last of equals.

    Args:
        accuracies: what was measured.
        relation: one of its relations.
        direction: the only one that counts; both where it is none of `DIRECTIONS`.
    """
    correct = accuracies.correct[..., accuracies.relations.index(relation)]
    if direction in DIRECTIONS:
        others = np.arange(2) != DIRECTIONS.index(direction)
        correct = np.where(others, -1, correct)
    last = correct.size - 1 - correct.ravel()[::-1].argmax()
    layer, head, way = np.unravel_index(last, correct.shape)
    return {
        "selected": [Head(int(layer), int(head), accuracies.stack)],
        "layer": int(layer),
        "direction": DIRECTIONS[way],
    }


def measured_on(
    accuracies: RelationAccuracies | None, head: Head | None, relation: str, direction: str
) -> dict[str, Any] | None:
    """How often a head is right on a relation, beside the best fixed offset; None if unmeasured."""
    if accuracies is None or head is None or relation not in accuracies.relations:
        return None
    r = accuracies.relations.index(relation)
    way = DIRECTIONS.index(direction)
    return {
        "correct": int(accuracies.correct[head.layer, head.head, way, r]),
        "n": int(accuracies.counts[r]),
        "baseline": float(accuracies.baseline[r]),
        "offset": int(accuracies.baseline_offset[r]),
    }
