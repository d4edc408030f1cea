"""HeadScatter: heads as points in the plane; heads that attend alike are close together."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.text.counted import counted
from attnwidget.widgets.shared.computed import computed
from attnwidget.widgets.shared.head_widget import HeadWidget, LayerOptions, StackShapes
from attnwidget.widgets.shared.widget_code import chosen_options, code_of
from attnwidget.widgets.wire.values import to_wire

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from attnwidget.metrics.head_distances import HeadDistances

#: Behaviors of Clark et al., Figure 6, in the order of their marks. Each behavior has the same mark
#: on every map and chart. Other names get the remaining marks, in order.
KNOWN = ("to [CLS]", "to [SEP]", "to . ,", "previous token", "next token", "attends broadly")
_OTHER = "other"
#: Source of positions that were computed from distances.
_MEASURED = "distances between heads"
#: Maximum number of labels whose pairs of color and shape differ (6 colors, 8 shapes).
_MOST_BEHAVIORS = 24


@dataclass(frozen=True, eq=False)
class PlacedHeads:
    """Positions of heads and their caption texts.

    Attributes:
        positions: Positions, float64 [layers, heads, 2]; NaN for layers without attention.
        stack: Stack of the heads.
        model_name: Name of the model; "" if unknown.
        source: Source of the positions, for the caption.
        note: Method by which the positions were computed; "" if unknown.
    """

    positions: NDArray[np.float64]
    stack: str
    model_name: str
    source: str
    note: str


class HeadScatterOptions(LayerOptions, total=False):
    """Options of a `HeadScatter`."""


class HeadScatter(HeadWidget):
    """Map of heads in which heads that attend alike are close together; click or drag to select.

    `distances` are Jensen-Shannon distances between heads. The figure draws their metric MDS
    embedding (Clark et al. 2019, section 6, Figure 6). `behaviors` [layers, heads] are labels:
    names, for example from `clark_labels(...)`, or cluster numbers, for example from
    `distances.cluster(8)`. The color and the shape of a mark show the behavior. Without behaviors,
    colors and numbers show the layer. `HeadScatter.from_positions` draws given positions.

    Options are keywords, and traits of the figure. An unknown option raises TypeError, and a value
    out of range raises traitlets.TraitError.

    Example:
        >>> import numpy as np
        >>> from attnwidget import HeadScatter
        >>> positions = np.random.default_rng(0).normal(size=(6, 12, 2))
        >>> head_scatter = HeadScatter.from_positions(positions, selected=[(3, 5)])
        >>> head_scatter
        HeadScatter(self 6×12, selected: L3 H5)
    """

    kind = "head_scatter"
    page_label = "map of heads"
    page_title = "Attention heads in the plane"

    behaviors = traitlets.Any(
        None,
        help="Label of each head, [layers, heads]: names or cluster numbers; None = no labels.",
    )
    _placed = traitlets.Instance(PlacedHeads)

    def __init__(
        self,
        distances: HeadDistances,
        behaviors: ArrayLike | None = None,
        **traits: Unpack[HeadScatterOptions],
    ):
        self._place(_embedded(distances), behaviors, traits)

    @classmethod
    def from_positions(
        cls,
        positions: ArrayLike,
        behaviors: ArrayLike | None = None,
        *,
        stack: str = "self",
        model_name: str = "",
        note: str = "",
        **traits: Unpack[HeadScatterOptions],
    ) -> HeadScatter:
        """Return a map of heads at given positions.

        Args:
            positions: Positions of the heads, [layers, heads, 2].
            behaviors: Label of each head, [layers, heads], or None.
            stack: Stack of the heads.
            model_name: Name of the model, for the caption.
            note: Method by which the positions were computed, for the caption.
            traits: Further options, which are the traits of `HeadScatter`.

        Raises:
            ValueError: If the array has another shape, or if a position is not finite.

        Example:
            >>> import numpy as np
            >>> from attnwidget import HeadScatter
            >>> HeadScatter.from_positions(np.zeros((2, 3, 2)), note="principal components")
            HeadScatter(self 2×3, selected: none)
        """
        head_scatter = cls.__new__(cls)
        placed_heads = PlacedHeads(_finite(positions), stack, model_name, "positions given", note)
        head_scatter._place(placed_heads, behaviors, traits)
        return head_scatter

    def _place(
        self, placed: PlacedHeads, behaviors: ArrayLike | None, traits: HeadScatterOptions
    ) -> None:
        # Set the positions before any option, because they determine which heads can be selected.
        self._placed = placed
        super().__init__(behaviors=behaviors, **traits)

    def show(self, distances: HeadDistances, behaviors: ArrayLike | None = None) -> None:
        """Show other distances. Selected heads that still exist stay selected.

        Args:
            distances: Distances between heads.
            behaviors: Label of each head, [layers, heads], or None.

        Raises:
            TypeError: If `distances` are not distances between heads.
            traitlets.TraitError: If the shape of `behaviors` does not fit the distances.
        """
        placed_heads = _embedded(distances)
        with self._lock, self.together():
            self.behaviors = None
            self._placed = placed_heads
            self._leave_missing_heads()
            self.layer = min(self.layer, self.n_layers - 1)
            self.behaviors = behaviors

    @property
    def positions(self) -> NDArray[np.float64]:
        """Copy of the positions of the heads, float64 [layers, heads, 2]."""
        return self._placed.positions.copy()

    def _code(self) -> str:
        labels = YOURS if self.behaviors is not None else None
        options = chosen_options(self)
        placed_heads = self._placed
        if placed_heads.source == _MEASURED:
            return code_of("HeadScatter", {"distances": YOURS, "behaviors": labels}, options)
        about = {"model_name": placed_heads.model_name or None, "note": placed_heads.note or None}
        about["stack"] = None if placed_heads.stack == "self" else placed_heads.stack
        arguments = {"positions": YOURS, "behaviors": labels}
        return code_of("HeadScatter.from_positions", arguments, {**about, **options})

    def shapes(self) -> StackShapes:
        n_layers, n_heads, _ = self._placed.positions.shape
        return {self._placed.stack: (n_layers, n_heads)}

    def _layers(self, stack: str) -> LayerNumbers:
        positions = self._placed.positions
        unplaced = np.flatnonzero(np.isnan(positions).all((1, 2)))
        return LayerNumbers.without(unplaced.tolist(), len(positions))

    @traitlets.validate("behaviors")
    def _check_behaviors(self, proposal: dict[str, Any]) -> NDArray[Any] | None:
        if proposal["value"] is None:
            return None
        labels = np.asarray(proposal["value"])
        expected = self._placed.positions.shape[:2]
        if labels.shape != expected:
            raise traitlets.TraitError(
                f"'behaviors' has the shape {list(labels.shape)}; expected one label a head, "
                f"{list(expected)} = [layers, heads]"
            )
        if len(np.unique(labels.astype(str))) > _MOST_BEHAVIORS:
            raise traitlets.TraitError(
                f"'behaviors' has {len(np.unique(labels.astype(str)))} labels; marks can be told "
                f"apart for {_MOST_BEHAVIORS}. Are these numbers to be binned first?"
            )
        return labels

    @computed("_placed")
    def _source(self) -> dict[str, Any]:
        placed_heads = self._placed
        return {
            "model": placed_heads.model_name,
            "quantity": placed_heads.source,
            "note": placed_heads.note,
        }

    @computed("_placed", "behaviors")
    def _heads(self) -> dict[str, Any]:
        names, group = groups_of(self.behaviors)
        positions = self._placed.positions
        n_layers, n_heads = positions.shape[:2]
        return {
            "stack": self._placed.stack,
            "positions": to_wire(positions.astype(np.float32)),
            "groups": names,
            "group": to_wire(group if group.size else np.zeros((n_layers, n_heads), np.int32)),
        }

    def __repr__(self) -> str:
        n_layers, n_heads = self._placed.positions.shape[:2]
        selected = ", ".join(map(str, self.selected)) or "none"
        source = f"{self._placed.model_name}, " if self._placed.model_name else ""
        return (
            f"HeadScatter({source}{self._placed.stack} {n_layers}×{n_heads}, selected: {selected})"
        )


def _embedded(distances: HeadDistances) -> PlacedHeads:
    if not callable(getattr(distances, "embed", None)):
        raise TypeError(
            f"HeadScatter shows distances between heads, got {type(distances).__name__}. Measure "
            'them with measure(model, segments, ["distances"])["distances"], or show '
            "positions of your own with HeadScatter.from_positions(positions)"
        )
    embedding = distances.embed()
    note = (
        f"metric MDS of Jensen-Shannon distances, {counted(distances.n_tokens, 'token')} · "
        f"stress {embedding.stress:.3g}"
    )
    # User-defined distances may have no note about truncation.
    if cut := getattr(distances, "cut", ""):
        note = f"{note} · {cut}"
    positions = _finite(embedding.positions)
    return PlacedHeads(positions, distances.stack, distances.model_name, _MEASURED, note)


def _finite(positions: ArrayLike) -> NDArray[np.float64]:
    array = np.array(positions, dtype=np.float64)
    if array.ndim != 3 or array.shape[2] != 2 or not array.size:
        raise ValueError(
            f"positions have the shape {list(array.shape)}; expected [layers, heads, 2]"
        )
    # Heads of layers without attention have no position.
    layers_without_attention = np.isnan(array).all((1, 2), keepdims=True)
    missing = ~np.isfinite(array) & ~(layers_without_attention & ~layers_without_attention.all())
    if missing.any():
        layer, head, _ = np.argwhere(missing)[0]
        raise ValueError(f"the position of L{layer} H{head} is {array[layer, head]}, not finite")
    return array


def groups_of(labels: NDArray[Any] | None) -> tuple[list[dict[str, Any]], NDArray[np.int32]]:
    """Return the groups of the legend and the group of each head.

    Args:
        labels: Label of each head, or None.

    Returns:
        Groups in legend order, each with its name and the slot of its mark (-1 = gray), and the
        group index of each head.
    """
    if labels is None:
        return [], np.zeros(0, dtype=np.int32)
    distinct, index = np.unique(labels, return_inverse=True)
    numbers = np.issubdtype(labels.dtype, np.number)
    names = [f"cluster {label}" if numbers else str(label) for label in distinct]
    known_names = [name for name in KNOWN if name in names]
    rest = [name for name in names if name not in (*KNOWN, _OTHER)]
    slots = {name: KNOWN.index(name) for name in known_names}
    free_slots = (slot for slot in itertools.count() if slot not in slots.values())
    slots |= dict(zip(rest, [next(free_slots) for _ in rest], strict=True))
    legend_names = [*known_names, *rest, *(name for name in names if name == _OTHER)]
    group_numbers = np.array([legend_names.index(name) for name in names], dtype=np.int32)
    groups = [{"name": name, "slot": slots.get(name, -1)} for name in legend_names]
    return groups, group_numbers[index].reshape(labels.shape)
