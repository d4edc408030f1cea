"""HeadScatter: heads as points, close together if they attend alike."""

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

#: Behaviors of Clark et al., Figure 6, in the order of their marks: each looks the same on every
#: map and chart. Other names get the marks that are left, in order.
KNOWN = ("to [CLS]", "to [SEP]", "to . ,", "previous token", "next token", "attends broadly")
_OTHER = "other"
#: What positions come from that are not given.
_MEASURED = "distances between heads"
#: Colors and shapes differ in pairs up to here (6 colors, 8 shapes).
_MOST_BEHAVIORS = 24


@dataclass(frozen=True, eq=False)
class PlacedHeads:
    """Positions of heads, and what a caption must say of them.

    Attributes:
        positions: float64 [layers, heads, 2]; NaN for layers without attention.
        stack: The stack of the heads.
        model_name: The name of the model; "" if it is not known.
        source: Where the positions come from, in words.
        note: How the positions were computed; "" if it is not known.
    """

    positions: NDArray[np.float64]
    stack: str
    model_name: str
    source: str
    note: str


class HeadScatterOptions(LayerOptions, total=False):
    """Options of a `HeadScatter`."""


class HeadScatter(HeadWidget):
    """Heads in the plane, close together if they attend alike; click or drag to select.

    `distances` are Jensen-Shannon distances between heads; their metric MDS embedding is drawn
    (Clark et al. 2019, section 6, Figure 6). `behaviors` [layers, heads] are labels: names, for
    example from `clark_labels(...)`, or cluster numbers, for example from `distances.cluster(8)`.
    Colors and shapes of the marks stand for behaviors; without any, colors and numbers stand for
    layers. `HeadScatter.from_positions` draws given positions. Further options are the traits below, as
    keywords. An unknown one raises TypeError, a value out of range traitlets.TraitError.

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
        None, help="A label a head, [layers, heads]: names or cluster numbers. None for none."
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
        """A map of positions [layers, heads, 2] that were computed elsewhere.

        `note` says in the caption how. Raises ValueError for an array of another shape or with
        positions that are not finite.

        Example:
            >>> import numpy as np
            >>> from attnwidget import HeadScatter
            >>> HeadScatter.from_positions(np.zeros((2, 3, 2)), note="principal components")
            HeadScatter(self 2×3, selected: none)
        """
        head_scatter = cls.__new__(cls)
        placed = PlacedHeads(_finite(positions), stack, model_name, "positions given", note)
        head_scatter._place(placed, behaviors, traits)
        return head_scatter

    def _place(
        self, placed: PlacedHeads, behaviors: ArrayLike | None, traits: HeadScatterOptions
    ) -> None:
        # The heads that can be selected are known by their positions, before any option is set.
        self._placed = placed
        super().__init__(behaviors=behaviors, **traits)

    def show(self, distances: HeadDistances, behaviors: ArrayLike | None = None) -> None:
        """Show other distances; the selection keeps all heads that still exist.

        Raises:
            TypeError: no distances between heads.
            traitlets.TraitError: behaviors that do not fit them.
        """
        placed = _embedded(distances)
        with self._lock, self.together():
            self.behaviors = None
            self._placed = placed
            self._leave_missing_heads()
            self.layer = min(self.layer, self.n_layers - 1)
            self.behaviors = behaviors

    @property
    def positions(self) -> NDArray[np.float64]:
        """Where the heads are, float64 [layers, heads, 2]; a copy."""
        return self._placed.positions.copy()

    def _code(self) -> str:
        labels = YOURS if self.behaviors is not None else None
        options = chosen_options(self)
        placed = self._placed
        if placed.source == _MEASURED:
            return code_of("HeadScatter", {"distances": YOURS, "behaviors": labels}, options)
        about = {"model_name": placed.model_name or None, "note": placed.note or None}
        about["stack"] = None if placed.stack == "self" else placed.stack
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
        placed = self._placed
        return {"model": placed.model_name, "quantity": placed.source, "note": placed.note}

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
        chosen = ", ".join(map(str, self.selected)) or "none"
        source = f"{self._placed.model_name}, " if self._placed.model_name else ""
        return f"HeadScatter({source}{self._placed.stack} {n_layers}×{n_heads}, selected: {chosen})"


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
    if cut := getattr(distances, "cut", ""):  # distances of a caller's own class have no remark
        note = f"{note} · {cut}"
    positions = _finite(embedding.positions)
    return PlacedHeads(positions, distances.stack, distances.model_name, _MEASURED, note)


def _finite(positions: ArrayLike) -> NDArray[np.float64]:
    array = np.array(positions, dtype=np.float64)
    if array.ndim != 3 or array.shape[2] != 2 or not array.size:
        raise ValueError(
            f"positions have the shape {list(array.shape)}; expected [layers, heads, 2]"
        )
    # The heads of layers without attention have no position.
    layers_without_attention = np.isnan(array).all((1, 2), keepdims=True)
    missing = ~np.isfinite(array) & ~(layers_without_attention & ~layers_without_attention.all())
    if missing.any():
        layer, head, _ = np.argwhere(missing)[0]
        raise ValueError(f"the position of L{layer} H{head} is {array[layer, head]}, not finite")
    return array


def groups_of(labels: NDArray[Any] | None) -> tuple[list[dict[str, Any]], NDArray[np.int32]]:
    """Labels as groups, in the order of the legend, each with the slot of its mark; -1 is gray."""
    if labels is None:
        return [], np.zeros(0, dtype=np.int32)
    found, index = np.unique(labels, return_inverse=True)
    numbers = np.issubdtype(labels.dtype, np.number)
    names = [f"cluster {label}" if numbers else str(label) for label in found]
    known = [name for name in KNOWN if name in names]
    rest = [name for name in names if name not in (*KNOWN, _OTHER)]
    slots = {name: KNOWN.index(name) for name in known}
    left = (slot for slot in itertools.count() if slot not in slots.values())
    slots |= dict(zip(rest, [next(left) for _ in rest], strict=True))
    ordered = [*known, *rest, *(name for name in names if name == _OTHER)]
    places = np.array([ordered.index(name) for name in names], dtype=np.int32)
    groups = [{"name": name, "slot": slots.get(name, -1)} for name in ordered]
    return groups, places[index].reshape(labels.shape)
