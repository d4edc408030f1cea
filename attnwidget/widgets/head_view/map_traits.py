"""Maps of a HeadView for its page: whole maps, or only the visible parts for a long input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import Head
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.long_maps import LongMaps, next_of, places_of, shown_places
from attnwidget.widgets.head_view.map_cells import MapCells, cells_of
from attnwidget.widgets.head_view.parted_map import HeadParts, PartedMap, ShownParts
from attnwidget.widgets.head_view.several import MOST_HEADS, heads_together
from attnwidget.widgets.head_view.two_maps import TwoMaps
from attnwidget.widgets.pages.encoding import state_of
from attnwidget.widgets.pages.page_part import Page
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.versus import Versus
from attnwidget.widgets.wire.values import axes_in

#: Quantities that long inputs do not have, with the reason: their maps cannot be computed in parts.
NOT_BY_PARTS = {"gradients": "the loss is followed back through the whole map"}
# Message for options that a saved page of a long input cannot change.
_ONE_PART = (
    "The page of a long input has only the part of the map that was in sight when it was saved."
)
# Number of maps with cached block maxima: all heads of two layers in an overlay.
_REMEMBERED = 2 * MOST_HEADS["overlay"]


class FigureOfMaps(Versus):
    """Figure whose page receives whole maps, or only the visible parts for a long input."""

    # Search request of the page, and its answer.
    _search = traitlets.Dict().tag(sync=True, from_page=True)
    _search_answer = traitlets.Dict().tag(sync=True)
    # `HeadView` defines these traits.
    mode: Any
    _places: Any
    _own_map: Any
    _together: Any

    def __init__(self, attention: Attention, **traits: Any) -> None:
        self._remembered: LatestValues[object, PartedMap] = LatestValues(_REMEMBERED)
        super().__init__(attention, **traits)

    def _fitting(self, name: str, value: Any) -> Any:
        fits = super()._fitting(name, value)
        return self.quantity if name == "quantity" and self._lacks(fits) else fits

    @traitlets.validate("quantity")
    def _check_quantity(self, proposal: dict[str, Any]) -> Any:
        value = proposal["value"]
        if self._lacks(value) and value in NOT_BY_PARTS:
            raise traitlets.TraitError(
                f"'quantity' cannot be {value!r} of an input of {len(self.attention.tokens):,} "
                f"tokens, whose maps are computed by parts: {NOT_BY_PARTS[value]}. Shorten the "
                "text, or read it with attend(text, long=False)"
            )
        return value

    def _lacks(self, quantity: str) -> bool:
        return self.attention.is_long and quantity not in self.attention.quantities

    def _two(self) -> TwoMaps | None:
        other = self._other()
        return None if other is None else TwoMaps(self.attention, other)

    def _axes_of(self, stack: str) -> tuple[Tokens, Tokens]:
        """Return the queries and keys of a stack's maps in the figure."""
        if two := self._two():
            query, key = two.axes(stack, self.unit)
            return query.tokens, key.tokens
        return axes_in(self.attention.stacks[stack], self.unit)

    @when_open("attention")
    def _fit_to_length(self, change: object) -> None:
        """Draw weights if the quantity is missing in the new input, and clear the search."""
        if self._lacks(self.quantity):
            self.quantity = "weights"
        self._search_answer = {}

    @computed("mode", "hidden", sync=False)
    def _left_out(self) -> list[str]:
        """Hidden tokens; none in the mode "places", which draws special tokens next to it."""
        return [] if self.mode == "places" else list(self.hidden)

    @computed(
        "attention",
        "versus",
        "selected",
        "arrangement",
        "shown_heads",
        "quantity",
        "unit",
        "_left_out",
        "sentences",
        sync=False,
    )
    def _by_parts(self) -> LongMaps | None:
        """Maps of a long input; None for a short input or without a head."""
        if not self.attention.is_long:
            self._remembered.clear()
            return None
        return self._drawn_maps(self.head, self._two()) if self.head else None

    # The page of a short input has the maps of all heads, so it can hide tokens by itself.
    @computed(
        "_by_parts",
        "_together",
        page_chooses=(
            "selected",
            "arrangement",
            "shown_heads",
            "unit",
            "hidden",
            "sentences",
            "mode",
        ),
    )
    def _maps(self) -> dict[str, Any] | None:
        """Maps that are drawn together; for a long input, always an overview in blocks."""
        maps = self._by_parts
        if maps is None:
            return self._together
        return maps.overview_to_wire() | {
            "quantity": self.quantity,
            "unit": self.unit,
            "hidden": self._left_out,
            "sentences": self.sentences,
        }

    @computed(
        "_by_parts",
        "_own_map",
        "window",
        "mode",
        page_chooses=("selected", "unit", "window", "mode"),
    )
    def _tile(self) -> dict[str, Any] | None:
        """Visible part of a long input's maps, None in the mode "places"; else the whole map."""
        maps = self._by_parts
        if maps is None:
            return self._own_map
        if self.mode == "places":
            return None
        return maps.tile_to_wire(self.window, lines=self.mode == "lines")

    @computed("_by_parts", "_places", "tokens", "mode")
    def _row(self) -> dict[str, Any] | None:
        """Row of the last locked query, or painted row or column; None for a short input."""
        maps = self._by_parts
        if maps is None:
            return None
        locked = dict(self.tokens)
        if self.mode != "places":
            return maps.row_to_wire(locked["query"]) if "query" in locked else None
        places = self._places
        if places is None:
            return None
        if "key" in locked and "query" not in locked:
            return maps.exact_to_wire("key", locked["key"])
        return maps.exact_to_wire("query", locked.get("query", places["start"]))

    def page_content(self) -> Page:
        """Return the content of a saved page; for a long input, an overview and a visible part."""
        if not self.attention.is_long:
            return super().page_content()
        head = self.head
        maps = self._by_parts
        tile = self._tile
        all_shapes = self.shapes()
        shapes = {name: shape for name, shape in all_shapes.items() if head and name == head.stack}
        part = replace(
            super().page_part(),
            state=state_of(self, whole=True),
            shapes=shapes or all_shapes,
            # The layer follows the selection, and another mode needs no other part.
            fixed=dict.fromkeys(
                self._options_behind("_by_parts") - {"mode"} | {"layer"}, _ONE_PART
            ),
        )
        if maps is None or 0 in maps.size or (tile is None and self._row is None):
            return Page({self.kind: part})
        heads = ", ".join(map(str, dict.fromkeys(maps.heads)))
        if tile is None:
            return Page(
                {self.kind: part},
                notes=(f"long input: holds an overview of {heads}, and one row or column of it",),
            )
        (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
        blocks = f" in blocks of {tile['step']}" if tile["step"] > 1 else ""
        note = (
            f"long input: holds an overview of {heads}, and queries "
            f"{maps.rows[q0]}–{maps.rows[q1 - 1]} and keys "
            f"{maps.columns[k0]}–{maps.columns[k1 - 1]}{blocks}"
        )
        return Page({self.kind: part}, notes=(note,))

    def _drawn_maps(self, head: Head, two: TwoMaps | None) -> LongMaps:
        """Return the maps of the heads that are drawn together, or of a head in two attentions."""
        rows, columns, hidden = shown_places(
            self._axes_of(head.stack), self._left_out, self.sentences
        )
        sizes = [len(axis) for axis in self._axes_of(head.stack)]
        shows_all = [len(rows), len(columns)] == sizes
        uses_head_parts = shows_all and self.unit == "tokens" and self.quantity == "weights"

        def shown_parts(cells: MapCells, *of: object) -> PartedMap:
            choice = (*self._left_out, self.sentences, self.quantity, self.unit)
            return self._remember((*of, choice), ShownParts(cells, rows, columns, hidden))

        if two is not None:
            heads = [head, head]
            cells_of_both = two.cells(self.quantity, head, self.unit)
            maps = [
                shown_parts(cells, id(two.first), id(two.second), head, side)
                for side, cells in enumerate(cells_of_both)
            ]
        else:
            heads = self._heads_together()
            maps = [
                HeadParts(self.attention, drawn_head)
                if uses_head_parts
                and drawn_head.layer
                not in self.attention.stacks[drawn_head.stack].layers_without_attention
                else shown_parts(
                    cells_of(self.attention, drawn_head, self.quantity, self.unit),
                    id(self.attention),
                    drawn_head,
                )
                for drawn_head in heads
            ]
        return LongMaps(
            heads,
            maps,
            rows,
            columns,
            is_cross=head.stack == "cross",
            quantity=self.quantity,
            unit=self.unit,
        )

    def _heads_together(self) -> list[Head]:
        stack = self.attention.stacks[self.selected[-1].stack]
        return heads_together(self.selected, self.arrangement, self.shown_heads, stack.n_heads)

    def _remember(self, key: object, made: PartedMap) -> PartedMap:
        """Return the cached map of this key, which may already have its block maxima."""
        return self._remembered.get_or_make(key, lambda: made)

    @when_open("_search")
    def _find(self, change: object) -> None:
        """Lock the next token that matches the page's search, and scroll to it."""
        maps = self._by_parts
        search = self._search
        if maps is None:
            return
        side = search["side"]
        step = search["step"]
        query, key = self._axes_of(maps.heads[-1].stack)
        tokens, indices = (query, maps.rows) if side == "query" else (key, maps.columns)
        visible = set(indices.tolist())
        matches = [
            position for position in places_of(tokens, search["text"]) if position in visible
        ]
        locked = [index for next_position, index in self.tokens if next_position == side]
        with self._lock, self._answering():
            answer: dict[str, Any] = {"n": search["n"], "count": len(matches)}
            if matches:
                next_position = next_of(matches, locked[-1] if locked else -1, step)
                answer |= {"at": next_position, "nth": matches.index(next_position) + 1}
                self.tokens = [(side, next_position)]
                self.window = maps.window_to(side, next_position)
            self._search_answer = answer
