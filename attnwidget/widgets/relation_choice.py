"""The relation and the direction that figures of dependencies show, under the same names in all."""

from __future__ import annotations

from typing import Any

import traitlets

from attnwidget.studies.relation_results import DIRECTIONS, RelationAccuracies
from attnwidget.widgets.heads import HeadWidget

#: Every word, of whatever relation.
ALL = "all"
#: What no head can be right on.
ROOT = "root"


class RelationChoice(HeadWidget):
    """A figure of heads as predictors of governors."""

    relation = traitlets.Unicode(
        ALL, help='The relation shown, such as "nsubj"; "all" for every word.'
    ).tag(sync=True)
    direction = traitlets.Enum(
        DIRECTIONS,
        DIRECTIONS[0],
        help="Who attends to whom; the governor of a word is predicted either way.",
    ).tag(sync=True)

    def _relations(self) -> tuple[str, ...]:
        """The relations that can be shown, "all" first; each widget has its own."""
        raise NotImplementedError

    def has_relation(self, name: str) -> bool:
        """Whether the figure has such a relation."""
        return name in self._relations()

    @traitlets.validate("relation")
    def _check_relation(self, proposal: dict[str, Any]) -> str:
        name = str(proposal["value"])
        if not self.has_relation(name):
            shown = ", ".join(self._relations())
            why = "; no head predicts the root" if name == ROOT else ""
            raise traitlets.TraitError(f"'relation' is one of {shown}; got {name!r}{why}")
        return name


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
