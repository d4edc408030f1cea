"""Relation panels of an explorer, measured on a treebank at once or on demand."""

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
#: Time limit of the search for a sentence, in seconds.
_PATIENCE = 0.5


class RelationPanels:
    """Relation table and dependency arcs.

    Args:
        explorer: Explorer of the panels.
        figures: Figures of the explorer.
        status: Texts next to the panels.
        background: Jobs of the explorer, including "treebank".
        model: Model of the explorer, or None.
        treebank: Argument `treebank` of `explore`.
        probe: Probe whose predictions the arcs show; None = the predictions of the current head.

    Raises:
        TypeError: If `given_treebank` raises it.
        ValueError: If `given_treebank` raises it.
        OSError: If `given_treebank` raises it.
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
        #: Treebank that is or was measured; None without a treebank.
        self.treebank: Treebank | None = given_treebank(treebank, model)
        #: Relations that can be chosen.
        self.names: tuple[str, ...] = (ALL,)
        if self.treebank is not None:
            self.names = _names_in(self.treebank)
        self._may_offer = treebank is None and model is not None

    def begin(self) -> None:
        """Measure the treebank, or show a button that measures the demonstration treebank."""
        if self.treebank is not None:
            self._take(self.treebank)
        elif self._may_offer:
            self._status.offer(dict.fromkeys(OF_TREEBANK, _OFFER))

    def accept(self) -> None:
        """Measure the demonstration treebank, after a click on the button."""
        with self._explorer._lock, self._explorer.together():
            self._status.withdraw(*OF_TREEBANK)
            self.treebank = given_treebank(True, self._model)
            assert self.treebank is not None
            self.names = _names_in(self.treebank)
            self._take(self.treebank)

    def choose(self, relation: str) -> None:
        """Choose a relation and its best head; see `Explorer.choose`."""
        table = self._explorer.table
        if table is None:
            is_measuring = self._status.waits("table")
            advice = "call wait() first" if is_measuring else "pass treebank= to explore()"
            raise RuntimeError(f"no relations were measured: {advice}")
        table.choose(relation)
        self.seek()

    def follow_the_table(self) -> None:
        """Select the best head of the relation that was chosen in the table; find a sentence."""
        # The table forwards its relation before its best head, so read the head here.
        explorer = self._explorer
        if explorer.table is not None and explorer.table.relation == explorer.relation:
            explorer.direction = explorer.table.direction
            explorer.selected = explorer.table.selected
        self.seek()

    def seek(self) -> None:
        """Show a sentence on which the head is right, or any sentence with the relation."""
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
                # There is a model, because it has read the treebank.
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
    """Return the relations that can be chosen."""
    relations = treebank.accuracies.relations if treebank.accuracies is not None else ()
    names = (ALL, *relations, *relation_names(treebank.sentences))
    return tuple(name for name in dict.fromkeys(names) if name != ROOT)
