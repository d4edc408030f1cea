"""HeadView: attention maps of one or several heads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import (
    Head,
    HeadName,
    head_parts,
    is_one_head,
    layer_of_name,
    names_layer,
)
from attnwidget.hidden_frames import warn_caller
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.head_view.generation_steps import generation_steps
from attnwidget.widgets.head_view.highlighted import highlighted
from attnwidget.widgets.head_view.map_traits import FigureOfMaps
from attnwidget.widgets.head_view.several import (
    ARRANGEMENTS,
    MOST_HEADS,
    drawn_heads,
    maps_to_wire,
    tile_to_wire,
)
from attnwidget.widgets.head_view.staircase import staircase_to_wire
from attnwidget.widgets.head_view.two_maps import TwoMaps, most_changed
from attnwidget.widgets.pages.attention_maps import UNITS, all_maps, maps_of
from attnwidget.widgets.pages.encoding import as_json_value
from attnwidget.widgets.pages.page_part import Holding, Page, Part
from attnwidget.widgets.shared.attention_widget import chosen_head
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import HeadOptions
from attnwidget.widgets.shared.option_list import ListOption
from attnwidget.widgets.shared.painted_rows import start_of, writes_over_sound
from attnwidget.widgets.shared.places import (
    contents_note,
    has_places,
    media_to_wire,
    places_to_wire,
)
from attnwidget.widgets.shared.token_size import TokenSize, TokenSizeOptions
from attnwidget.widgets.shared.traits import Choice, WindowTrait
from attnwidget.widgets.shared.versus import COMPARISON_PARTS, VersusOptions
from attnwidget.widgets.wire.values import axes_in, axes_to_wire, in_unit

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Above so many tokens a view opens as a matrix.
MOST_AS_LINES = 60

Mode = Literal["lines", "matrix", "places"]


class MapOptions(TokenSizeOptions, VersusOptions, total=False):
    """Options of a `HeadView` that a page of grid and view has too."""

    mode: Mode
    window: Sequence[int] | None
    sentences: Literal["all", "aa", "ab", "ba", "bb"]
    arrangement: Literal["one", "beside", "overlay"]
    shown_heads: Literal["selected", "layer"]


class HeadViewOptions(HeadOptions, MapOptions, total=False):
    """Options of a `HeadView`."""

    comparison_part: Literal["all", "difference", "first", "second"]


class HeadView(TokenSize, FigureOfMaps):
    """Map of one or several heads, as lines between two columns of tokens or as a matrix.

    A view linked to a `HeadGrid` shows the head selected in the grid. Where keys have places in a
    picture or a sound (`Tokens.places`), the view paints the row of one query, or the column of one
    key, on the picture or the time line. With `arrangement="beside"` or `"overlay"` it shows all
    selected heads, or with `shown_heads="layer"` all heads in the layer of the last selected head.

    With an attention in `versus`, the view shows the head in both attentions, and the difference.
    Tokens that both attentions have (a longest common subsequence) appear once on the axes. A token
    that one attention lacks is hatched in its map. Unless you choose a head, such a view opens on
    the head that changed most (`Attention.changes`), or on the first head of a long input.

    Above 1,024 tokens, the page gets an overview of the map, and exact values for the visible part
    when you zoom in. Long inputs have no gradients, and have norms only if the vectors can be
    computed row by row. For a text that `AttentionModel.generate` wrote, a slider goes from one
    generated token to the next. It locks the query from which the model wrote the token, and the
    page shows the probability of the token and of its likeliest rivals.

    Args:
        attention: The attention of one input.
        layer: The layer of the head, counted from 0, or the name of the head in place of layer and
            head: "L1 H3", (1, 3) or a `Head`; or pass `selected`. The name of a layer, "L1", shows
            the heads of the layer side by side.
        head: The head in its layer, counted from 0.
        stack: The stack of the layer, needed only if the model has several stacks.
        highlight: See the option below.

    Raises:
        TypeError: `attention` is not an attention, or an option is unknown.
        ValueError: The model has no such head, or a layer is named for a long input or a
            comparison, which show one head.
        traitlets.TraitError: The value of an option is out of range.

    Example:
        >>> from attnwidget import HeadView, load_model
        >>> view = HeadView(load_model().attend("The cat sat on the mat."), layer=2, head=1)
        >>> view.weights.shape
        (9, 9)

        Two texts, or two models, side by side:

        >>> attend = load_model().attend
        >>> view = HeadView(attend("The cat sits."), versus=attend("The cats sit."))
        >>> view.difference.shape, str(view.head)
        ((8, 8), 'L5 H11')
    """

    kind = "head_view"
    page_label = "one head"
    page_title = "Attention heads"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "selected": "the head of `layer` and `head`, otherwise the first head",
        "layer": "the layer of the selected head",
        "mode": '"places" where the keys have places, otherwise "lines" up to 60 tokens and '
        '"matrix" above',
        "arrangement": '"beside" for two to twelve heads in `selected`, and for the heads of a '
        'layer, otherwise "one"',
        "shown_heads": '"layer" if the layer has a name and no head is chosen, as in '
        'HeadView(attention, "L1"); otherwise "selected"',
        "highlight": "no words",
    }

    mode = Choice(
        ["lines", "matrix", "places"],
        "lines",
        help='"lines" between two columns of tokens, a "matrix" as a heat map, or "places": one '
        "row painted on the picture or the sound that the tokens come from.",
    ).tag(sync=True, option=True)
    window = WindowTrait(
        help="Visible part of a matrix, with the ends excluded; hidden tokens count. None = the "
        "whole matrix. Zooming on the page sets it, and saved pictures show this part."
    ).tag(sync=True, option=True)
    sentences = Choice(
        ["all", "aa", "ab", "ba", "bb"],
        "all",
        help='Sentences of a pair whose attention is drawn; "ab" = from sentence A to sentence B.',
    ).tag(sync=True, option=True)
    arrangement = Choice(
        ARRANGEMENTS,
        "one",
        help='Arrangement of heads: "one" head, up to twelve heads "beside" each other on a common '
        'scale, or an "overlay" with one color per head; all heads must belong to one stack.',
    ).tag(sync=True, option=True)
    shown_heads = Choice(
        ["selected", "layer"],
        "selected",
        help='Heads that are drawn together: the "selected" heads, or all heads of the "layer".',
    ).tag(sync=True, option=True)
    comparison_part = Choice(
        ["all", *COMPARISON_PARTS],
        "all",
        help='Maps that a comparison shows: "all" = both maps and the difference side by side, or '
        'only the "difference" (first minus second), the "first" or the "second".',
    ).tag(sync=True, option=True)
    highlight: ListOption[str] = ListOption(
        traitlets.Unicode(),
        help="Words whose attention, to and from, is drawn in a second color.",
    ).tag(option=True, takes="a word, or a list of words of the input")

    # Pictures and sounds of the latest message, and the message. Switching heads off changes
    # neither, so the message is cached.
    _encoded: tuple[Media, dict[str, Any]] | None = None
    # Attention, quantity and unit of the latest message with several maps, and the message. A
    # selection of fewer heads needs no new maps.
    _sent_together: tuple[tuple[Attention, str, str], dict[str, Any]] | None = None

    def __init__(
        self,
        attention: Attention,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        stack: str | None = None,
        *,
        highlight: Sequence[str] | str = (),
        **traits: Unpack[HeadViewOptions],
    ) -> None:
        versus = traits.get("versus")
        is_chosen = layer is not None or head is not None or "selected" in traits
        if isinstance(attention, Attention) and isinstance(versus, Attention) and not is_chosen:
            layer, head, stack = most_changed(attention, versus, stack) or (None, None, stack)
        if names_layer(layer) and head is None and "selected" not in traits:
            _refuse_one_head(attention, layer, traits)
            traits.setdefault("shown_heads", "layer")
            layer = layer_of_name(layer)
        if isinstance(attention, Attention) and "selected" not in traits:
            traits["selected"] = [chosen_head(attention, layer, head, stack)]
        elif "selected" in traits and (layer, head, stack) != (None, None, None):
            raise TypeError(
                "choose the head by `layer`, `head` and `stack`, or by `selected`, not both"
            )
        if _is_for_several(attention, traits):
            traits["arrangement"] = "beside"
        words: Any = [highlight] if isinstance(highlight, str) else highlight
        if isinstance(words, Iterable):
            words = list(words)
        self._mode_is_chosen = traits.get("mode") is not None
        if not self._mode_is_chosen:
            heads: Any = traits.get("selected")
            heads = [heads] if is_one_head(heads) else heads
            # The trait itself rejects values that are not lists.
            is_list = isinstance(heads, (list, tuple, np.ndarray)) and len(heads) > 0
            traits["mode"] = _mode_for(attention, _stack_of(heads[-1]) if is_list else None)
        super().__init__(attention, highlight=words, **traits)
        self.observe(self._choose_mode, names="mode")
        if len(self.selected) > 1 and self.versus is not None:
            warn_caller(
                f"a comparison is shown for one head, here {self.selected[-1]} of "
                f"{len(self.selected)}: make a view for each head, and join_figures(views) for one "
                "file"
            )

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        if len(self.selected) != 1:
            options.pop("layer", None)
            return {**options, "selected": options.get("selected", [])}
        layer, head, *stack = options.pop("selected")[0]
        head_options = {"layer": layer, "head": head, "stack": stack[0] if stack else None}
        return {**head_options, **options}

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """Weights of the current head, float32 [query, key] in `unit`s; None without a head."""
        return self._shown("weights")

    @property
    def values(self) -> NDArray[np.float32] | None:
        """Map of the current head for the current `quantity`, in the form of `weights`."""
        return self._shown(self.quantity)

    def _shown(self, quantity: str) -> NDArray[np.float32] | None:
        if self.head is None:
            return None
        layer, head, stack = self.head
        return in_unit(self.attention, self.unit).map(quantity, layer, head, stack=stack)

    @property
    def difference(self) -> NDArray[np.float32] | None:
        """Map of the current head minus its map in `versus`, float32 [query, key].

        The axes have the tokens of both attentions. A cell is NaN if either attention lacks the
        token or masks it. None without a head or without a comparison.
        """
        two = self._two()
        if self.head is None or two is None:
            return None
        first, second = two.values(self.quantity, self.head, self.unit)
        difference: NDArray[np.float32] = first - second
        return difference

    def _takes(self, name: str) -> bool:
        # Tokens have other positions on common axes than in either text.
        two = self._two() if name == "tokens" else None
        return super()._takes(name) and (two is None or two.is_same(self.unit))

    def _locked_axes(self, side: str) -> list[Tokens]:
        two = self._two()
        if two is None or two.is_same(self.unit):
            return super()._locked_axes(side)
        common = two.first.stacks.keys() & two.second.stacks.keys()
        axes = [two.axes(name, self.unit) for name in common]
        return [(query if side == "query" else key).tokens for query, key in axes]

    def _locked_in_unit(self) -> list[tuple[str, int]]:
        two = self._two()
        # On common axes, one text's tokens do not determine the positions of words.
        return [] if two is not None and not two.is_same("tokens") else super()._locked_in_unit()

    @when_open("versus")
    def _on_other_axes(self, change: dict[str, Any]) -> None:
        """Clear token positions unless the old and the new axes both equal the attention's axes."""
        pairs = [
            TwoMaps(self.attention, other)
            for other in (change["old"], change["new"])
            if isinstance(other, Attention)
        ]
        if not all(two.is_same(self.unit) for two in pairs):
            self.tokens = []
            self.window = None

    @computed("selected", sync=False)
    def _shown_head(self) -> Head | None:
        return self.head

    @computed("attention", "_shown_head", sync=False)
    def _shown_stack(self) -> str:
        """Stack of the current head; without a head, the stack does not change."""
        return self._stepped_stack()

    @computed("attention", "versus", "_shown_stack", "unit", page_chooses=("selected", "unit"))
    def _axes(self) -> dict[str, Any]:
        name = self._shown_stack
        if two := self._two():
            return two.axes_to_wire(name, self.unit)
        return axes_to_wire(self.attention.stacks[name], self.unit, self.attention.n_prompt)

    @computed("attention", "_shown_stack")
    def _has_places(self) -> bool:
        """True if the current stack can be drawn in the mode "places"."""
        name = self._shown_stack
        return _has_places(self.attention, name)

    @computed(
        "attention",
        "versus",
        "_shown_stack",
        "unit",
        "mode",
        page_chooses=("selected", "unit", "mode"),
    )
    def _places(self) -> dict[str, Any] | None:
        """Positions of the tokens in pictures or sounds; None in another mode."""
        name = self._shown_stack
        if self.mode != "places":
            return None
        return self._places_of(name, self.unit)

    def _places_of(self, name: str, unit: str) -> dict[str, Any]:
        stack = self.attention.stacks[name]
        query, key = axes_in(stack, unit)
        two = self._two()
        common_axes = two.axes(name, unit) if two else (None, None)
        start = start_of(self.attention, name, unit)
        if start is not None and common_axes[0] is not None:
            start = common_axes[0].places[0][start]
        n_pictures = len(self.attention.images)
        wire: dict[str, Any] = {
            "stack": name,
            "unit": unit,
            "start": start,
            "writes": writes_over_sound(stack, unit),
        }
        for side, tokens, axis in zip(("query", "key"), (query, key), common_axes, strict=True):
            places = list(tokens.places)
            if places and axis is not None:
                # Tokens that only the second input has are not in the pictures of the first input.
                places = [None] * len(axis.tokens)
                for position, place in zip(axis.places[0], tokens.places, strict=True):
                    places[position] = place
            wire[side] = places_to_wire(places, n_pictures)
        return wire

    @computed("attention", "mode")
    def _media(self) -> dict[str, Any] | None:
        """Pictures and sounds of the input; None in another mode."""
        if self.mode != "places":
            return None
        media = self.attention.media
        if self._encoded is None or self._encoded[0] is not media:
            self._encoded = media, media_to_wire(media)
        return self._encoded[1]

    @computed("attention", "versus", "_shown_head", "quantity", "unit", "mode")
    def _staircase(self) -> dict[str, Any] | None:
        """Time at which a speech decoder attends for each word; None for other maps."""
        head = self._shown_head
        is_plain = self.quantity == "weights" and self.mode == "places" and not self._two()
        if head is None or not is_plain:
            return None
        return staircase_to_wire(self.attention, head, self.unit)

    @computed(
        "attention",
        "versus",
        "_shown_stack",
        "unit",
        "highlight",
        page_chooses=("selected", "unit"),
    )
    def _highlighted(self) -> dict[str, list[int]]:
        """Positions of the highlighted words on both axes."""
        name = self._shown_stack
        if two := self._two():
            return two.highlighted(name, self.unit, self.highlight)
        return highlighted(self.attention.stacks[name], self.unit, self.highlight)

    @computed("attention", "versus", "_by_parts", "_shown_head", "quantity", "unit", sync=False)
    def _own_map(self) -> dict[str, Any] | None:
        """Whole map of the current head; None for partial maps, comparisons, or without a head."""
        head = self._shown_head
        if head is None or self._by_parts is not None or self._two():
            return None
        return tile_to_wire(self.attention, head, self.quantity, self.unit)

    @computed(
        "attention",
        "versus",
        "_by_parts",
        "selected",
        "arrangement",
        "shown_heads",
        "quantity",
        "unit",
        sync=False,
    )
    def _together(self) -> dict[str, Any] | None:
        """Whole maps that are drawn together, of several heads or two inputs; otherwise None."""
        head = self.head
        if head is None or self._by_parts is not None:
            self._sent_together = None
            return None
        if two := self._two():
            return two.to_wire(self.quantity, head, self.unit)
        if self.arrangement == "one":
            self._sent_together = None
            return None
        stack = self.attention.stacks[head.stack]
        heads = drawn_heads(
            self.selected,
            self.arrangement,
            self.shown_heads,
            stack.n_heads,
            len(stack.query) * len(stack.key),
        )
        cache_key = (self.attention, self.quantity, self.unit)
        cached = self._sent_together
        if cached is None or cached[0] != cache_key or not {*heads} <= {*cached[1]["heads"]}:
            cached = cache_key, maps_to_wire(self.attention, heads, self.quantity, self.unit)
            self._sent_together = cached
        return cached[1]

    @computed("attention", "versus")
    def _steps(self) -> dict[str, Any] | None:
        """Generation steps of the text; None without generated tokens."""
        two = self._two()
        if two is not None and not two.is_same("tokens"):
            return None
        return generation_steps(self.attention, *self._edit)

    def page_part(self) -> Part:
        """Return the saved page's data: maps of all heads or the current head, and highlights."""
        attention = self.attention
        quantity = self.quantity
        two = self._two()
        words = [
            {
                "stack": name,
                "unit": unit,
                **(
                    two.highlighted(name, unit, self.highlight)
                    if two
                    else highlighted(stack, unit, self.highlight)
                ),
            }
            for name, stack in attention.stacks.items()
            for unit in UNITS
        ]
        places = [
            as_json_value(self._places_of(name, unit))
            for name in attention.stacks
            for unit in UNITS
            if self.mode == "places" and _has_places(attention, name)
        ]
        holdings: dict[str, Holding]
        smaller: dict[str, Holding] | None = None
        if two:
            holdings = {"two": two.on_page(quantity)}
        else:
            holdings = {"maps": all_maps(attention, quantity)}
        if self.head and two:
            smaller = {"two": two.on_page(quantity, self.head)}
        elif self.head:
            smaller = {"maps": maps_of(attention, quantity, self.head)}
        part = super().page_part()
        return replace(
            part,
            own={"highlighted": words, "places": places},
            holdings=holdings,
            smaller=smaller,
        )

    def page_content(self) -> Page:
        """Return the content of a saved page, with a note if it contains pictures or sounds."""
        page = super().page_content()
        if self.mode != "places":
            return page
        return replace(page, notes=(*page.notes, contents_note(self.attention.media)))

    def _choose_mode(self, change: object) -> None:
        self._mode_is_chosen = True

    @traitlets.validate("mode")
    def _check_mode(self, proposal: dict[str, Any]) -> str:
        mode: str = proposal["value"]
        name = self._stepped_stack()
        if mode == "places" and not _has_places(self.attention, name):
            raise traitlets.TraitError(
                f"'mode' cannot be 'places': the keys of the stack {name!r} have no places in a "
                "picture or a sound. Read a picture or a sound, or give places with "
                "Attention.from_weights(weights, tokens, places=…, images=…)"
            )
        return mode

    @when_open("selected", "attention")
    def _fit_mode(self, change: object) -> None:
        """Choose a mode that fits the stack: "places" needs keys with positions."""
        name = self._stepped_stack()
        if name not in self.attention.stacks:
            return
        has_places = _has_places(self.attention, name)
        if has_places != (self.mode == "places") and not (has_places and self._mode_is_chosen):
            mode_is_chosen = self._mode_is_chosen
            self.mode = _mode_for(self.attention, name)
            self._mode_is_chosen = mode_is_chosen

    @when_open("unit")
    def _show_all(self, change: object) -> None:
        """Clear the window, because token positions and word positions differ."""
        self.window = None

    @traitlets.validate("window")
    def _check_window(self, proposal: dict[str, Any]) -> tuple[int, int, int, int] | None:
        window: tuple[int, int, int, int] | None = proposal["value"]
        if window is None:
            return None
        sizes = [self._sizes(stack) for stack in self.attention.stacks.values()]
        n_query, n_key = (max(counts) for counts in zip(*sizes, strict=True))
        if window[1] > n_query or window[3] > n_key:
            raise traitlets.TraitError(
                f"'window' ends at {n_query} queries and {n_key} keys here, got {window}: they are "
                "(query from, query to, key from, key to)"
            )
        return window

    @when_open("attention")
    def _show_another_input(self, change: dict[str, Any]) -> None:
        """Clear the window for another input, and drop highlighted words that it lacks."""
        if change["old"].intact is not self.attention.intact:
            self.window = None
            if not self._mode_is_chosen:
                self.mode = _mode_for(self.attention, self._stepped_stack())
                self._mode_is_chosen = False
            words_of_input = self._words()
            self.highlight = [word for word in self.highlight if word.casefold() in words_of_input]

    def _sizes(self, stack: Stack) -> tuple[int, int]:
        """Return the numbers of queries and keys in a stack's maps."""
        query, key = self._axes_of(stack.name)
        return len(query), len(key)

    def _words(self) -> set[str]:
        return {
            word.casefold()
            for stack in self.attention.stacks.values()
            for word in (*stack.query.to_words().text, *stack.key.to_words().text)
        }

    @traitlets.validate("highlight")
    def _check_highlight(self, proposal: dict[str, Any]) -> list[str]:
        words = self._words()
        if missing := [word for word in proposal["value"] if word.casefold() not in words]:
            raise traitlets.TraitError(
                "'highlight' names words of the input; not among them: "
                + ", ".join(map(repr, missing))
            )
        return list(proposal["value"])


