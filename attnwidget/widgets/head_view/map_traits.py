"""The maps of a HeadView for its page: whole, or of a long input the parts that are in sight."""

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

#: The only quantity that a long input cannot have, and why: no part of its maps can be computed.
NOT_BY_PARTS = {"gradients": "the loss is followed back through the whole map"}
# Why a page keeps the options that decide which part of a long input is in sight.
_ONE_PART = (
    "The page of a long input has only the part of the map that was in sight when it was saved."
)
# Maps whose maxima of blocks are remembered: all heads of two layers that are drawn together.
_REMEMBERED = 2 * MOST_HEADS["overlay"]


class FigureOfMaps(Versus):
    """A figure whose page gets maps: whole, or of a long input the parts that are in sight."""

    # A search that the page asks for, and what was found.
    _search = traitlets.Dict().tag(sync=True, from_page=True)
    _search_answer = traitlets.Dict().tag(sync=True)
    # `HeadView` replaces these: the way of drawing, the places of tokens, and whole maps.
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
        """Queries and keys of the maps that are drawn of a stack."""
        if two := self._two():
            query, key = two.axes(stack, self.unit)
            return query.tokens, key.tokens
        return axes_in(self.attention.stacks[stack], self.unit)

    @when_open("attention")
    def _fit_to_length(self, change: object) -> None:
        """Draw weights if another quantity is missing, and forget the search of a long input."""
        if self._lacks(self.quantity):
            self.quantity = "weights"
        self._search_answer = {}

    @computed("mode", "hidden", sync=False)
    def _left_out(self) -> list[str]:
        """The hidden tokens: on a picture none, because special tokens stand beside it."""
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
        """The drawn maps of a long input; None for a short input, or without a head."""
        if not self.attention.is_long:
            self._remembered.clear()
            return None
        return self._drawn_maps(self.head, self._two()) if self.head else None

    # The page of a short input holds the maps of all heads. What it hides and cuts is drawing.
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
        """The maps that are drawn together; those of a long input always, in blocks."""
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
        """The part of a long input that is in sight, None on a picture; else the whole map."""
        maps = self._by_parts
        if maps is None:
            return self._own_map
        if self.mode == "places":
            return None
        return maps.tile_to_wire(self.window, lines=self.mode == "lines")

    @computed("_by_parts", "_places", "tokens", "mode")
    def _row(self) -> dict[str, Any] | None:
        """Of a long input the row of the last locked query, or what is painted on a picture."""
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
        """Return what a page holds; of a long input the maps as a whole, and the part in sight."""
        if not self.attention.is_long:
            return super().page_content()
        head = self.head
        maps = self._by_parts
        tile = self._tile
        every = self.shapes()
        shapes = {name: shape for name, shape in every.items() if head and name == head.stack}
        part = replace(
            super().page_part(),
            state=state_of(self, whole=True),
            shapes=shapes or every,
            # The layer follows the selection; the way of drawing needs no other part.
            fixed=dict.fromkeys(
                self._options_behind("_by_parts") - {"mode"} | {"layer"}, _ONE_PART
            ),
        )
        if maps is None or 0 in maps.size or (tile is None and self._row is None):
            return Page({self.kind: part})
        of = ", ".join(map(str, dict.fromkeys(maps.heads)))
        if tile is None:
            return Page(
                {self.kind: part},
                notes=(f"long input: holds an overview of {of}, and one row or column of it",),
            )
        (q0, q1), (k0, k1) = tile["queries"], tile["keys"]
        blocks = f" in blocks of {tile['step']}" if tile["step"] > 1 else ""
        note = (
            f"long input: holds an overview of {of}, and queries "
            f"{maps.rows[q0]}–{maps.rows[q1 - 1]} and keys "
            f"{maps.columns[k0]}–{maps.columns[k1 - 1]}{blocks}"
        )
        return Page({self.kind: part}, notes=(note,))

    def _drawn_maps(self, head: Head, two: TwoMaps | None) -> LongMaps:
        """The maps of the heads that are drawn together, or of one head in two attentions."""
        rows, columns, hidden = shown_places(
            self._axes_of(head.stack), self._left_out, self.sentences
        )
        sizes = [len(axis) for axis in self._axes_of(head.stack)]
        everything = [len(rows), len(columns)] == sizes
        plain = everything and self.unit == "tokens" and self.quantity == "weights"

        def shown(cells: MapCells, *of: object) -> PartedMap:
            choice = (*self._left_out, self.sentences, self.quantity, self.unit)
            return self._remember((*of, choice), ShownParts(cells, rows, columns, hidden))

        if two is not None:
            heads = [head, head]
            both = two.cells(self.quantity, head, self.unit)
            maps = [
                shown(cells, id(two.first), id(two.second), head, side)
                for side, cells in enumerate(both)
            ]
        else:
            heads = self._heads_together()
            maps = [
                HeadParts(self.attention, one)
                if plain
                and one.layer not in self.attention.stacks[one.stack].layers_without_attention
                else shown(
                    cells_of(self.attention, one, self.quantity, self.unit),
                    id(self.attention),
                    one,
                )
                for one in heads
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
        """The map of this key, whose maxima may be known by now."""
        return self._remembered.get_or_make(key, lambda: made)

    @when_open("_search")
    def _find(self, change: object) -> None:
        """The next place of a token that the page looks for: locked, and brought into sight."""
        maps = self._by_parts
        search = self._search
        if maps is None:
            return
        side = search["side"]
        step = search["step"]
        query, key = self._axes_of(maps.heads[-1].stack)
        tokens, shown = (query, maps.rows) if side == "query" else (key, maps.columns)
        there = set(shown.tolist())
        places = [place for place in places_of(tokens, search["text"]) if place in there]
        locked = [index for at, index in self.tokens if at == side]
        with self._lock, self._answering():
            answer: dict[str, Any] = {"n": search["n"], "count": len(places)}
            if places:
                at = next_of(places, locked[-1] if locked else -1, step)
                answer |= {"at": at, "nth": places.index(at) + 1}
                self.tokens = [(side, at)]
                self.window = maps.window_to(side, at)
            self._search_answer = answer
