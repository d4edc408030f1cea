"""RelationTable: the best head for each dependency relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import traitlets

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.text.counted import counted
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.shared.relation_choice import (
    DirectionChoice,
    DirectionOptions,
    checked_accuracies,
    shown_relations,
)
from attnwidget.widgets.shared.traits import Choice
from attnwidget.widgets.wire.values import to_wire
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack


#: Columns to sort by: columns of `RelationAccuracies.best`, `other_texts`, which is the accuracy of
#: the same head on other texts, and `gain`, which is the accuracy minus the baseline.
COLUMNS = ("relation", "n", "head", "direction", "accuracy", "other_texts", "baseline", "gain")
_OTHER_TEXTS = "other_texts"
_FEW = 10


class RelationTableOptions(DirectionOptions, total=False):
    """Options of a `RelationTable`."""

    min_count: int
    sort: Literal[
        "relation", "n", "head", "direction", "accuracy", "other_texts", "baseline", "gain"
    ]
    descending: bool
    picture_rows: int


class RelationTable(DirectionChoice):
    """Table of the best head per relation, with a map of all heads (Clark et al. 2019, Table 1).

    `accuracies` is a result of `probe_relations`. Each row is a relation: its best head over both
    directions, the accuracy with its 95 % interval, the best fixed offset, and the gain over the
    offset. Heads are chosen and scored on the same words. For the bundled model, a column therefore
    has the accuracy of the same head on UD English EWT. An asterisk marks heads that are better
    than the offset (corrected p up to 0.05). When you choose a row, its head is selected, and the
    map of layers x heads shows the accuracy of every head on that relation in `direction`. The root
    has no row, because no head predicts it. `save` draws each relation once, with its subtypes, and
    at most `picture_rows` relations. If a relation is chosen, the map is drawn below the table.

    Options are keywords, and traits of the figure. An unknown option raises TypeError, and a value
    out of range or an unknown relation raises traitlets.TraitError.

    Example:
        >>> from attnwidget import RelationTable, Sentence, load_model
        >>> from attnwidget.words import probe_relations
        >>> cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
        >>> found = probe_relations(load_model(), [cats], progress=False)
        >>> table = RelationTable(found, min_count=1, sort="relation", descending=False)
        >>> table.to_frame()[["relation", "n", "accuracy"]].values.tolist()
        [['all', 3, 0.6666666666666666], ['nsubj', 1, 1.0], ['obj', 1, 1.0]]
    """

    kind = "relation_table"
    page_label = "relations"
    page_title = "Attention heads and dependency relations"

    accuracies = traitlets.Instance(
        RelationAccuracies, help="Measured accuracies of heads on relations."
    )
    min_count = traitlets.Int(
        _FEW, min=1, help="Minimum number of words per relation in the table."
    ).tag(sync=True, option=True)
    sort = Choice(
        COLUMNS,
        "gain",
        help='Column by which the rows are sorted. For "gain" in descending order, significant '
        "gains come first.",
    ).tag(sync=True, option=True)
    descending = traitlets.Bool(True, help="Whether to sort in descending order.").tag(
        sync=True, option=True
    )
    picture_rows = traitlets.Int(
        20, min=1, help="Maximum number of relations in a picture; the page has all relations."
    ).tag(sync=True, option=True)

    def __init__(
        self, accuracies: RelationAccuracies, **traits: Unpack[RelationTableOptions]
    ) -> None:
        # What relations and heads can be chosen is known before any trait is set.
        checked_accuracies(accuracies, type(self).__name__)
        super().__init__(accuracies=accuracies, **traits)

    def _given(self) -> dict[str, Any]:
        return {"accuracies": YOURS}

    def shapes(self) -> StackShapes:
        n_layers, n_heads = self.accuracies.correct.shape[:2]
        return {self.accuracies.stack: (n_layers, n_heads)}

    def _layers(self, stack: str) -> LayerNumbers:
        layers_without_attention = self.accuracies.layers_without_attention
        return LayerNumbers.without(layers_without_attention, self.shapes()[stack][0])

    def relations(self) -> tuple[str, ...]:
        names = self.accuracies.relations
        return tuple(names[r] for r in shown_relations(self.accuracies))

    @when_open("accuracies")
    def _keep_choices(self, change: object) -> None:
        self._leave_missing_heads()
        self.layer = min(self.layer, self.n_layers - 1)
        if not self._has_relation(self.relation):
            self.relation = "all"
        if self.sort == _OTHER_TEXTS and self.accuracies.other_texts is None:
            self.sort = "gain"

    @traitlets.validate("sort")
    def _check_sort(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] == _OTHER_TEXTS and self.accuracies.other_texts is None:
            raise traitlets.TraitError(
                "'sort' is 'other_texts', but these accuracies have no numbers on other texts, "
                "which come with the bundled model: sort by 'accuracy'"
            )
        return str(proposal["value"])

    def choose(self, relation: str) -> None:
        """Choose a row: its relation, its best head and the direction of this head.

        Args:
            relation: Name of the relation.

        Raises:
            traitlets.TraitError: If the table has no such relation.
        """
        with self.hold_sync():
            self.relation = relation
            best = self._best()
            row = best[best["relation"] == relation].to_dict("records")[0]
            self.direction = row["direction"]
            self.selected = [Head(row["layer"], row["head"], self.accuracies.stack)]

    def _best(self) -> pd.DataFrame:
        best = self.accuracies.best(min_count=1, skip=("root",))
        best = best.assign(gain=best["accuracy"] - best["baseline"])
        if self.accuracies.other_texts is None:
            return best
        return best.assign(**{_OTHER_TEXTS: self.accuracies.on_other_texts(best)})

    @computed("accuracies")
    def _source(self) -> dict[str, Any]:
        return {
            "model": self.accuracies.model_name,
            "note": _note(self.accuracies),
            "layers_without_attention": list(self.accuracies.layers_without_attention),
        }

    @computed("accuracies")
    def _numbers(self) -> dict[str, Any]:
        relations = self.accuracies
        relation_indices = shown_relations(self.accuracies)
        best = self._best()
        direction = best["direction"].map(DIRECTIONS.index)
        return {
            "stack": relations.stack,
            "relations": [relations.relations[r] for r in relation_indices],
            "counts": to_wire(relations.counts[relation_indices].astype(np.int32)),
            "baseline": to_wire(
                relations.baseline_correct.max(0)[relation_indices].astype(np.int32)
            ),
            "offsets": to_wire(relations.baseline_offset[relation_indices].astype(np.int32)),
            "best": to_wire(
                np.stack([best["layer"], best["head"], direction], axis=1).astype(np.int32)
            ),
            "correct": to_wire(relations.correct[..., relation_indices].astype(np.int32)),
            "p_values": to_wire(relations.p_values[..., relation_indices].astype(np.float32)),
            "other_texts": self._other_texts(best),
        }

    def _other_texts(self, best: pd.DataFrame) -> dict[str, Any] | None:
        other = self.accuracies.other_texts
        if other is None:
            return None
        baseline = other.rule_accuracy(0, best["relation"].tolist())
        return {
            "corpus": other.corpus,
            "description": other.description,
            "accuracy": to_wire(best[_OTHER_TEXTS].to_numpy(np.float32)),
            "baseline": to_wire(baseline.astype(np.float32)),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return the table's rows: the columns of `RelationAccuracies.best`, and `gain`.

        If the accuracies have numbers on other texts, `other_texts` has those of the same heads.
        """
        best = self._best()
        frequent = best[best["n"] >= self.min_count]
        sort_columns = ["layer", "head"] if self.sort == "head" else [self.sort]
        if self.sort == "gain" and self.descending:
            sort_columns = ["significant", "gain"]
        sorted_rows = frequent.sort_values(
            sort_columns, ascending=not self.descending, kind="stable"
        )
        return sorted_rows.reset_index(drop=True)

    def __repr__(self) -> str:
        n_layers, n_heads = self.accuracies.correct.shape[:2]
        selected = ", ".join(map(str, self.selected)) or "none"
        return (
            f"RelationTable({self.accuracies.model_name}, {n_layers}×{n_heads} heads, "
            f"{counted(len(self.relations()) - 1, 'relation')}, "
            f"shown: {self.relation}, selected: {selected})"
        )


def _note(relations: RelationAccuracies) -> str:
    """Return the caption note about the probe's data."""
    words = counted(int(relations.counts[0]), "word")
    notes = [f"{words} in {counted(relations.n_sentences, 'sentence')}"]
    if relations.n_skipped:
        notes.append(f"{counted(relations.n_skipped, 'sentence')} left out")
    if not relations.complete:
        notes.append("interrupted")
    if relations.unit != "words":
        notes.append(f"unit: {relations.unit}")
    return " · ".join(notes)
