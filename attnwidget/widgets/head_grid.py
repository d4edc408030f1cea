"""HeadGrid: thumbnails of all heads of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
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
from attnwidget.text.tokens import Tokens
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
from attnwidget.widgets.shared.traits import Choice
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
# Number of cached thumbnail sets, so that switching heads off and on again draws nothing twice.
_KEPT = 2
#: Message of a saved page, where heads cannot be switched off.
NEEDS_A_KERNEL = "Heads are switched off by a kernel, which this page does not have."
#: Maximum number of values that the page receives for one locked token in all heads.
_MOST_NUMBERS = 2**20


@dataclass(frozen=True)
class LockedValues:
    """Values of a locked token in every head, and of a second locked token.

    Attributes:
        side: "query" or "key", the side of the token.
        index: Position of the token.
        key: Position of a locked key besides a locked query; None if one token is locked.
        other: Tokens that the values belong to.
        values: Values, float32 [layers, heads, tokens]; NaN where masked, 0 in disabled heads.
    """

    side: str
    index: int
    key: int | None
    other: Tokens
    values: Float32Array


class ThumbnailOptions(MetricOptions, VersusOptions, total=False):
    """Options of a `HeadGrid` that a page of grid and view has too."""

    times_keys: bool
    thumbnail: Literal["maps", "places"] | None
    cells: Literal["answers", "maps"]
    comparison_part: Literal["difference", "first", "second"]


class HeadGridOptions(LayerOptions, ThumbnailOptions, total=False):
    """Options of a `HeadGrid`."""


class HeadGrid(MetricChoice, Versus):
    """Grid of thumbnails, layers x heads: click to select a head, step through layers, compare.

    `attention` is a result of `AttentionModel.attend`. Each thumbnail is a head's map, max-pooled
    to at most 64 x 64 cells, so that no strong weight is lost and every head costs the page 4 kB
    for any input length. If keys have positions in a picture (`Tokens.places`), a thumbnail shows
    the head's row for the locked token instead, laid out like the picture (`thumbnail`).

    `metrics` are numbers per head: arrays [layers, heads] by title, or an object with a `heads()`
    method such as the result of `measure`; with several stacks, by stack. Each is shown as a bar
    with every head (`metric`), sorts heads (`sort`) and filters them (`filter`, `passing`);
    `similar()` finds heads whose numbers are alike. With a result of `measure_checkpoints`, a
    slider shows the numbers of each checkpoint (`step`).

    Options are keywords, and traits of the figure. An unknown option raises TypeError, a value out
    of range or a metric of a wrong shape raises traitlets.TraitError, and a missing quantity raises
    ValueError.

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

        With another attention in `versus`, the thumbnails are signed differences, the first minus
        the second attention. The metric "change" is the Jensen-Shannon divergence between a head's
        maps in both attentions, in nats.

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
        help="Multiply each weight by the number of keys that its query sees, and use one color "
        "scale for all heads: 1 is even attention, so heads that attend evenly are pale. "
        "Differences and other quantities do not change.",
    ).tag(sync=True, option=True)

    _other_options: ClassVar[Mapping[str, str]] = {
        **MetricChoice._other_options,
        "layers": "HeadView(attention, 'L1') for the heads of one layer, or HeadView(attention, "
        "selected=['L1 H3', 'L2 H4']) for some heads, as a grid shows all layers",
        "mode": "HeadView(attention, 'L1 H3', mode='matrix'), as a grid shows small maps",
        "sentences": "HeadView(attention, 'L1 H3', sentences='ab')",
    }

    comparison_part = Choice(
        COMPARISON_PARTS,
        "difference",
        help='Maps that a comparison shows: the "difference" (first minus second), the "first", or '
        'the "second".',
    ).tag(sync=True, option=True)

    thumbnail: Choice = Choice(
        ["maps", "places"],
        None,
        allow_none=True,
        help='Content of the thumbnails: the whole map ("maps"), or the row of the locked token, '
        'laid out like the picture or along the sound ("places"). Without a locked token, the row '
        'of [CLS] or of the last word is shown. None = "places" for pictures, "maps" otherwise.',
    ).tag(sync=True, option=True)

    cells = Choice(
        ["answers", "maps"],
        "answers",
        help='Content of the cells while a token is locked. "answers": the keys that the locked '
        "query attends to in every head; if a key is locked too, the weight from the query to this "
        'key; if only a key is locked, the queries that attend to it. "maps": the whole maps, as '
        "without a locked token.",
    ).tag(sync=True, option=True)

    # Pairs [head, family] for heads with a tested name; the family describes what a head does in
    # one word. An explorer sets this trait.
    _families: traitlets.List[list[Any]] = traitlets.List().tag(sync=True)
    # Edits that were active when the metrics were assigned.
    _metrics_of = traitlets.Unicode().tag(sync=True)
    # Caption note about the data that the metrics were measured on; an explorer sets it.
    _metrics_note = traitlets.Unicode().tag(sync=True)
    # The same note for single metrics that were measured on other data, by title.
    _metric_notes: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)

    # Comparison that `_prepare` has computed: both attentions with a stack, and the head changes.
    _prepared: tuple[object, NDArray[np.float32]] = None, np.zeros((0, 0), np.float32)

    # The compared attentions and the head changes by stack. Hidden tokens do not affect changes.
    _changed: tuple[tuple[Attention, Attention], dict[str, NDArray[np.float32]]] | None = None

    def __init__(
        self, attention: Attention, *, metrics: object = None, **traits: Unpack[HeadGridOptions]
    ) -> None:
        if isinstance(attention, Attention):
            # Check the metrics before the options that refer to them, because traitlets validates
            # traits in no particular order.
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
        metrics = super()._measured
        if not isinstance(self.versus, Attention):
            return metrics
        stacks = self.attention.stacks
        return {
            name: {**metrics.get(name, {}), CHANGE: self._changes(name).astype(float)}
            for name in stacks
        }

    @when_open("metrics")
    def _name_what_metrics_are_of(self, change: object) -> None:
        self._metrics_of = self.edits

    @computed("metrics", "step", "attention", "versus", sync=False)
    def _shown_metrics(self) -> dict[str, Metrics]:
        return self._measured

    def _attention_of(self, comparison_part: str) -> Attention:
        """Return the attention that the thumbnails show."""
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
        content: str | None = proposal["value"]
        if content == "places" and not any(map(self._can_paint, self.attention.stacks)):
            raise traitlets.TraitError(
                "'thumbnail' cannot be 'places': no keys have places in a picture or a sound. Read "
                "a picture or a sound, or give places with Attention.from_weights(weights, tokens, "
                "places=…, images=…)"
            )
        return content

    @when_open("attention")
    def _fit_thumbnail(self, change: object) -> None:
        """Draw maps if the new input has no positions in a picture or a sound."""
        if self.thumbnail == "places" and not any(map(self._can_paint, self.attention.stacks)):
            self.thumbnail = None

    def _can_paint(self, stack: str) -> bool:
        return has_places(self.attention.stacks[stack].key)

    @computed("attention", "versus", "stack", "unit", "tokens", "thumbnail", sync=False)
    def _painted(self) -> PaintedToken | None:
        """Token whose row the thumbnails show; None if the thumbnails show maps."""
        is_picture = is_on_picture(self.attention.stacks[self.stack].key)
        content = self.thumbnail or ("places" if is_picture else "maps")
        return (
            None if content == "maps" else self._painted_token(self.stack, self.unit, self.tokens)
        )

    def _painted_token(
        self, stack: str, unit: str, locked: Sequence[tuple[str, int]]
    ) -> PaintedToken | None:
        """Return the token whose row thumbnails can show; None if they can only show maps."""
        axes = self.attention.stacks[stack]
        if isinstance(self.versus, Attention):
            other = self.versus.stacks[stack]
            if other.query != axes.query or other.key != axes.key:
                # The two inputs have different tokens, so a row has no counterpart.
                return None
        return painted_token(self.attention, stack, unit, locked)

    @computed("_painted", sync=False)
    def _paints(self) -> bool:
        return self._painted is not None

    @computed("attention", "stack", page_chooses=("stack",))
    def _placed_on(self) -> str:
        """Medium on which rows of the current stack can be painted: "pictures", "sounds" or ""."""
        return self._medium(self.stack)

    def _medium(self, stack: str) -> str:
        if not self._can_paint(stack):
            return ""
        return "pictures" if is_on_picture(self.attention.stacks[stack].key) else "sounds"

    @computed("attention", "stack", "unit", "_paints", page_chooses=("stack", "unit", "tokens"))
    def _places(self) -> dict[str, Any] | None:
        """Positions of the tokens in pictures or sounds; None if the thumbnails show maps."""
        return self._places_of(self.stack, self.unit) if self._paints else None

    def _places_of(self, stack: str, unit: str) -> dict[str, Any]:
        n_pictures = len(self.attention.images)
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
        """Sizes of the pictures and sounds; None if the thumbnails show maps."""
        return media_sizes(self.attention.media) if self._paints else None

    # `disabled` and `method` are not listed because they change `attention`.
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
        """Return the thumbnails of a stack, which show maps or the row of a painted token."""
        minus = self._other() if comparison_part == "difference" else None
        attention = self._attention_of(comparison_part)
        times_keys = self.times_keys and minus is None and self.quantity == "weights"
        # A disabled head has neither weights nor a change, so its thumbnail is empty.
        off = self._off(stack) if attention is self.attention else ([], [])
        # Compute the changes first, so that the compared maps are in memory for the thumbnails.
        compares = self._reference() is not self.attention
        changes = to_wire(self._changes(stack)) if compares else None
        row: dict[str, Any] | None = None
        if painted is None:
            cached = self._draw(attention, minus, times_keys, stack, unit)
            thumbnails = replace(cached, values=cached.values.copy(), maxima=cached.maxima.copy())
            thumbnails.values[off] = 0 if minus is None else 128
            thumbnails.maxima[off] = 0
        else:
            values = self._row_values(painted, attention, minus, times_keys, stack, unit)
            values[off] = 0
            row = painted_to_wire(values, painted, signed=minus is not None)
            axes = axes_in(attention.stacks[stack], unit)
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
        """Return the values that the thumbnails paint, float32 [L, H, n], NaN where masked."""
        values = painted_values(shown, stack, unit, self.quantity, token)
        if minus is not None:
            values = values - painted_values(minus, stack, unit, self.quantity, token)
        if times_keys:
            values = values * np.count_nonzero(~np.isnan(values), axis=-1)[..., None]
        return values.astype(np.float32)

    # `disabled` and `method` are not listed because they change `attention`.
    @computed("_locked_values", page_chooses=("stack", "unit", "tokens"))
    def _rows(self) -> dict[str, Any] | None:
        """Values from the last locked query to all keys in every head, float32 [L, H, K].

        If only a key is locked, the values from all queries to the last locked key, [L, H, Q].
        Masked cells are NaN, and disabled heads are 0. None if no token is locked, in comparisons,
        for long inputs, and if the thumbnails paint the row of a single locked token.
        """
        locked = self._locked_values
        if locked is None:
            return None
        return {
            "stack": self.stack,
            "unit": self.unit,
            "quantity": self.quantity,
            "side": locked.side,
            "of": locked.index,
            "values": to_wire(locked.values),
        }

    # `disabled` and `method` are not listed because they change `attention`.
    @computed("attention", "versus", "stack", "unit", "quantity", "tokens", "_paints", sync=False)
    def _locked_values(self) -> LockedValues | None:
        """Values of the last locked query, or of the last locked key, in every head."""
        attention = in_unit(self.attention, self.unit)
        axes = attention.stacks[self.stack]
        queries = [i for side, i in self.tokens if side == "query" and i < len(axes.query)]
        keys = [i for side, i in self.tokens if side == "key" and i < len(axes.key)]
        if not (queries or keys) or (self._paints and not (queries and keys)):
            return None
        side, index = ("query", queries[-1]) if queries else ("key", keys[-1])
        if side not in self._sides_with_rows(axes):
            return None
        values = attention.token_values(side, index, stack=self.stack, quantity=self.quantity)
        values[self._off(self.stack)] = 0
        other = axes.key if side == "query" else axes.query
        return LockedValues(side, index, keys[-1] if queries and keys else None, other, values)

    def _strongest_in(self, layer: int, stack: str) -> int | None:
        """Return the strongest head of a layer for the locked token, as the cells show it."""
        locked = self._locked_values
        if locked is None or stack != self.stack:
            return None
        if self.cells != "answers" or self.quantity != "weights":
            return None
        values = np.nan_to_num(locked.values[layer])
        if locked.key is not None:
            strongest = values[:, locked.key]
        else:
            is_shown = [kind not in self.hidden for kind in locked.other.special]
            strongest = values[:, is_shown].max(axis=-1, initial=0)
        head = int(strongest.argmax())
        return head if strongest[head] > 0 else None

    def _sides_with_rows(self, axes: Stack) -> list[str]:
        """Return the sides on which a locked token has values in the cells."""
        if self.attention.is_long or isinstance(self.versus, Attention):
            return []
        n_heads = axes.n_layers * axes.n_heads
        others = {"query": axes.key, "key": axes.query}
        return [side for side, axis in others.items() if n_heads * len(axis) <= _MOST_NUMBERS]

    def _draw(
        self, shown: Attention, minus: Attention | None, times_keys: bool, stack: str, unit: str
    ) -> Thumbnails:
        """Return the thumbnails, which are cached for the last few calls."""
        key = (
            shown,
            minus,
            stack,
            unit,
            tuple(self.hidden),
            self.quantity,
            times_keys,
        )
        thumbnails = self._drawn.get(key)
        if thumbnails is None:
            thumbnails = draw_thumbnails(
                in_unit(shown, unit),
                stack,
                hidden=self.hidden,
                quantity=self.quantity,
                minus=None if minus is None else in_unit(minus, unit),
                times_keys=times_keys,
            )
            self._drawn.add(key, thumbnails)
        return thumbnails

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
        """Color the tested names of heads by what the heads do.

        Args:
            families: Pairs [head, family].
        """
        self._families = families

    def _note_metrics(self, note: str, others: Mapping[str, str] = MappingProxyType({})) -> None:
        """Set the caption notes about the data of the metrics.

        Args:
            note: Note about most metrics, such as "of this text alone".
            others: Notes about metrics that were measured on other data, by title.
        """
        self._metrics_note = note
        self._metric_notes = dict(others)

    def page_part(self) -> Part:
        """Return the saved page's data: thumbnails of every stack in both units, maps, metrics.

        The page reads the values for a locked token from the maps. Disabled heads stay disabled.
        """
        part = super().page_part()
        refuse_long(self.attention)
        # Drop the kernel's refusal, because the page itself refuses to switch heads off.
        state = {name: value for name, value in part.state.items() if name != "_refused"}
        state["_source"] = {**self._source, "fixed": NEEDS_A_KERNEL}
        holdings = {"thumbnails": self._page_thumbnails()}
        if not isinstance(self.versus, Attention):
            holdings["maps"] = all_maps(self.attention, self.quantity)
        # The page has the row of a difference only for the token that was locked when saving.
        keeps_row = self._paints and self._other() is not None
        return replace(
            part,
            state=state,
            own={"metrics": self._metrics_of_all()},
            holdings=holdings,
            fixed_here={"tokens": NEEDS_A_NOTEBOOK} if keeps_row else {},
        )

    def _page_thumbnails(self) -> Holding:
        """Return the thumbnails of every stack in both units, for all maps of a comparison."""
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
        """Return the thumbnails that a page holds: None for maps, or the token of a painted row."""
        # The page has pictures and sounds only if they were visible when it was saved.
        if not self._paints:
            return [None]
        locked = self.tokens if self._other() is not None else []
        painted = self._painted_token(stack, unit, locked)
        return [None] if painted is None else [None, painted]

    def _page_thumbnail(
        self, stack: str, unit: str, comparison_part: str, painted: PaintedToken | None
    ) -> dict[str, Any]:
        """Return the thumbnails of a stack with their axes and positions, for a saved page."""
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
        """Return the scale ends and strongest links of the rows, or columns, of all tokens.

        The page reads the rows themselves from the maps.
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
            n_visible = (
                np.count_nonzero(~np.isnan(rows), axis=-1) if times_keys else np.ones(len(rows))
            )
            row_maxima, strongest = strongest_positions(rows, key if side == "query" else query)
            ends.append(np.nan_to_num(values).max(initial=0) * n_visible)
            maxima.append(row_maxima * n_visible)
            others.append(strongest)
        shape = (-1, axes.n_layers, axes.n_heads)
        return {
            "largest": to_wire(np.stack(ends, -1).astype(np.float32).reshape(shape)),
            "maxima": to_wire(np.stack(maxima, -1).astype(np.float32).reshape(shape)),
            "others": to_wire(np.stack(others, -1).astype(np.int32).reshape(shape)),
        }

    def _metrics_of_all(self) -> list[Any]:
        """Return the metrics of every stack at every checkpoint, for a saved page."""
        stepped = self.metrics
        if not isinstance(stepped, SteppedMetrics):
            metrics_by_stack = self._measured
            return [
                as_json_value(self._metrics_wire(metrics_by_stack, stack, None))
                for stack in metrics_by_stack
            ]
        return [
            as_json_value(self._metrics_wire(metrics, stack, step))
            for step, metrics in stepped.by_step.items()
            for stack in metrics
        ]

    def _common(self, other: Attention, stack: str, unit: str) -> list[int] | None:
        """Return the numbers of common queries and keys that are not hidden; None if all are."""
        counts = []
        is_same = True
        for side in ("query", "key"):
            first, second = (
                getattr(attention.stacks[stack], side) for attention in (self.attention, other)
            )
            if unit == "words":
                first, second = first.to_words(), second.to_words()
            axis = SharedAxis(first, second)
            is_same = is_same and axis.is_same
            counts.append(sum(first.special[i] not in self.hidden for i, _ in axis.pairs))
        return None if is_same else counts

    def _reference(self) -> Attention:
        """Return the reference of changes: the compared attention, otherwise the intact one."""
        return self.versus if isinstance(self.versus, Attention) else self.attention.intact

    def _off(self, stack: str) -> tuple[list[int], list[int]]:
        """Return the layer indices and head indices of a stack's disabled heads."""
        off = [head for head in self._edit[0] if head.stack == stack]
        return [head.layer for head in off], [head.head for head in off]

    def _changes(self, stack: str) -> NDArray[np.float32]:
        """Return the distance of each head from the compared head, [L, H]; 0 if disabled."""
        pair = self.attention, self._reference()
        if self._changed is None or self._changed[0] != pair:
            self._changed = pair, {}
        changes = self._changed[1]
        if stack not in changes:
            prepared_key, prepared = self._prepared
            is_prepared = prepared_key == (*pair, stack)
            changes[stack] = (
                prepared.copy() if is_prepared else self.attention.changes(pair[1], stack)
            )
            changes[stack][self._off(stack)] = 0
        return changes[stack]
