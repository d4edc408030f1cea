"""TokenLens: the weights of every head for one word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.pages.attention_maps import all_maps
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.shared.computed import computed
from attnwidget.widgets.shared.stack_choice import StackChoice
from attnwidget.widgets.token_lens.three_digits import three_digits
from attnwidget.widgets.wire.values import axes_to_wire, in_unit, to_wire

# More numbers than these are sent to three digits, in a byte and a half each.
_MOST_IN_FULL = 6000
# A link counts from so many even shares on, as in the grid of an explorer.
_TIMES_EVEN = 1.5


class TokenLens(StackChoice):
    """The weights of every head from a word to all tokens, or from all tokens to the word.

    With one token locked (`tokens`) it shows tokens x heads, the heads of the layer or of the model
    (`of`). With a query and a key locked it shows layers x heads, one square a head: the weight
    from the query to the key, and the heads that go there (`heads`). Of several locked tokens, the
    last query and the last key count, except hidden tokens. With none locked the first word is
    shown.

    Linked to a `HeadView` or `HeadGrid` it follows their locks, and selects their heads. Options
    are the traits, as keywords. An unknown one raises TypeError, a value out of range
    traitlets.TraitError.

    Example:
        >>> from attnwidget import TokenLens, load_model
        >>> attention = load_model().attend("The captain told his men that he would not leave.")
        >>> lens = TokenLens(attention, tokens=[("query", 7)])
        >>> lens.values.shape
        (12, 13)
        >>> lens.tokens = [("query", 7), ("key", 2)]
        >>> lens.values.shape, str(lens.heads[0])
        ((6, 12), 'L1 H3')
    """

    kind = "token_lens"
    page_label = "one word"
    page_title = "What every head does for one word"

    of = traitlets.Enum(
        ["layer", "model"],
        "layer",
        help="The heads shown for one word: those of the layer, or all of them.",
    ).tag(sync=True, option=True)
    sort = traitlets.Enum(
        ["head", "weight"],
        "head",
        help="Heads by their number, or by their largest weight, the largest first.",
    ).tag(sync=True, option=True)

    @property
    def query(self) -> int | None:
        """The attending token (or word) shown; None where all are."""
        return self._asked()[0]

    @property
    def key(self) -> int | None:
        """The attended token (or word) shown; None where all are."""
        return self._asked()[1]

    @property
    def values(self) -> NDArray[np.float32] | None:
        """What is shown, NaN where masked: [L, H] between two tokens, else tokens last.

        Of one token [H, n] in the layer's heads, or [L, H, n] in the model's; None where every
        token is hidden.
        """
        query, key = self._asked()
        if query is not None and key is not None:
            return self._of("query", query)[..., key]
        layer = self._shown_layer() if self.of == "layer" else None
        if query is not None:
            return self._of("query", query, layer)
        return None if key is None else self._of("key", key, layer)

    @property
    def heads(self) -> list[Head]:
        """The heads that go from the locked query to the locked key, the largest weight first.

        A head goes to the key if the key has a larger weight than every other visible key, and at
        least 1.5 times the even share (1 / number of keys without a mask). Other quantities have no
        even share. A head that is switched off goes nowhere. Empty unless a query and a key are
        locked.
        """
        query, key = self._asked()
        if query is None or key is None:
            return []
        weights, goes = self._pair(query, key)
        heads = [Head(int(i), int(j), self.stack) for i, j in np.argwhere(goes)]
        return sorted(heads, key=lambda head: -weights[head.layer, head.head])

    def _shown_layer(self) -> int:
        return self.attention.stacks[self.stack].layers.nearest(self.layer)

    def _axis(self, side: str) -> Tokens:
        stack = self.attention.stacks[self.stack]
        tokens = stack.query if side == "query" else stack.key
        return tokens.to_words() if self.unit == "words" else tokens

    def _asked(self) -> tuple[int | None, int | None]:
        """The last locked query and the last locked key; the first word where none is locked."""
        kinds = {side: self._axis(side).special for side in ("query", "key")}
        locked: dict[str, int | None] = {"query": None, "key": None}
        for side, index in self.tokens:
            if index < len(kinds[side]) and kinds[side][index] not in self.hidden:
                locked[side] = index
        if locked["query"] is None and locked["key"] is None:
            seen = [i for i, kind in enumerate(kinds["query"]) if kind not in self.hidden]
            words = [i for i in seen if not kinds["query"][i]]
            locked["query"] = next(iter(words + seen), None)
        return locked["query"], locked["key"]

    def _of(self, side: str, index: int, layer: int | None = None) -> NDArray[np.float32]:
        return in_unit(self.attention, self.unit).of_token(
            side, index, layer=layer, stack=self.stack, quantity=self.quantity
        )

    def _pair(self, query: int, key: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return values [L, H] from the query to the key, and whether each head goes to the key."""
        rows = self._of("query", query)
        values = rows[..., key]
        left_out = np.isin(self._axis("key").special, self.hidden)
        left_out[key] = True
        goes = values > np.nanmax(np.where(left_out, 0, rows), axis=-1)
        if self.quantity == "weights":
            # The weight of a masked key is NaN, and the comparison is False.
            goes &= values * np.isfinite(rows).sum(-1) >= _TIMES_EVEN
        for head in self._edit[0]:
            if head.stack == self.stack:
                goes[head.layer, head.head] = False
        return values, goes

    def page_part(self) -> Part:
        """Return the maps of all heads, whose rows and columns the page reads."""
        part = super().page_part()
        return replace(
            part,
            state=part.state | {"_quantities": [self.quantity]},
            holdings={"maps": all_maps(self.attention, self.quantity)},
        )

    @computed("attention", "stack", "unit", page_computes=True)
    def _axes(self) -> dict[str, Any]:
        return axes_to_wire(self.attention.stacks[self.stack], self.unit)

    @computed("attention", "tokens", "of", "stack", "unit", "hidden", "layer", sync=False)
    def _lens_layer(self) -> int | None:
        """The layer whose heads are shown; None if heads of all layers are shown."""
        is_pair = None not in self._asked()
        return self._shown_layer() if self.of == "layer" and not is_pair else None

    @computed(
        "attention",
        "tokens",
        "of",
        "stack",
        "quantity",
        "unit",
        "hidden",
        "_lens_layer",
        page_computes=True,
    )
    def _lens(self) -> dict[str, Any] | None:
        """The values as the page draws them; None if all tokens are hidden."""
        query, key = self._asked()
        if query is None and key is None:
            return None
        lens: dict[str, Any] = {
            "stack": self.stack,
            "quantity": self.quantity,
            "unit": self.unit,
            "exact": True,
            "query": query,
            "key": key,
            "layer": None,
            "hidden": list(self.hidden),
            "goes": None,
            "decade": None,
        }
        if query is not None and key is not None:
            values, goes = self._pair(query, key)
            lens |= {"values": to_wire(values), "goes": to_wire(goes.astype(np.uint8))}
        else:
            shown = self.values
            assert shown is not None
            values = shown
            lens["layer"] = self._lens_layer
            if values.size > _MOST_IN_FULL:
                packed, lens["decade"] = three_digits(values)
                lens["values"] = to_wire(packed)
            else:
                lens["values"] = to_wire(values)
        return lens | {"shape": list(values.shape)}
