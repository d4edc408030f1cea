"""The figures of an explorer that show relations: measured on a treebank, at once or on demand."""

from __future__ import annotations

from functools import partial
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.head_atlas.cards.atlas_result import Atlas
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.studies.words.relation_results import RelationAccuracies
from attnwidget.widgets.dependency_arcs.probe_view import ProbeView
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.explorer.measures import probe_in_parts
from attnwidget.widgets.explorer.panels import Child, LinkedPanels
from attnwidget.widgets.explorer.treebank import Treebank, given_treebank
from attnwidget.widgets.relation_table.widget import RelationTable
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.relation_choice import ALL, ROOT, DirectionChoice
from attnwidget.widgets.shared.relation_words import relation_names, words_of

_OF_TREEBANK = ("table", "arcs")
#: Seconds that a search for a sentence may take.
_PATIENCE = 0.5


class RelationPanels(DirectionChoice, LinkedPanels):
    """Linked figures of which two show relations: those of a treebank, once they are measured."""

    table = Child(
        "The RelationTable; None without a treebank and until it is measured, as are the arcs."
    ).tag(sync=True)
    arcs = Child(
        "The DependencyArcs, or the ProbeView of a probe that was given; None without sentences."
    ).tag(sync=True)

    # What the page offers to measure if the user gave no treebank; "" for nothing.
    _offer = traitlets.Unicode().tag(sync=True)
    # Raised by the page when a reader takes the offer.
    _accepted = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        model: AttentionModel,
        attention: Attention,
        treebank: Any,
        probe: DependencyProbe | StructuralProbe | None,
        metrics: Any,
        atlas: Atlas | None,
        traits: dict[str, Any],
        pending: dict[str, dict[str, Any]],
    ) -> None:
        self._probe = probe
        self._treebank: Treebank | None = None
        self._names: tuple[str, ...] = (ALL,)
        checked = given_treebank(treebank, model)
        if checked is not None:
            self._names = _relations_of(checked)
        elif treebank is None:
            self._offer = "measure on the 115 demonstration sentences"
        super().__init__(model, attention, metrics, atlas, traits, pending)
        if checked is not None:
            try:
                self._take(checked)
            except Exception:
                self.close()
                raise

    def choose(self, relation: str) -> None:
        """Choose a relation and its best head in its direction, as a row of the table does.

        The arcs go to a sentence on which that head is right.

        Raises:
            traitlets.TraitError: there is no such relation.
            RuntimeError: relations are not measured yet, or there is no treebank.
        """
        if self.table is None:
            waits = "table" in self.progress
            why = "call wait() first" if waits else "pass treebank= to explore()"
            raise RuntimeError(f"no relations were measured: {why}")
        self.table.choose(relation)
        self._seek()

    def _relations(self) -> tuple[str, ...]:
        return self._names

    @traitlets.observe("_accepted")
    def _take_the_offer(self, change: object) -> None:
        if self._offer and self._accepted:
            with self._lock, self.hold_sync():
                self._offer = ""
                treebank = given_treebank(True, self.model)
                assert treebank is not None
                self._names = _relations_of(treebank)
                self._take(treebank)

    def _take(self, treebank: Treebank) -> None:
        self._treebank = treebank
        if treebank.accuracies is not None:
            self._show_relations(treebank.accuracies)
        else:
            self._set_progress(dict.fromkeys(_OF_TREEBANK, 0.0))
            self._background.add("treebank", self._treebank_job(treebank))

    def _treebank_job(self, treebank: Treebank) -> Job:
        for share, relations in probe_in_parts(self._model, treebank.sentences):
            if relations is not None:
                yield partial(self._show_relations, relations)
            else:
                yield partial(self._set_progress, dict.fromkeys(_OF_TREEBANK, share))

    def _show_relations(self, relations: RelationAccuracies) -> None:
        assert self._treebank is not None
        with self._lock, self.hold_sync():
            if self._background.closed:
                return
            self._adopt("table", RelationTable(relations))
            if self._treebank.sentences:
                sentences = self._treebank.sentences
                arcs = (
                    DependencyArcs(self._model, sentences, relations)
                    if self._probe is None
                    else ProbeView(self._probe, sentences)
                )
                restored = "sentence" in self._pending.get("arcs", {})
                self._adopt("arcs", arcs)
                if not restored:
                    self._seek()
            self._set_progress({}, _OF_TREEBANK)

    @traitlets.observe("relation")
    def _jump_to_relation(self, change: object) -> None:
        # The best head of a row of the table is chosen with it, and is to be known here.
        if self.table is not None and self.table.relation == self.relation:
            self.direction = self.table.direction
            self.selected = self.table.selected
        self._seek()

    def _seek(self) -> None:
        """Show arcs of a sentence on which the head is right, or of any with the relation."""
        arcs = self.arcs
        if arcs is None:
            return
        with arcs.hold_sync():
            for name in filter(arcs.has_trait, ("direction", "relation", "selected")):
                setattr(arcs, name, arcs._fitting(name, getattr(self, name)))
            if arcs.seek_right(_PATIENCE) or words_of(arcs.sentences[arcs.sentence], self.relation):
                return
            count = len(arcs.sentences)
            for index in (*range(arcs.sentence + 1, count), *range(arcs.sentence)):
                if words_of(arcs.sentences[index], self.relation):
                    arcs.sentence = index
                    return


def _relations_of(treebank: Treebank) -> tuple[str, ...]:
    """The relations that can be chosen."""
    measured = treebank.accuracies.relations if treebank.accuracies is not None else ()
    names = (ALL, *measured, *relation_names(treebank.sentences))
    return tuple(name for name in dict.fromkeys(names) if name != ROOT)
