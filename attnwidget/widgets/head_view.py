"""HeadView: one head in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.attention import Attention
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.base import AttentionWidget
from attnwidget.widgets.exporting import ThemeName
from attnwidget.widgets.heads import STATIC
from attnwidget.widgets.wire import axes_to_wire, to_wire

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.figures.caption import Caption


class HeadView(AttentionWidget):
    """One head's map as lines between two columns of tokens, or as a matrix.

    `layer` and `head` (0-based), with `stack` in an encoder-decoder, choose the head; linked to a
    `HeadGrid` it shows the head selected there. `highlight` names words whose attention, to and
    from, is drawn in a second colour. Further options are the traits below, as keywords. An unknown
    one raises TypeError, a value out of range traitlets.TraitError, a highlighted word that the
    input lacks traitlets.TraitError.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> view.weights.shape
        (9, 9)
    """

    _esm = (STATIC / "head_view.js").read_text("utf-8")
    _css = (STATIC / "head_view.css").read_text("utf-8")

    mode = traitlets.Enum(
        ["lines", "matrix"], "lines", help="Lines between two token columns, or a heat map."
    ).tag(sync=True)
    top_mass = traitlets.Float(
        1.0, min=0.0, max=1.0, help="Show the strongest lines that make up this share of each row."
    ).tag(sync=True)
    renormalise = traitlets.Bool(
        False, help="Make rows sum to 1 again after tokens are hidden; the figure says so."
    ).tag(sync=True)
    sentences = traitlets.Enum(
        ["all", "aa", "ab", "ba", "bb"],
        "all",
        help='Attention from and to the sentences of a pair; "ab" is from A to B.',
    ).tag(sync=True)
    highlight = traitlets.List(
        traitlets.Unicode(), help="Words whose attention is drawn in a second colour."
    )

    # A dict once there is something to draw, else None.
    _map = traitlets.Any(None).tag(sync=True)
    _highlighted = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        attention: Attention,
        layer: int | None = None,
        head: int | None = None,
        stack: str | None = None,
        *,
        highlight: Sequence[str] | str = (),
        **traits: Any,
    ) -> None:
        if isinstance(attention, Attention) and "selected" not in traits:
            name = stack or next(iter(attention.stacks))
            traits["selected"] = [(layer or 0, head or 0, name)]
        elif layer is not None or head is not None or stack is not None:
            raise TypeError(
                "choose the head by `layer`, `head` and `stack`, or by `selected`, not both"
            )
        words = [highlight] if isinstance(highlight, str) else list(highlight)
        super().__init__(attention, highlight=words, **traits)

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """The shown head's weights, float32 [query, key] in `unit`s; None without a head."""
        return self._shown("weights")

    @property
    def values(self) -> NDArray[np.float32] | None:
        """The shown head's map of the `quantity` drawn, as `weights`."""
        return self._shown(self.quantity)

    def _shown(self, quantity: str) -> NDArray[np.float32] | None:
        if self.head is None:
            return None
        layer, head, stack = self.head
        return self.attention.map(quantity, layer, head, stack=stack, unit=self.unit)

    @traitlets.observe("selected", "quantity", "unit", "highlight")
    def _other_map(self, change: object) -> None:
        if self._stacks:
            with self._answering():
                self._compute()

    def _compute(self) -> None:
        head, values = self.head, self.values
        if head is None or values is None:
            self._map = None
            return
        stack = self.attention.stacks[head.stack]
        self._axes = axes_to_wire(stack, self.unit)
        self._highlighted = {
            "query": self._positions(stack.query),
            "key": self._positions(stack.key),
        }
        values = self._masked(values)
        self._map = {
            "stack": head.stack,
            "layer": head.layer,
            "head": head.head,
            "quantity": self.quantity,
            "unit": self.unit,
            "exact": True,
            "values": to_wire(values.astype(np.float32, copy=False)),
        }

    def _masked(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The shown head's map with NaN where a query may not see a key."""
        assert self.head is not None
        read = self.attention.word_visible if self.unit == "words" else self.attention.visible
        visible = read(*self.head[:2], stack=self.head.stack)
        if visible is None:
            return values
        masked: NDArray[np.float32] = np.where(visible, values, np.float32(np.nan))
        return masked

    @traitlets.observe("attention")
    def _forget_words(self, change: object) -> None:
        """Words that another input lacks are not highlighted in it."""
        if self._stacks:
            there = self._words()
            self.highlight = [word for word in self.highlight if word.casefold() in there]

    def _words(self) -> set[str]:
        return {
            word.casefold()
            for stack in self.attention.stacks.values()
            for word in (*stack.query.to_words().text, *stack.key.to_words().text)
        }

    def _positions(self, tokens: Tokens) -> list[int]:
        """Where the highlighted words are on an axis, in the unit shown."""
        if not self.highlight:
            return []
        wanted = {word.casefold() for word in self.highlight}
        words = [word.casefold() for word in tokens.to_words().text]
        found = [k for k, word in enumerate(words) if word in wanted]
        if self.unit == "words":
            return found
        groups = tokens.word_groups()
        return [i for k in found for i in groups[k]]

    @traitlets.validate("highlight")
    def _check_highlight(self, proposal: dict[str, Any]) -> list[str]:
        words = self._words()
        if missing := [word for word in proposal["value"] if word.casefold() not in words]:
            raise traitlets.TraitError(
                "'highlight' names words of the input; not among them: "
                + ", ".join(map(repr, missing))
            )
        return list(proposal["value"])

    def figure(self, *, width: int | None = None, theme: ThemeName = "light") -> alt.LayerChart:
        """The head as it is now, as an Altair chart, whether or not a page shows it.

        Lines, cells and tokens are vector; a matrix of more than 900 cells is a crisp image. Of
        more than 60 tokens, lines show as many rows as the widget does, the last locked token among
        them, and the caption says so. `width` is in pixels, `theme` is "light" or "dark".

        Example:
            >>> from attnwidget import HeadView, load_model
            >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
            >>> view.figure().save("head.svg")  # doctest: +SKIP
        """
        from attnwidget.widgets.pictures import head_view

        return head_view.figure(self, width=width, theme=theme)

    @property
    def caption(self) -> Caption:
        """What the view shows now, in words."""
        from attnwidget.widgets.pictures import head_view

        return head_view.caption(self)

    def _table(self) -> pd.DataFrame:
        from attnwidget.widgets.pictures import head_view

        return head_view.table(self)
