"""The linked figures of an explorer, and the measurements that fill them."""

from __future__ import annotations

import time
from collections import OrderedDict
from functools import partial
from typing import Any

import anywidget
import traitlets

from attnwidget.capture.hub_model.advised_error import on_page
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.head_atlas.cards.atlas_result import Atlas
from attnwidget.studies.metrics.head_distances import HeadDistances
from attnwidget.widgets.atlas_view.widget import AtlasView
from attnwidget.widgets.explorer.measures import text_distances, text_metrics
from attnwidget.widgets.head_grid.widget import HeadGrid
from attnwidget.widgets.head_map.widget import HeadMap
from attnwidget.widgets.head_view.widget import HeadView
from attnwidget.widgets.link_view.widget import LinkView
from attnwidget.widgets.metric_strip.widget import MetricStrip
from attnwidget.widgets.prediction_view.shown_question import can_be_asked
from attnwidget.widgets.prediction_view.widget import PredictionView
from attnwidget.widgets.shared.attention_widget import AttentionWidget, Edit
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.computed import when_open
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.widgets.shared.linking import FigureLink, link
from attnwidget.widgets.shared.metric_table import Metrics
from attnwidget.widgets.shared.token_size import TokenSize
from attnwidget.widgets.shared.traits import Subset
from attnwidget.widgets.token_lens.widget import TokenLens

#: The panels in the order of the page, each the name of the widget in it.
PANELS = (
    "grid",
    "view",
    "lens",
    "strip",
    "head_map",
    "predictions",
    "why",
    "card",
    "table",
    "arcs",
)
#: The tabs: one of these panels is open at a time.
DETAILS = PANELS[2:]
#: The names of the tabs on the page, where they differ from the names of the panels.
TAB_NAMES = {
    "lens": "token lens",
    "strip": "metrics",
    "head_map": "map of heads",
    "card": "this head",
    "table": "relations",
}
_OF_TEXT = ("lens", "strip", "head_map", "predictions", "why", "card")
_NO_MAPS = "Distances between heads need whole maps, and a long input has none: shorten the text."
#: Options of the grid that wait for its metrics.
OF_METRIC = ("metric", "sort", "filter")
_ALONE = "of this text alone"
_NOT_ASKED = "The predictions belong to another text: this attention has no model to ask."
#: Seconds before a text is measured. Its pictures, or the next text, come first.
_PAUSE = 0.3
#: Number of texts whose measurements are kept, in case a text is read again.
_KEPT = 16


class Child(anywidget.WidgetTrait):
    """A widget that the page draws inside this one."""

    def __init__(self, help: str) -> None:
        super().__init__()
        self.help = help


