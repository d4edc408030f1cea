"""Measurements on the current text of an explorer, and their panels."""

from __future__ import annotations

from functools import partial
from typing import Any

from attnwidget.capture.maps.attention import Attention
from attnwidget.metrics.head_distances import HeadDistances
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.widgets.explorer.atlas_names import STACK
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.figure_set import FigureSet
from attnwidget.widgets.explorer.head_names import HeadNames
from attnwidget.widgets.explorer.measures import text_distances, text_metrics
from attnwidget.widgets.explorer.panel_status import PanelStatus
from attnwidget.widgets.explorer.panels import OF_TEXT
from attnwidget.widgets.head_scatter import HeadScatter
from attnwidget.widgets.link_view.widget import LinkView
from attnwidget.widgets.prediction_view.shown_question import (
    asked_places,
    can_be_asked,
    default_position,
    position_after,
    predicted_input,
    stack_of_answers,
)
from attnwidget.widgets.prediction_view.widget import PredictionView
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.metric_table import Metrics

_NO_MAPS = "Distances between heads need whole maps, and a long input has none: shorten the text."
_NO_DISTANCES = (
    "Distances between heads compare maps of a text to itself, and these maps look at other tokens."
)
_ALONE = "of this {} alone"
_NOT_ASKED = "The predictions belong to another text: this attention has no model to ask."
#: Delay in seconds before a text is measured, so that drawing and a next text come first.
_PAUSE = 0.3
#: Number of texts with cached measurements.
_KEPT = 16


