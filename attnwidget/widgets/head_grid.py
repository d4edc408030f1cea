"""HeadGrid: every head of a model at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.maps.thumbnails import Thumbnails, draw_thumbnails
from attnwidget.kernels.arrays import Float32Array
from attnwidget.kernels.pooling import SIDE
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.alignment import SharedAxis
from attnwidget.widgets.pages.attention_maps import UNITS, all_maps, heads_of, refuse_long
from attnwidget.widgets.pages.encoding import AS_TEXT, as_json_value
from attnwidget.widgets.pages.page_part import NEEDS_A_NOTEBOOK, Holding, Part
from attnwidget.widgets.shared.attention_widget import Edit, attention_shapes
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import LayerOptions
from attnwidget.widgets.shared.metric_choice import MetricChoice, MetricOptions, checked_metrics
from attnwidget.widgets.shared.metric_table import Metrics
from attnwidget.widgets.shared.metrics_over_training import SteppedMetrics
from attnwidget.widgets.shared.painted_rows import (
    PaintedToken,
    is_on_picture,
    painted_to_wire,
    painted_token,
    painted_values,
    start_of,
    strongest_of_rows,
    strongest_positions,
)
from attnwidget.widgets.shared.places import (
    has_places,
    media_sizes,
    places_to_wire,
)
from attnwidget.widgets.shared.versus import (
    COMPARISON_PARTS,
    Versus,
    VersusOptions,
    as_the_page_has_it,
)
from attnwidget.widgets.wire.values import axes_in, axes_to_wire, in_unit, masked_map, to_wire

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The number of a head that says how far its maps are from those compared with.
CHANGE = "change"
# Thumbnails that are kept: switching heads off and on again draws nothing anew.
_KEPT = 2
#: Why heads cannot be switched off on a page.
NEEDS_A_KERNEL = "Heads are switched off by a kernel, which this page does not have."
#: Numbers that the page gets of one word in all heads, at most.
_MOST_NUMBERS = 2**20


class ThumbnailOptions(MetricOptions, VersusOptions, total=False):
    """Options of a `HeadGrid` that a page of grid and view has too."""

    times_keys: bool
    thumbnail: Literal["maps", "places"] | None
    cells: Literal["answers", "maps"]
    comparison_part: Literal["difference", "first", "second"]


class HeadGridOptions(LayerOptions, ThumbnailOptions, total=False):
    """Options of a `HeadGrid`."""


class HeadGrid(MetricChoice, Versus):
    """Layers x heads of thumbnails: click to select a head, step through the layers, compare.

    Each thumbnail is a head's map, max-pooled to at most 64 x 64 cells: no strong weight is lost,
    and every head costs the page 4 kB for any input length. Where keys have places in a picture
    (`Tokens.places`), each thumbnail is the row of the locked token in this head instead, laid out
    as the picture (`thumbnail`).

    `metrics` are numbers per head: arrays [layers, heads] by title, or an object with a `heads()`
    method such as the result of `measure`; with several stacks, by stack. Each is shown as a bar
    with every head (`metric`), sorts heads (`sort`) and filters them (`filter`, `passing`);
    `similar()` finds heads whose numbers are alike. With a result of `measure_checkpoints`, a
    slider shows the numbers of each checkpoint (`step`). Further options are keywords, listed
    below. Unknown options raise TypeError, values out of range and metrics of a wrong shape
    traitlets.TraitError, a missing quantity ValueError.

    Example:
        >>> from attnwidget import HeadGrid, load_model
        >>> grid = HeadGrid(load_model().attend("The cat sat on the mat."), selected=[(3, 5)])
        >>> grid.selected
        [Head(layer=3, head=5, stack='self')]
        >>> grid.metrics = {"strongest": grid.attention.weights().max(axis=(-2, -1))}
        >>> grid.metric, grid.sort, grid.filter = "strongest", "all", (0.9, 1.0)
        >>> len(grid.passing) < 72
        True
        >>> grid.disabled, grid.versus = [(0, 3)], "intact"
        >>> grid.attention.model_name
        'small BERT (in the package), without L0 H3 (uniform)'

        With another attention in `versus` its thumbnails are the signed differences, the first
        minus the other one, and "change" is a metric: how far the maps of a head are from the
        other's, as the Jensen-Shannon divergence in nats.

        >>> tuned = load_model("attnwidget/genre").attend("The cat sat on the mat.")
        >>> grid = HeadGrid(load_model().attend("The cat sat on the mat."), versus=tuned)
        >>> grid.metric, grid.sort
        ('change', 'none')
    """

    kind = "head_grid"
    page_label = "all heads"
    page_title = "Attention heads"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "metric": '"change" with another attention in `versus` and no `metrics`, otherwise None'
    }

    times_keys = traitlets.Bool(
        False,
        help="Draw each weight times the number of keys that its query sees, on one color scale "
        "for all heads: 1 is even attention, so heads that attend evenly are pale. Differences and "
        "other quantities stay as they are.",
    ).tag(sync=True, option=True)

    comparison_part = traitlets.Enum(
        COMPARISON_PARTS,
        "difference",
        help='The shown maps of a comparison: the difference (first minus second), the "first", '
        'or the "second".',
    ).tag(sync=True, option=True)

    thumbnail: traitlets.Enum[Any] = traitlets.Enum(
        ["maps", "places"],
        None,
        allow_none=True,
        help='What a thumbnail is: the whole map ("maps"), or the row of the locked token, laid '
        'out as the picture or along the sound of the keys ("places"). Without a locked token, the '
        "row is that of [CLS] or of the last word. None = places for pictures.",
    ).tag(sync=True, option=True)

    cells = traitlets.Enum(
        ["answers", "maps"],
        "answers",
        help='What the cells show while a word is locked: "answers" = where a locked query looks '
        "in every head, with a locked key too how much of its attention goes to this key, and with "
        'a locked key only who looks at it; "maps" = the whole maps, as without a lock.',
    ).tag(sync=True, option=True)

    # The action of heads with a tested name in one word, [head, family]; an explorer sets it.
    _families: traitlets.List[list[Any]] = traitlets.List().tag(sync=True)
    # What was off when the metrics were given.
    _metrics_of = traitlets.Unicode().tag(sync=True)
    # What the metrics were measured on, for the caption; an explorer sets it.
    _metrics_note = traitlets.Unicode().tag(sync=True)

    # What `_prepare` has compared: both attentions with a stack, and the changes of their heads.
    _prepared: tuple[object, NDArray[np.float32]] = None, np.zeros((0, 0), np.float32)

    # By stack, of the two that they are between: hiding tokens changes nothing in them.
    _changed: tuple[tuple[Attention, Attention], dict[str, NDArray[np.float32]]] | None = None

    def __init__(
        self, attention: Attention, *, metrics: object = None, **traits: Unpack[HeadGridOptions]
    ) -> None:
        if isinstance(attention, Attention):
            # Set this trait before the options that refer to it: traits are checked in no
            # particular order.
            metrics = checked_metrics(metrics, attention_shapes(attention))
        if isinstance(traits.get("versus"), Attention) and not metrics:
            traits.setdefault("metric", CHANGE)
        self._drawn: LatestValues[object, Thumbnails] = LatestValues(_KEPT)
        super().__init__(attention, metrics=metrics, **traits)

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        if self.stack == next(iter(self.attention.stacks)):
            options.pop("stack", None)
        return {"metrics": YOURS if self.metrics else None, **options}

    @property
    def _measured(self) -> dict[str, Metrics]:
        measured = super()._measured
        if not isinstance(self.versus, Attention):
            return measured
        stacks = self.attention.stacks
        return {
            name: {**measured.get(name, {}), CHANGE: self._changes(name).astype(float)}
            for name in stacks
        }

    @when_open("metrics")
    def _name_what_metrics_are_of(self, change: object) -> None:
        self._metrics_of = self.edits

    @computed("metrics", "step", "attention", "versus", sync=False)
    def _shown_metrics(self) -> dict[str, Metrics]:
        return self._measured

    def _attention_of(self, comparison_part: str) -> Attention:
        """The attention of the thumbnails: the second of two, if it was chosen."""
        other = self._other() if comparison_part == "second" else None
        return self.attention if other is None else other

    @computed(
        "attention",
        "versus",
        "comparison_part",
        "stack",
        "unit",
        page_chooses=("comparison_part", "stack", "unit"),
    )
    def _axes(self) -> dict[str, Any]:
        return axes_to_wire(self._attention_of(self.comparison_part).stacks[self.stack], self.unit)

    @traitlets.validate("thumbnail")
    def _check_thumbnail(self, proposal: dict[str, Any]) -> str | None:
        wish: str | None = proposal["value"]
        if wish == "places" and not any(map(self._can_paint, self.attention.stacks)):
            raise traitlets.TraitError(
                "'thumbnail' cannot be 'places': no keys have places in a picture or a sound. Read "
                "a picture or a sound, or give places with Attention.from_weights(weights, tokens, "
                "places=…, pictures=…)"
            )
        return wish

    @when_open("attention")
    def _fit_thumbnail(self, change: object) -> None:
        """Draw maps of an input without places."""
        if self.thumbnail == "places" and not any(map(self._can_paint, self.attention.stacks)):
            self.thumbnail = None

    def _can_paint(self, stack: str) -> bool:
        return has_places(self.attention.stacks[stack].key)

    @computed("attention", "versus", "stack", "unit", "tokens", "thumbnail", sync=False)
    def _painted(self) -> PaintedToken | None:
        """The token whose row the thumbnails show; None for thumbnails of maps."""
        is_picture = is_on_picture(self.attention.stacks[self.stack].key)
        wish = self.thumbnail or ("places" if is_picture else "maps")
        return None if wish == "maps" else self._painted_token(self.stack, self.unit, self.tokens)

    def _painted_token(
        self, stack: str, unit: str, locked: Sequence[tuple[str, int]]
    ) -> PaintedToken | None:
        """Return the token whose row thumbnails can show; None if they can only show maps."""
        axes = self.attention.stacks[stack]
        if isinstance(self.versus, Attention):
            other = self.versus.stacks[stack]
            if other.query != axes.query or other.key != axes.key:
                # The two inputs have different tokens.
                return None
        return painted_token(self.attention, stack, unit, locked)

    @computed("_painted", sync=False)
    def _paints(self) -> bool:
        return self._painted is not None

    @computed("attention", "stack", page_chooses=("stack",))
    def _placed_on(self) -> str:
        """What the shown stack can be painted on: "pictures" or "sounds"; "" for nothing."""
        return self._medium(self.stack)

    def _medium(self, stack: str) -> str:
        if not self._can_paint(stack):
            return ""
        return "pictures" if is_on_picture(self.attention.stacks[stack].key) else "sounds"

    @computed("attention", "stack", "unit", "_paints", page_chooses=("stack", "unit", "tokens"))
    def _places(self) -> dict[str, Any] | None:
        """Where the tokens come from; None for thumbnails of maps."""
        return self._places_of(self.stack, self.unit) if self._paints else None

    def _places_of(self, stack: str, unit: str) -> dict[str, Any]:
        n_pictures = len(self.attention.pictures)
        query, key = axes_in(self.attention.stacks[stack], unit)
        return {
            "stack": stack,
            "unit": unit,
            "start": start_of(self.attention, stack, unit),
            "query": places_to_wire(query.places, n_pictures),
            "key": places_to_wire(key.places, n_pictures),
        }

    @computed("attention", "_paints")
    def _media(self) -> dict[str, Any] | None:
        """The sizes of pictures and sounds; None for thumbnails of maps."""
        return media_sizes(self.attention.media) if self._paints else None

    # `disabled` and `method` change the attention.
    @computed(
        "attention",
        "versus",
        "comparison_part",
        "stack",
        "unit",
        "_painted",
        "hidden",
        "quantity",
        "times_keys",
        page_chooses=("comparison_part", "stack", "unit", "tokens", "thumbnail"),
    )
    def _thumbnails(self) -> dict[str, Any]:
        return self._thumbnails_of(self.stack, self.unit, self.comparison_part, self._painted)

    def _thumbnails_of(
        self, stack: str, unit: str, comparison_part: str, painted: PaintedToken | None
    ) -> dict[str, Any]:
        """Return the thumbnails of a stack, of maps or of the row of a painted token."""
        minus = self._other() if comparison_part == "difference" else None
        shown = self._attention_of(comparison_part)
        times_keys = self.times_keys and minus is None and self.quantity == "weights"
        # A disabled head has neither weights nor a change, so its thumbnail is empty.
        off = self._off(stack) if shown is self.attention else ([], [])
        # Changes come first: the thumbnails then find the compared maps in memory.
        compares = self._reference() is not self.attention
        changes = to_wire(self._changes(stack)) if compares else None
        row: dict[str, Any] | None = None
        if painted is None:
            drawn = self._draw(shown, minus, times_keys, stack, unit)
            thumbnails = replace(drawn, values=drawn.values.copy(), maxima=drawn.maxima.copy())
            thumbnails.values[off] = 0 if minus is None else 128
            thumbnails.maxima[off] = 0
        else:
            values = self._row_values(painted, shown, minus, times_keys, stack, unit)
            values[off] = 0
            row = painted_to_wire(values, painted, signed=minus is not None)
            axes = axes_in(shown.stacks[stack], unit)
            maxima, strongest = strongest_of_rows(values, painted, axes[painted[0] == "query"])
            thumbnails = Thumbnails(np.zeros((*maxima.shape, 0, 0), np.uint8), maxima, strongest)
        return {
            "stack": stack,
            "quantity": self.quantity,
            "unit": unit,
            "hidden": list(self.hidden),
            "values": to_wire(thumbnails.values),
            "maxima": to_wire(thumbnails.maxima),
            "strongest": to_wire(thumbnails.strongest),
            "times_keys": times_keys,
            "disabled": list(self._edit[0]),
            "method": self._edit[1],
            "versus": as_the_page_has_it(self.versus),
            "comparison_part": comparison_part,
            "signed": minus is not None,
            "common": None if minus is None else self._common(minus, stack, unit),
            "changes": changes,
            "row": row,
        }

    def _row_values(
        self,
        token: PaintedToken,
        shown: Attention,
        minus: Attention | None,
        times_keys: bool,
        stack: str,
        unit: str,
    ) -> Float32Array:
        """Return what the thumbnails paint, float32 [L, H, n], NaN where masked."""
        values = painted_values(shown, stack, unit, self.quantity, token)
        if minus is not None:
            values = values - painted_values(minus, stack, unit, self.quantity, token)
        if times_keys:
            values = values * np.count_nonzero(~np.isnan(values), axis=-1)[..., None]
        return values.astype(np.float32)

    # `disabled` and `method` change the attention.
    @computed(
        "attention",
        "versus",
        "stack",
        "unit",
        "quantity",
        "tokens",
        "_paints",
        page_chooses=("stack", "unit", "tokens"),
    )
    def _rows(self) -> dict[str, Any] | None:
        """The values of the last locked query to all keys in every head, float32 [L, H, K].

        Without a locked query, those of all queries to the last locked key, [L, H, Q]. NaN where
        masked, and 0 in heads that are off. None without a lock, in comparisons, in long inputs,
        and where thumbnails paint the row of a single locked token.
        """
        shown = in_unit(self.attention, self.unit)
        axes = shown.stacks[self.stack]
        queries = [i for side, i in self.tokens if side == "query" and i < len(axes.query)]
        keys = [i for side, i in self.tokens if side == "key" and i < len(axes.key)]
        if not (queries or keys) or (self._paints and not (queries and keys)):
            return None
        side, of = ("query", queries[-1]) if queries else ("key", keys[-1])
        if side not in self._sides_with_rows(axes):
            return None
        values = shown.token_values(side, of, stack=self.stack, quantity=self.quantity)
        values[self._off(self.stack)] = 0
        return {
            "stack": self.stack,
            "unit": self.unit,
            "quantity": self.quantity,
            "side": side,
            "of": of,
            "values": to_wire(values),
        }

    def _sides_with_rows(self, axes: Stack) -> list[str]:
        """Return the sides of locked tokens for which the cells can answer."""
        if self.attention.is_long or isinstance(self.versus, Attention):
            return []
        n_heads = axes.n_layers * axes.n_heads
        others = {"query": axes.key, "key": axes.query}
        return [side for side, axis in others.items() if n_heads * len(axis) <= _MOST_NUMBERS]

    def _draw(
        self, shown: Attention, minus: Attention | None, times_keys: bool, stack: str, unit: str
    ) -> Thumbnails:
        """Draw the thumbnails; the last few are kept."""
        key = (
            shown,
            minus,
            stack,
            unit,
            tuple(self.hidden),
            self.quantity,
            times_keys,
        )
        drawn = self._drawn.get(key)
        if drawn is None:
            drawn = draw_thumbnails(
                in_unit(shown, unit),
                stack,
                hidden=self.hidden,
                quantity=self.quantity,
                minus=None if minus is None else in_unit(minus, unit),
                times_keys=times_keys,
            )
            self._drawn.add(key, drawn)
        return drawn

    def _prepare(self, attention: Attention, edit: Edit) -> None:
        if self.comparison_part == "second" or self._paints:
            return
        with self._preparing:
            reference = self.versus if isinstance(self.versus, Attention) else attention.intact
            compares = reference is not attention
            minus = (
                reference
                if compares and self.versus and self.comparison_part == "difference"
                else None
            )
            times_keys = self.times_keys and minus is None and self.quantity == "weights"
            if compares:
                self._prepared = (
                    (attention, reference, self.stack),
                    attention.changes(reference, self.stack),
                )
            self._draw(attention, minus, times_keys, self.stack, self.unit)

    def color_names(self, families: list[list[Any]]) -> None:
        """Color the tested names of heads by what the heads do: pairs [head, family]."""
        self._families = families

    def _note_metrics(self, note: str) -> None:
        """Add a note about the metrics to the caption, such as "of this text alone"."""
        self._metrics_note = note

    def page_part(self) -> Part:
        """Return the thumbnails of every stack in both units, the maps, and all metrics.

        The page takes the answers for a locked word out of the maps. Heads that were off stay off.
        """
        part = super().page_part()
        refuse_long(self.attention)
        # The page refuses to switch heads off by itself.
        state = {name: value for name, value in part.state.items() if name != "_refused"}
        state["_source"] = {**self._source, "fixed": NEEDS_A_KERNEL}
        holdings = {"thumbnails": self._page_thumbnails()}
        if not isinstance(self.versus, Attention):
            holdings["maps"] = all_maps(self.attention, self.quantity)
        # A row of a difference is drawn of the token that was locked, and of no other token.
        keeps_row = self._paints and self._other() is not None
        return replace(
            part,
            state=state,
            own={"metrics": self._metrics_of_all()},
            holdings=holdings,
            fixed_here={"tokens": NEEDS_A_NOTEBOOK} if keeps_row else {},
        )

    def _page_thumbnails(self) -> Holding:
        """Return the thumbnails of every stack in both units, of both sides of a comparison."""
        stacks = self.attention.stacks
        comparison_part = COMPARISON_PARTS if self._other() is not None else (self.comparison_part,)
        axes = [axes_in(stack, unit) for stack in stacks.values() for unit in UNITS]
        n_heads = [s.n_layers * s.n_heads for s in stacks.values() for _ in UNITS]
        cells = sum(
            count * min(len(query), SIDE) * min(len(key), SIDE)
            for count, (query, key) in zip(n_heads, axes, strict=True)
        )
        return Holding(
            "the thumbnails of all heads",
            "shorten the text",
            AS_TEXT * len(comparison_part) * cells,
            lambda room: (
                [
                    as_json_value(self._page_thumbnail(stack, unit, which, painted))
                    for stack in stacks
                    for unit in UNITS
                    for painted in self._page_painted(stack, unit)
                    for which in comparison_part
                ],
                [],
            ),
        )

    def _page_painted(self, stack: str, unit: str) -> list[PaintedToken | None]:
        """Return the token whose row a page paints without a lock; None for maps."""
        # The page has pictures and sounds only if they were drawn when it was saved.
        if not self._paints:
            return [None]
        locked = self.tokens if self._other() is not None else []
        painted = self._painted_token(stack, unit, locked)
        return [None] if painted is None else [None, painted]

    def _page_thumbnail(
        self, stack: str, unit: str, comparison_part: str, painted: PaintedToken | None
    ) -> dict[str, Any]:
        """Return the thumbnails of a stack with what belongs to them, as a page holds them."""
        axes = self.attention.stacks[stack]
        is_compared = self._other() is not None
        return {
            "axes": axes_to_wire(self._attention_of(comparison_part).stacks[stack], unit),
            "thumbnails": self._thumbnails_of(stack, unit, comparison_part, painted),
            "placed_on": self._medium(stack) if self._paints else "",
            "places": None if painted is None else self._places_of(stack, unit),
            "rows": self._sides_with_rows(axes),
            "painted": None
            if painted is None or is_compared
            else {
                side: as_json_value(self._page_rows(stack, unit, side))
                for side in ("query", "key")
                if side == "query" or has_places(axes.query)
            },
        }

    def _page_rows(self, stack: str, unit: str, side: str) -> dict[str, Any]:
        """Return the ends of scale and the strongest links of the rows, or columns, of all tokens.

        The page takes the rows themselves out of the maps.
        """
        axes = self.attention.stacks[stack]
        query, key = axes_in(axes, unit)
        times_keys = self.times_keys and self.quantity == "weights"
        ends, maxima, others = [], [], []
        for head in heads_of(axes, None):
            values = masked_map(self.attention, self.quantity, head, unit)
            if head in self._edit[0]:
                values = np.zeros_like(values)
            rows = values if side == "query" else values.T
            seen = np.count_nonzero(~np.isnan(rows), axis=-1) if times_keys else np.ones(len(rows))
            most, at = strongest_positions(rows, key if side == "query" else query)
            ends.append(np.nan_to_num(values).max(initial=0) * seen)
            maxima.append(most * seen)
            others.append(at)
        shape = (-1, axes.n_layers, axes.n_heads)
        return {
            "largest": to_wire(np.stack(ends, -1).astype(np.float32).reshape(shape)),
            "maxima": to_wire(np.stack(maxima, -1).astype(np.float32).reshape(shape)),
            "others": to_wire(np.stack(others, -1).astype(np.int32).reshape(shape)),
        }

    def _metrics_of_all(self) -> list[Any]:
        """Return the metrics of every stack, at every checkpoint of a training, for a page."""
        shown = self.metrics
        if not isinstance(shown, SteppedMetrics):
            measured = self._measured
            return [as_json_value(self._metrics_wire(measured, stack, None)) for stack in measured]
        return [
            as_json_value(self._metrics_wire(metrics, stack, step))
            for step, metrics in shown.by_step.items()
            for stack in metrics
        ]

    def _common(self, other: Attention, stack: str, unit: str) -> list[int] | None:
        """Queries and keys that both have and that are not hidden; None where all are common."""
        counts = []
        is_same = True
        for side in ("query", "key"):
            own, its = (
                getattr(attention.stacks[stack], side) for attention in (self.attention, other)
            )
            if unit == "words":
                own, its = own.to_words(), its.to_words()
            axis = SharedAxis(own, its)
            is_same = is_same and axis.is_same
            counts.append(sum(own.special[i] not in self.hidden for i, _ in axis.pairs))
        return None if is_same else counts

    def _reference(self) -> Attention:
        """What changes are from: the attention compared with, else the intact one."""
        return self.versus if isinstance(self.versus, Attention) else self.attention.intact

    def _off(self, stack: str) -> tuple[list[int], list[int]]:
        """Layers and heads, as indices, of those of a stack that are off."""
        off = [head for head in self._edit[0] if head.stack == stack]
        return [head.layer for head in off], [head.head for head in off]

    def _changes(self, stack: str) -> NDArray[np.float32]:
        """[L, H], the distance of heads from the compared heads; 0 for disabled heads."""
        pair = self.attention, self._reference()
        if self._changed is None or self._changed[0] != pair:
            self._changed = pair, {}
        changes = self._changed[1]
        if stack not in changes:
            known, prepared = self._prepared
            is_known = known == (*pair, stack)
            changes[stack] = prepared.copy() if is_known else self.attention.changes(pair[1], stack)
            changes[stack][self._off(stack)] = 0
        return changes[stack]
