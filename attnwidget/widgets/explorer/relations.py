"""The panels of an explorer that show relations: measured on a treebank, at once or on demand."""

from __future__ import annotations

from functools import partial
from typing import Any

from attnwidget.capture.model import AttentionModel
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.widgets.dependency_arcs.probe_view import ProbeView
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.measures import probe_in_parts
from attnwidget.widgets.explorer.panel_status import PanelStatus
from attnwidget.widgets.explorer.panels import OF_TREEBANK
from attnwidget.widgets.explorer.treebank import Treebank, given_treebank
from attnwidget.widgets.relation_table import RelationTable
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.relation_choice import ALL, ROOT
from attnwidget.widgets.shared.relation_words import relation_names, words_of_relation
from attnwidget.words.relation_results import RelationAccuracies

_OFFER = "measure on the 115 demonstration sentences"
#: Seconds that a search for a sentence may take.
_PATIENCE = 0.5


class RelationPanels:
    """The table of relations and the arcs of a sentence.

    Args:
        explorer: The explorer.
        figures: Its figures.
        status: What its page says.
        background: Its jobs, "treebank" among them.
        model: The model, or None.
        treebank: The treebank, in the forms of `explore`.
        probe: A probe whose answers the arcs show; None = the answers of the shown head.

    Raises:
        TypeError, ValueError, OSError: As in `given_treebank`.
    """

    def __init__(
        self,
        explorer: ExplorerFigure,
        figures: FigureSet,
        status: PanelStatus,
        background: Background,
        model: AttentionModel | None,
        treebank: Any,
        probe: DependencyProbe | StructuralProbe | None,
    ) -> None:
        self._explorer = explorer
        self._figures = figures
        self._status = status
        self._background = background
        self._model = model
        self.probe = probe
        #: What is measured, or was; None without a treebank.
        self.treebank: Treebank | None = given_treebank(treebank, model)
        #: The relations that can be chosen.
        self.names: tuple[str, ...] = (ALL,)
        if self.treebank is not None:
            self.names = _names_in(self.treebank)
        self._may_offer = treebank is None and model is not None

    def begin(self) -> None:
        """Measure the treebank, or offer to measure one."""
        if self.treebank is not None:
            self._take(self.treebank)
        elif self._may_offer:
            self._status.offer(dict.fromkeys(OF_TREEBANK, _OFFER))

    def accept(self) -> None:
        """Measure the treebank of the package, as offered."""
        with self._explorer._lock, self._explorer.together():
            self._status.withdraw(*OF_TREEBANK)
            self.treebank = given_treebank(True, self._model)
            assert self.treebank is not None
            self.names = _names_in(self.treebank)
            self._take(self.treebank)

    def choose(self, relation: str) -> None:
        """Choose a relation and its best head; `Explorer.choose` says the rest."""
        table = self._explorer.table
        if table is None:
            waits = self._status.waits("table")
            why = "call wait() first" if waits else "pass treebank= to explore()"
            raise RuntimeError(f"no relations were measured: {why}")
        table.choose(relation)
        self.seek()

    def follow_the_table(self) -> None:
        """Take over the best head of the relation chosen in the table, and seek a sentence."""
        # The best head of a row of the table is chosen with it, and is to be known here.
        explorer = self._explorer
        if explorer.table is not None and explorer.table.relation == explorer.relation:
            explorer.direction = explorer.table.direction
            explorer.selected = explorer.table.selected
        self.seek()

    def seek(self) -> None:
        """Show arcs of a sentence on which the head is right, or of any with the relation."""
        explorer = self._explorer
        arcs = explorer.arcs
        if arcs is None:
            return
        with arcs.hold_sync():
            for name in filter(arcs.has_trait, ("direction", "relation", "selected")):
                setattr(arcs, name, arcs._fitting(name, getattr(explorer, name)))
            relation = explorer.relation
            if arcs._seek_right(_PATIENCE) or words_of_relation(
                arcs.sentences[arcs.sentence], relation
            ):
                return
            count = len(arcs.sentences)
            for index in (*range(arcs.sentence + 1, count), *range(arcs.sentence)):
                if words_of_relation(arcs.sentences[index], relation):
                    arcs.sentence = index
                    return

    def _take(self, treebank: Treebank) -> None:
        if treebank.accuracies is not None:
            self._show(treebank, treebank.accuracies)
        else:
            self._status.measuring(dict.fromkeys(OF_TREEBANK, 0.0))
            self._background.add("treebank", self._job(treebank))

    def _job(self, treebank: Treebank) -> Job:
        assert self._model is not None
        for share, relations in probe_in_parts(self._model, treebank.sentences):
            if relations is not None:
                yield partial(self._show, treebank, relations)
            else:
                yield partial(self._status.measuring, dict.fromkeys(OF_TREEBANK, share))

    def _show(self, treebank: Treebank, relations: RelationAccuracies) -> None:
        with self._explorer._lock, self._explorer.together():
            if self._background.closed:
                return
            self._figures.adopt("table", RelationTable(relations))
            if treebank.sentences:
                # Without a model there is no treebank.
                assert self._model is not None
                arcs = (
                    DependencyArcs(self._model, treebank.sentences, relations)
                    if self.probe is None
                    else ProbeView(self.probe, treebank.sentences)
                )
                self._figures.adopt("arcs", arcs)
                self.seek()
            self._status.measured(*OF_TREEBANK)


def _names_in(treebank: Treebank) -> tuple[str, ...]:
    """The relations that can be chosen."""
    measured = treebank.accuracies.relations if treebank.accuracies is not None else ()
    names = (ALL, *measured, *relation_names(treebank.sentences))
    return tuple(name for name in dict.fromkeys(names) if name != ROOT)