class TextMeasures:
    """Measurements on the current text: metrics, distances, predictions and links.

    Args:
        explorer: Explorer of the text.
        figures: Figures of the explorer.
        status: Texts next to the panels.
        background: Jobs of the explorer, including "text" and "effects".
        metrics: Metrics of the caller, in the forms that `HeadGrid` accepts; None = measure the
            text.
        names: Names of the heads, whose atlas may have metrics of its own.
    """

    def __init__(
        self,
        explorer: ExplorerFigure,
        figures: FigureSet,
        status: PanelStatus,
        background: Background,
        metrics: Any,
        names: HeadNames,
    ) -> None:
        self._names = names
        self._explorer = explorer
        self._figures = figures
        self._status = status
        self._background = background
        self._given_distances = _distances_in(metrics)
        #: Whether the caller passed the metrics.
        self.are_given = metrics is not None
        #: Grid metrics without effects of heads, by stack and title.
        self.metrics: dict[str, Metrics] = {}
        self._known: LatestValues[Any, tuple[dict[str, Metrics], HeadDistances]]
        self._known = LatestValues(_KEPT)
        # Grid title of the effects, or "", and whether the next effects are shown.
        self._effect = ""
        self._effect_shown = False

    def begin(self) -> None:
        """Store the metrics of the caller and measure the first text."""
        if self.are_given:
            self.metrics = self._explorer.grid.metrics
        self._measure(delay=0)

    def read_another(self) -> None:
        """Pass a new attention to the figures and measure it."""
        explorer = self._explorer
        self._status.forget_problems(OF_TEXT)
        self._note_given()
        for figure in self._figures.of_attention():
            if figure is explorer.predictions and not can_be_asked(explorer.attention):
                self._status.problem("predictions", _NOT_ASKED)
            elif figure is explorer.predictions and self._can_wait(figure):
                # A background job links the figure again. Until then the grid has no effects.
                self._figures.unlink("predictions")
                figure._forget_question()
                self._effects_changed(None)
            elif figure.attention is not explorer.attention:
                self._hand_on(figure)
        self._measure(delay=_PAUSE)

    # Effects of heads

    @property
    def shows_effect(self) -> bool:
        """True if the grid's metric is the effect of heads on a prediction."""
        return bool(self._effect) and self._explorer.grid.metric == self._effect

    def look_at_effects(self) -> None:
        """Tell the predictions whether their effects are visible and may be measured exactly."""
        if self._explorer.predictions is not None:
            self._explorer.predictions._look_at_effects(self._are_effects_in_sight)

    @property
    def predictions_of_input(self) -> PredictionView | None:
        """Prediction figure if it shows the current input, otherwise None."""
        view: PredictionView | None = self._explorer.predictions
        intact = self._explorer.attention.intact
        return view if view is not None and view.attention.intact is intact else None

    @property
    def _are_effects_in_sight(self) -> bool:
        """True if the open tab or the grid's metric shows the effects of heads."""
        in_grid = self.shows_effect or self._effect_shown
        return self._explorer.tab == "predictions" or in_grid

    def _can_wait(self, predictions: PredictionView) -> bool:
        """Return True if predictions are invisible and would need another forward pass."""
        is_another = predictions.attention.intact is not self._explorer.attention.intact
        return is_another and not self._are_effects_in_sight

    def _hand_on(self, figure: Any) -> None:
        if figure is self._explorer.predictions:
            figure._look_at_effects(self._are_effects_in_sight)
        self._figures.hand_on(figure)

    def _effects_changed(self, change: object) -> None:
        """Add the effects in a background job, because this thread holds the figure's lock.

        The job takes the explorer's lock first and then the figure's lock.
        """
        self._background.add("effects", self._effects_job())

    def _effects_job(self) -> Job:
        yield self._show_effects

    def _show_effects(self) -> None:
        """Add the exact effects to the metrics of the grid."""
        with self._explorer._lock, self._explorer.together():
            if not self._background.closed:
                self._show_grid_metrics()
                self._show_offer()

    def _show_offer(self) -> None:
        """Show or hide the button that starts slow effects."""
        view = self.predictions_of_input
        offer = "" if view is None else view.offer
        if offer:
            self._status.offer({"predictions": offer})
        elif self._status.offers("predictions"):
            self._status.withdraw("predictions")

    def _show_grid_metrics(self) -> None:
        """Show the measured metrics, and the effects if they belong to the current prediction."""
        metrics = {stack: dict(titles) for stack, titles in self.metrics.items()}
        if not self.are_given and STACK in metrics:
            metrics[STACK] |= self._names.shares
        view = self.predictions_of_input
        grid = self._explorer.grid
        effect_metrics: dict[str, Any] = {}
        if view is not None and view.is_estimate is False:
            effect_metrics = view.effect_metric.get(view.stack, view.effect_metric)
            metrics.setdefault(view.stack, {}).update(effect_metrics)
        if not effect_metrics and not self._effect:
            grid.metrics = metrics
            return
        shows_effect = self._effect_shown or self.shows_effect
        with grid.hold_sync():
            if self.shows_effect:
                grid.filter = grid.metric = None
            self._effect = next(iter(effect_metrics), "")
            grid.metrics = metrics
            if shows_effect and effect_metrics and grid.metric is None:
                grid.metric = self._effect
                shows_effect = False
            # If the grid showed effects, it also shows the effects of the next prediction.
            self._effect_shown = shows_effect and grid.metric is None

    # Measurements

    def _measure(self, delay: float) -> None:
        """Start to measure the current attention, with cached measurements of its text."""
        explorer = self._explorer
        attention = explorer.attention
        names = list(OF_TEXT)
        if explorer.why is not None or not _has_links(attention):
            names.remove("why")
        if self._figures.is_linked("predictions") or not can_be_asked(attention):
            names.remove("predictions")
        if self._given_distances is not None and explorer.head_scatter is not None:
            names.remove("head_scatter")
        if "head_scatter" in names and (problem := _without_distances(attention)):
            names.remove("head_scatter")
            self._status.problem("head_scatter", problem)
        if names or not self.are_given:
            self._status.measuring(dict.fromkeys(names, 0.0))
            key = explorer._key_of_input()
            job = self._job(attention, names, key)
            self._background.add("text", job, delay=delay if key else 0)

    def _job(self, attention: Attention, names: list[str], key: object) -> Job:
        cached = self._known.get(key) if key is not None else None
        if "why" in names:
            yield partial(self._add_links, attention)
        if "predictions" in names:
            self._ask_first(attention)
            yield partial(self._show_predictions, attention)
        metrics: dict[str, Metrics] = {}
        if not self.are_given:
            metrics = cached[0] if cached else text_metrics(attention)
            yield partial(self._show_metrics, attention, metrics)
        if "head_scatter" not in names:
            return
        distances = self._given_distances or (cached[1] if cached else text_distances(attention))
        yield None
        distances.embed()
        if key is not None:
            self._known.add(key, (metrics, distances))
        yield partial(self._show_map, attention, distances)

    def _is_shown(self, attention: Attention) -> bool:
        """Return True if an attention is still the current attention."""
        return attention is self._explorer.attention and not self._background.closed

    def _add_links(self, attention: Attention) -> None:
        """Add the LinkView, which needs no measurement, if its panel is empty."""
        with self._explorer._lock, self._explorer.together():
            if self._explorer.why is None and self._is_shown(attention):
                self._figures.adopt("why", LinkView(attention))
            self._status.measured("why")

    def _ask_first(self, attention: Attention) -> None:
        """Compute the predictions that the prediction figure needs when it opens.

        The figure would hold its lock during this computation, which could not be interrupted.
        """
        reading, task = predicted_input(attention)
        axis = stack_of_answers(attention).query
        queries = [entry for side, entry in self._explorer.tokens if side == "query"]
        positions = [None if task != "masked" else default_position(reading)]
        if queries and task != "class":
            positions.append(position_after(axis, queries[-1], self._explorer.unit, task))
        for position in dict.fromkeys(positions):
            if position is not None or task != "masked":
                asked_positions = asked_places(reading, position)
                reading.answer(asked_positions, PredictionView.top.default_value)

    def _show_predictions(self, attention: Attention) -> None:
        explorer = self._explorer
        with explorer._lock, explorer.together():
            if not self._is_shown(attention):
                return
            if explorer.predictions is None:
                view = PredictionView(attention)
                view._look_at_effects(self._are_effects_in_sight)
                self._figures.adopt("predictions", view)
                view.observe(self._effects_changed, ["_effects", "_offer"])
                self._show_grid_metrics()
            elif not self._figures.is_linked("predictions"):
                with explorer.predictions._lock, explorer.predictions.together():
                    self._hand_on(explorer.predictions)
                    self._figures.link("predictions")
            self._status.measured("predictions")

    def _show_metrics(self, attention: Attention, metrics: dict[str, Metrics]) -> None:
        explorer = self._explorer
        with explorer._lock, explorer.together():
            if not self._is_shown(attention):
                return
            explorer.grid._note_metrics(_ALONE.format(_read(attention)), self._names.share_notes)
            self.metrics = metrics
            self._show_grid_metrics()

    def _show_map(self, attention: Attention, distances: HeadDistances) -> None:
        explorer = self._explorer
        with explorer._lock, explorer.together():
            if not self._is_shown(attention):
                return
            if self._given_distances is None:
                self._status.note({"head_scatter": _alone(attention)})
            if explorer.head_scatter is None:
                self._figures.adopt("head_scatter", HeadScatter(distances))
            else:
                explorer.head_scatter.show(distances)
            self._status.measured("head_scatter")

    def _note_given(self) -> None:
        """Add a note if the caller's distances were measured without the current edits."""
        if self._given_distances is not None:
            edits = self._explorer.edits
            self._status.note({"head_scatter": f"as given, not measured {edits}" if edits else ""})


def _has_links(attention: Attention) -> bool:
    """Return True if queries and keys are available, which are needed to explain a link."""
    if attention.intact.reading is not None:
        return True
    stacks = attention.head_maps.layers.values()
    return any(layer.products is not None for layers in stacks for layer in layers.values())


def _without_distances(attention: Attention) -> str:
    """Return the reason why there are no distances between heads; "" if there are."""
    if attention.is_long:
        return _NO_MAPS
    first = next(iter(attention.stacks.values()))
    return "" if first.query == first.key else _NO_DISTANCES


def _alone(attention: Attention) -> str:
    """Return the note for distances that were measured on one input."""
    return ", ".join(filter(None, [_ALONE.format(_read(attention)), attention.edits]))


def _read(attention: Attention) -> str:
    """Return the kind of input, "input" or "text"."""
    return "input" if attention.media else "text"


def _distances_in(metrics: object) -> HeadDistances | None:
    """Return the distances between heads in a result of `measure`; None without distances."""
    if isinstance(metrics, HeadDistances):
        return metrics
    try:
        distances = metrics["distances"]  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        return None
    return distances if isinstance(distances, HeadDistances) else None