class LinkedPanels(TokenSize, AttentionWidget):
    """Linked figures of one model. Figures of measurements appear after the measurement."""

    panels = Subset(
        PANELS,
        default_value=list(PANELS),
        help='The panels that there are: some of "grid", "view", "lens", "strip", "head_map", '
        '"predictions", "why", "card", "table", "arcs".',
    ).tag(sync=True)
    tab = traitlets.Enum(
        DETAILS,
        None,
        allow_none=True,
        help='The detail that is open in the row "more": "lens", "strip", "head_map", '
        '"predictions", "why", "card", "table" or "arcs"; None while the row is closed.',
    ).tag(sync=True)
    progress = traitlets.Dict(
        help="What is still being measured: the share that is done, 0 to 1, by panel."
    ).tag(sync=True)

    unit = traitlets.Enum(
        ["tokens", "words"],
        "words",
        help="Maps between tokens, or between words: the sum over the attended word's tokens, "
        "the mean over the attending one's.",
    ).tag(sync=True)

    grid = Child("The HeadGrid.").tag(sync=True)
    view = Child("The HeadView.").tag(sync=True)
    lens = Child("The TokenLens; None until grid and view are on the page.").tag(sync=True)
    strip = Child("The MetricStrip; None until the text is measured.").tag(sync=True)
    head_map = Child("The HeadMap; None until the text is measured.").tag(sync=True)
    predictions = Child(
        "The PredictionView; None until grid and view are on the page, and of a model that "
        "predicts neither words nor classes."
    ).tag(sync=True)
    why = Child("The LinkView; None until grid and view are on the page.").tag(sync=True)
    card = Child(
        "The AtlasView of the shown head; None without an atlas and until grid and view are on the "
        "page."
    ).tag(sync=True)

    # The input that the figures show: behind the explorer's own while the model reads.
    _shown = traitlets.Dict().tag(sync=True)
    # The attention of that input.
    _of_text: Attention
    # Whether the atlas is the one that comes with the model.
    _has_own_atlas: bool = False
    _notes = traitlets.Dict().tag(sync=True)
    _problems = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        model: AttentionModel,
        attention: Attention,
        metrics: Any,
        atlas: Atlas | None,
        traits: dict[str, Any],
        pending: dict[str, dict[str, Any]],
    ) -> None:
        self._model = model
        self._atlas = atlas
        self._given_distances = _distances_in(metrics)
        self._has_metrics = metrics is not None
        self._pending = {name: dict(options) for name, options in pending.items()}
        self._measured: OrderedDict[Any, tuple[dict[str, Metrics], HeadDistances]] = OrderedDict()
        # What the grid has beside effects of heads; the title of these, and whether it was chosen.
        self._own_metrics: dict[str, Metrics] = {}
        self._effect = ""
        self._effect_shown = False
        # By panel. Predictions that are not linked belong to an input that was shown before.
        self._links: dict[str, FigureLink] = {}
        self._background = Background(
            ("text", "effects", "answers", "treebank", "picture"), self._failed
        )
        traits.setdefault("unit", "words")
        shared = {
            name: traits[name]
            for name in (
                "selected",
                "tokens",
                "hidden",
                "quantity",
                "unit",
                "scale",
                "disabled",
                "method",
                "labels",
            )
            if name in traits
        }
        panels: list[HeadWidget] = []
        try:
            panels.append(HeadGrid(attention, metrics=metrics, **shared))
            panels.append(HeadView(attention, **shared))
            super().__init__(attention, **traits)
        except Exception:
            for child in panels:
                child.close()
            raise
        try:
            with self._together():
                self._adopt("grid", panels[0])
                self._adopt("view", panels[1])
                if self._has_metrics:
                    self._own_metrics = self.grid.metrics
                    self._show_metrics(attention, self.grid.metrics)
                self._measure_text(delay=0)
        except Exception:
            self.close()
            panels[1].close()
            raise

    @property
    def model(self) -> AttentionModel:
        """What reads the text."""
        return self._model

    @property
    def children(self) -> dict[str, HeadWidget]:
        """The figures that there are, by panel."""
        return {name: child for name in PANELS if (child := getattr(self, name)) is not None}

    def wait(self, timeout: float | None = None) -> bool:
        """Return when everything is measured; False where `timeout` seconds were not enough.

        In a model of more than 500 heads, effects of heads are estimates until the tab with the
        predictions is open.

        Raises:
            Exception: what went wrong in measuring; its panel says it too.
        """
        limit = None if timeout is None else time.monotonic() + timeout
        waits = [self._background.wait]
        if self._background.wait(timeout) and self.predictions is not None:
            # Effects found become a metric of the grid.
            waits = [self.predictions.wait, self._background.wait]
        if self.why is not None:
            waits.append(self.why.wait)
        return all(
            wait(None if limit is None else max(0, limit - time.monotonic())) for wait in waits
        )

    @property
    def _sees_effects(self) -> bool:
        """Whether the predictions or a metric of the grid show the effects of heads."""
        waiting = str(self._pending.get("grid", {}).get("metric", ""))
        in_grid = self._shows_effect or self._effect_shown or waiting.startswith("effect on ")
        return self.tab == "predictions" or in_grid

    @when_open("tab")
    def _look_at_effects(self, change: object) -> None:
        if self.predictions is not None:
            self.predictions._in_sight = self._sees_effects

    @property
    def _shows_effect(self) -> bool:
        """Whether the metric of the grid is the effect of heads on a prediction."""
        return bool(self._effect) and self.grid.metric == self._effect

    def _page_sets(self, name: str) -> bool:
        return name not in (*PANELS, "progress") and super()._page_sets(name)

    def _adopt(self, name: str, child: HeadWidget) -> None:
        """Add a new figure: link it and set its waiting options."""
        setattr(self, name, child)
        self._links[name] = link(self, child)
        self._restore(name, child)

    def _restore(self, name: str, child: HeadWidget) -> None:
        """Set the waiting options of a figure that it can take now."""
        waiting = self._pending.get(name, {})
        # A filter needs its metric and a colour may need behaviours, so these two are set last.
        for option in sorted(waiting, key=("color", "filter").__contains__):
            if not child.has_trait(option):
                raise ValueError(
                    f"{type(child).__name__} has no option {option!r}, which waits for it"
                )
            if name != "grid" or option not in OF_METRIC or self.grid.metrics:
                setattr(child, option, waiting.pop(option))

    def _of_attention(self) -> list[AttentionWidget]:
        """The figures that there are of the attention shown."""
        widgets = [child for name, child in self.children.items() if name in self._links]
        return [child for child in widgets if isinstance(child, AttentionWidget)]

    @when_open("attention")
    def _read_another(self, change: object) -> None:
        self._problems = {
            name: said for name, said in self._problems.items() if name not in _OF_TEXT
        }
        self._tell_given()
        for figure in self._of_attention():
            if figure is self.predictions and not can_be_asked(self.attention):
                self._problems = {**self._problems, "predictions": _NOT_ASKED}
            elif figure is self.predictions and self._can_wait(figure):
                # A job of the background links it again; until then the grid has no effects.
                self._links.pop("predictions").unlink()
                figure._forget_question()
                self._effects_changed(change)
            elif figure.attention is not self.attention:
                self._hand_on(figure)
        self._measure_text(delay=_PAUSE)

    def _can_wait(self, predictions: PredictionView) -> bool:
        """Whether predictions are out of sight and of another input, which takes another pass."""
        is_another = predictions.attention.intact is not self.attention.intact
        return is_another and not self._sees_effects

    def _hand_on(self, figure: AttentionWidget) -> None:
        """Show the attention in a figure, with the same heads switched off."""
        if figure is self.predictions:
            figure._in_sight = self._sees_effects
        with figure._together(), figure.hold_trait_notifications():
            figure.disabled = self.disabled
            figure.method = self.method
            figure.attention = self.attention

    def _prepare(self, attention: Attention, edit: Edit) -> None:
        for figure in self._of_attention():
            figure._prepare(attention, edit)

    def _predictions_of_input(self) -> PredictionView | None:
        """The predictions, if they are about the shown input."""
        view: PredictionView | None = self.predictions
        is_current = view is not None and view.attention.intact is self.attention.intact
        return view if is_current else None

    # What is measured

    def _set_progress(self, shares: dict[str, float], done: tuple[str, ...] = ()) -> None:
        with self._lock:
            now = {**self.progress, **shares}
            self.progress = {name: share for name, share in now.items() if name not in done}

    @traitlets.observe("progress")
    def _renew_pictures(self, change: dict[str, Any]) -> None:
        """Renew the pictures of notebooks when all is measured, in the thread of measurements."""
        if change["old"] and not change["new"]:
            self._background.add("picture", self._picture_job(), delay=_PAUSE)

    def _picture_job(self) -> Job:
        self._renew_kept_pictures()
        yield None

    def _measure_text(self, delay: float) -> None:
        """Begin to measure the attention shown; what was measured of its text is taken up again."""
        # The model may have written tokens after the text.
        n_tokens = len(self.attention.tokens)
        shown = (*self._shown.values(), n_tokens, self.attention.edits)
        # An assigned attention belongs to no text, also while `_shown` has the text before.
        is_of_text = self.attention.intact is self._of_text.intact
        key = shown if is_of_text and self._shown.get("text") else None
        names = [name for name in _OF_TEXT if name != "strip" or not self._has_metrics]
        for name in ("lens", "why"):
            if getattr(self, name) is not None:
                names.remove(name)
        if self._atlas is None or self.card is not None:
            names.remove("card")
        if "predictions" in self._links or not can_be_asked(self.attention):
            names.remove("predictions")
        if self._given_distances is not None and self.head_map is not None:
            names.remove("head_map")
        if self.attention.is_long and "head_map" in names:
            names.remove("head_map")
            self._problems = {**self._problems, "head_map": _NO_MAPS}
        if names:
            self._set_progress(dict.fromkeys(names, 0.0))
            job = self._text_job(self.attention, names, key)
            self._background.add("text", job, delay=delay if key else 0)

    def _text_job(self, attention: Attention, names: list[str], key: object) -> Job:
        known = self._measured.get(key) if key is not None else None
        yield partial(self._show_lens, attention)
        yield partial(self._show_why, attention)
        yield self._show_card
        if "predictions" in names:
            yield partial(self._show_predictions, attention)
        metrics = known[0] if known else text_metrics(attention) if "strip" in names else {}
        if "strip" in names:
            yield partial(self._show_metrics, attention, metrics)
        if "head_map" not in names:
            return
        distances = self._given_distances or (known[1] if known else text_distances(attention))
        yield None
        distances.embed()
        if key is not None:
            self._measured[key] = metrics, distances
            while len(self._measured) > _KEPT:
                self._measured.popitem(last=False)
        yield partial(self._show_map, attention, distances)

    def _tell_given(self) -> None:
        """Note that metrics from the caller were not measured with the present heads off."""
        kinds_given = {"strip": self._has_metrics, "head_map": self._given_distances is not None}
        said = f"as given, not measured {self._edits}" if self._edits else ""
        self._notes = self._notes | {
            name: said for name, is_given in kinds_given.items() if is_given
        }

    def _show_lens(self, attention: Attention) -> None:
        with self._lock, self.hold_sync():
            if self.lens is None and attention is self.attention and not self._background.closed:
                # Link the panel first, so that the page shows the locked words at once.
                self._adopt("lens", TokenLens(attention))
            self._set_progress({}, ("lens",))

    def _show_why(self, attention: Attention) -> None:
        with self._lock, self.hold_sync():
            if self.why is None and attention is self.attention and not self._background.closed:
                self._adopt("why", LinkView(attention))
            self._set_progress({}, ("why",))

    def _show_card(self) -> None:
        with self._lock, self.hold_sync():
            if self._atlas is not None and self.card is None and not self._background.closed:
                self._adopt("card", AtlasView(self._atlas, table=False, selected=[]))
            self._set_progress({}, ("card",))

    def _show_predictions(self, attention: Attention) -> None:
        with self._lock, self.hold_sync():
            if attention is not self.attention or self._background.closed:
                return
            if self.predictions is None:
                view = PredictionView(attention)
                view._in_sight = self._sees_effects
                self._adopt("predictions", view)
                view.observe(self._effects_changed, "_effects")
                self._show_grid_metrics()
            elif "predictions" not in self._links:
                with self.predictions._together():
                    self._hand_on(self.predictions)
                    self._links["predictions"] = link(self, self.predictions)
            self._set_progress({}, ("predictions",))

    def _effects_changed(self, change: object) -> None:
        """Add the effects in another thread: this thread holds the lock of the figure.

        The job takes the lock of the explorer first, and then the lock of the figure.
        """
        self._background.add("effects", self._effects_job())

    def _effects_job(self) -> Job:
        yield self._show_effects

    def _show_effects(self) -> None:
        """Make the exact effects a metric of the grid, beside the measured metrics."""
        with self._lock, self.hold_sync():
            if not self._background.closed:
                self._show_grid_metrics()

    def _show_grid_metrics(self) -> None:
        """Show the measured metrics, and the effects if they belong to the shown prediction."""
        metrics = {stack: dict(titles) for stack, titles in self._own_metrics.items()}
        view = self._predictions_of_input()
        grid = self.grid
        metrics_of_grid: dict[str, Any] = {}
        if view is not None and view.is_estimate is False:
            metrics_of_grid = view.effect_metric.get(view.stack, view.effect_metric)
            metrics.setdefault(view.stack, {}).update(metrics_of_grid)
        if not metrics_of_grid and not self._effect:
            grid.metrics = metrics
            return
        shown = self._effect_shown or self._shows_effect
        with grid.hold_sync():
            if self._shows_effect:
                grid.filter = grid.metric = None
            self._effect = next(iter(metrics_of_grid), "")
            grid.metrics = metrics
            if shown and metrics_of_grid and grid.metric is None:
                grid.metric = self._effect
                shown = False
            # If the grid shows effects, it will show the effects of the next prediction too.
            self._effect_shown = shown and grid.metric is None

    def _show_metrics(self, attention: Attention, metrics: dict[str, Metrics]) -> None:
        with self._lock:
            if attention is not self.attention or self._background.closed:
                return
            if not self._has_metrics:
                self._notes = {**self._notes, "strip": _alone(attention)}
                self._own_metrics = metrics
                self._show_grid_metrics()
            self._restore("grid", self.grid)
            if self.strip is None:
                self._adopt("strip", MetricStrip(metrics))
            else:
                self.strip.metrics = metrics
            self._set_progress({}, ("strip",))

    def _show_map(self, attention: Attention, distances: HeadDistances) -> None:
        with self._lock:
            if attention is not self.attention or self._background.closed:
                return
            if self._given_distances is None:
                self._notes = {**self._notes, "head_map": _alone(attention)}
            if self.head_map is None:
                self._adopt("head_map", HeadMap(distances))
            else:
                self.head_map.show(distances)
            self._set_progress({}, ("head_map",))

    def _failed(self, job: str, error: Exception) -> None:
        names = _OF_TEXT if job != "treebank" else tuple(set(DETAILS) - set(_OF_TEXT))
        said = on_page(error)
        with self._lock:
            stopped = {name: said for name in names if name in self.progress}
            self._problems = {**self._problems, **stopped}
            self._set_progress({}, names)

    def close(self) -> None:
        """Stop measuring, and free all figures."""
        # An explorer whose arguments were refused is closed too, and has no jobs.
        if hasattr(self, "_background"):
            self._background.close()
            # The lock waits for a figure that another thread is making; no figure is made after it.
            with self._lock:
                for circle in self._links.values():
                    circle.unlink()
                self._links = {}
                for child in self.children.values():
                    child.close()
        super().close()


def _alone(attention: Attention) -> str:
    """Return the note for metrics that were measured on one input."""
    return ", ".join(filter(None, [_ALONE, attention.edits]))


def _distances_in(metrics: object) -> HeadDistances | None:
    """Return the distances between heads in a result of `measure`; None without distances."""
    if isinstance(metrics, HeadDistances):
        return metrics
    try:
        distances = metrics["distances"]  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        return None
    return distances if isinstance(distances, HeadDistances) else None