def _is_for_several(attention: object, traits: Mapping[str, object]) -> bool:
    """Return whether several heads were chosen that fit side by side, and no arrangement."""
    if "arrangement" in traits or _shows_one_head(attention, traits):
        return False
    if traits.get("shown_heads") == "layer":
        return True
    heads: Any = traits.get("selected")
    is_list = isinstance(heads, (list, tuple, np.ndarray)) and not is_one_head(heads)
    if not is_list or not 2 <= len(heads) <= MOST_HEADS["beside"]:
        return False
    return len({_stack_of(head) for head in heads}) == 1


def _shows_one_head(attention: object, traits: Mapping[str, object]) -> bool:
    """Return whether the figure is of a long input or a comparison, which show one head."""
    is_long = isinstance(attention, Attention) and attention.is_long
    return is_long or traits.get("versus") is not None


def _refuse_one_head(attention: object, layer: object, traits: Mapping[str, object]) -> None:
    """Raise ValueError for a layer in place of a head if the figure shows one head."""
    if _shows_one_head(attention, traits):
        raise ValueError(
            f"{layer!r} is a layer, and a long input or a comparison is shown for one head: name "
            f"it, such as '{str(layer).strip()} H0'"
        )


def _stack_of(head: Any) -> str | None:
    """Return the stack in a head name; None if the name has no stack."""
    try:
        parts = head_parts(head, None)
    except ValueError:
        # The trait rejects the name with a better message.
        return None
    return parts[2] if len(parts) > 2 else None


def _has_places(attention: Attention, stack: str) -> bool:
    return has_places(attention.stacks[stack].key)


def _mode_for(attention: object, stack: str | None) -> Mode:
    """How a view opens: on the picture or the sound if keys have places; few tokens as lines."""
    if not isinstance(attention, Attention):
        return "lines"
    name = stack if stack in attention.stacks else next(iter(attention.stacks))
    if _has_places(attention, name):
        return "places"
    longest = max(len(axis) for s in attention.stacks.values() for axis in (s.query, s.key))
    return "lines" if longest <= MOST_AS_LINES else "matrix"
