"""Base class of attention figures, with the traits that linked figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Literal

import traitlets

from attnwidget.capture.maps.attention import NO_MODEL, NOT_READ_AGAIN, Attention
from attnwidget.capture.maps.head_maps import QUANTITIES
from attnwidget.capture.maps.layer_steps import watched_layers
from attnwidget.capture.maps.resting_places import KINDS, RestingPlaces, resting_places
from attnwidget.capture.tapping.edit_methods import RULED, STANDING_ALONE, EditMethod
from attnwidget.capture.tapping.head import (
    Head,
    HeadName,
    head_parts,
    layer_of_name,
    names_head,
    names_layer,
)
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.inputs.advised_error import on_page
from attnwidget.text.counted import counted
from attnwidget.text.thread_lock import ThreadLock
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.shared.background import Background, Job
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import FigureOptions, HeadWidget, StackShapes
from attnwidget.widgets.shared.page_changes import changed_by_page
from attnwidget.widgets.shared.traits import (
    TAKES_HEADS,
    Choice,
    Heads,
    HeadsTrait,
    MarkedTokens,
    Subset,
    TokenMarks,
)
from attnwidget.widgets.wire.values import axes_in, loss_to_wire, stacks_to_wire

#: Disabled heads and their replacement method; None = the default of the model.
Edit = tuple[list[Head], EditMethod | None]
#: Minimum number of cells in all maps of an input for which changes from the page are answered in
#: the background.
LARGE = 2**24

HiddenKind = Literal["cls", "sep", "first"]


class AttentionOptions(FigureOptions, total=False):
    """Options of every figure of an `Attention`."""

    tokens: MarkedTokens
    hidden: HiddenKind | Sequence[HiddenKind]
    quantity: Literal["weights", "norms", "gradients"]
    unit: Literal["tokens", "words"]
    scale: Literal["absolute", "linear", "sqrt", "log"]
    disabled: Heads
    method: Literal["uniform", "zero", "first", "rule"] | None


class _ReplacedError(Exception):
    """Raised when the user has chosen other heads or closed the figure."""


def chosen_head(
    attention: Attention,
    layer: int | HeadName | None,
    head: int | HeadName | None,
    stack: str | None,
) -> tuple[Any, ...]:
    """Return the layer, head and stack on which a figure opens.

    Args:
        attention: Attention of the figure.
        layer: Layer index or head name; None = the first layer.
        head: Head index or head name; None = the first head.
        stack: Stack name; None = the first stack.

    Raises:
        ValueError: If there is no such head, or if a layer is named without a head.
        TypeError: If the layer or the head is not an integer.
    """
    if names_layer(layer) and head is None:
        raise ValueError(
            f"{layer!r} is a layer, and this figure shows one head: name it, such as "
            f"'{str(layer).strip()} H0'"
        )
    layer = layer_of_name(layer)
    if not (names_head(layer) or names_head(head)):
        name = stack or next(iter(attention.stacks))
        chosen = (layer or 0, head or 0, name)
        is_first = layer is None and head is None and name in attention.stacks
        return chosen if is_first else attention.head(chosen)
    parts = head_parts(layer, head, stack)
    return attention.head(parts if len(parts) == 3 else (*parts, next(iter(attention.stacks))))


class AttentionWidget(HeadWidget):
    """Base class of figures that show an `Attention`."""

    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "layer": "the layer of the selected head, otherwise the first layer with attention",
        "hidden": "the kinds that receive more than 10 % of the attention, and more than 3 times "
        "the even share",
    }
    attention = traitlets.Instance(Attention, help="The shown attention.")
    tokens = TokenMarks(
        help='Locked tokens. A query attends, a key is attended to. A word such as "he" locks the '
        'query of this word, and ("he", 2) the second "he"; ("key", "ship") locks a key. The list '
        "then has (side, index), where the index counts tokens or words (`unit`) from 0. Locking a "
        "hidden kind of token shows this kind."
    ).tag(
        sync=True,
        option=True,
        shared=True,
        set_last=True,
        takes='a word, or a list such as ["he"], [("he", 2)], [("key", "ship")] or [("query", 7)]',
    )
    hidden = Subset(
        KINDS,
        help="Kinds of tokens that are left out of the figure.",
    ).tag(sync=True, option=True, shared=True)
    quantity = Choice(
        QUANTITIES,
        "weights",
        help='Quantity of the maps: "weights", "norms" ||a f(x)|| (the size of the moved vector), '
        'or "gradients" |dL/da| (the effect of a weight on a loss). Only weights sum to 1.',
    ).tag(sync=True, option=True, shared=True)
    unit = Choice(
        ["tokens", "words"],
        "tokens",
        help='Unit of the axes: "tokens" or "words". Word maps sum over the tokens of the attended '
        "word and average over the tokens of the attending word.",
    ).tag(sync=True, option=True, shared=True)
    scale = Choice(
        ["absolute", "linear", "sqrt", "log"],
        "absolute",
        help='Scale of colors and lines. "absolute" is from 0 to 1 for weights in every figure, '
        'and a common scale of all visible heads for other quantities. "linear", "sqrt" and "log" '
        "(three decades) end at the largest visible value, or in a grid at the largest value of "
        "each head, and titles show this value.",
    ).tag(sync=True, option=True, shared=True)

    disabled = HeadsTrait(
        help="Disabled heads, in the forms of `selected`: the model reads the input again without "
        "these heads, which also changes later layers."
    ).tag(sync=True, option=True, shared=True, edits=True, takes=TAKES_HEADS)
    method: Choice = Choice(
        (*STANDING_ALONE, RULED),
        None,
        allow_none=True,
        help='Replacement method of disabled heads: "uniform" (all weights 1/L), "zero" (no '
        'output), "first" (all weight on the first token) or "rule" (the rule of the name that the '
        "atlas gives to the head, see `with_rules`). None = the default of the model: "
        '"zero" in causal models and encoder-decoders, "uniform" in other models.',
    ).tag(sync=True, option=True, shared=True, edits=True)

    # Reason why the latest request failed, or "". The figure keeps its previous state.
    _refused = traitlets.Unicode().tag(sync=True, from_page=True)

    # Disabled heads and method of the current attention. While a large input is read again,
    # `disabled` and `method` already have the page's new choice.
    _edit: traitlets.TraitType[Any, Any] = traitlets.Any(([], None))
    # Description of the kernel's work on the chosen heads while it runs, or "".
    _working = traitlets.Unicode().tag(sync=True)
    # Tokens of the current attention that are hidden by default.
    _resting = RestingPlaces()
    # Unit in which the tokens were locked.
    _locked_unit = "tokens"

    def __init__(self, attention: Attention, **traits: Any) -> None:
        if not isinstance(attention, Attention):
            raise TypeError(
                f"{type(self).__name__} shows an Attention, got {type(attention).__name__}. "
                "Make one with load_model().attend('a sentence'), or from maps you have with "
                "Attention.from_weights(weights, tokens). HeadGrid(attention, metrics=result) "
                "shows the numbers of a result."
            )
        self._editing = Background(("edit",), self._edit_failed, is_asked=True)
        # Linked figures prepare the same drawings, so one thread prepares at a time.
        self._preparing = ThreadLock()
        self._resting = resting_places(attention)
        first = next(iter(attention.stacks.values())).layers.numbers[0]
        selected = traits.get("selected")
        if first and (selected is None or len(selected) == 0):
            traits.setdefault("layer", first)
        is_hidden_by_default = "hidden" not in traits
        traits.setdefault("hidden", list(self._resting.kinds))
        # Set these traits first, because they choose the axes on which words in `tokens` are found.
        first_set = {name: traits.pop(name) for name in ("versus", "unit") if name in traits}
        super().__init__(attention=attention, **first_set, **traits)
        if is_hidden_by_default:
            self._show_locked()

    def shapes(self) -> StackShapes:
        return attention_shapes(self.attention)

    def _layers(self, stack: str) -> LayerNumbers:
        return self.attention.stacks[stack].layers

    def _given(self) -> dict[str, Any]:
        intact = self.attention.intact if self.disabled else self.attention
        return {"attention": intact.made_by or intact}

    def _takes(self, name: str) -> bool:
        can_switch = self.attention.intact.reading is not None
        return super()._takes(name) and (can_switch or not self.trait_metadata(name, "edits"))

    def _locked_axes(self, side: str) -> list[Tokens]:
        """Return the axes of a side to which locked tokens refer, one axis per stack."""
        axis_number = 0 if side == "query" else 1
        return [axes_in(stack, self.unit)[axis_number] for stack in self.attention.stacks.values()]

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal: dict[str, Any]) -> list[tuple[str, int]]:
        marks: list[tuple[str, int]] = proposal["value"]
        for side, index in marks:
            count = max(map(len, self._locked_axes(side)))
            if index >= count:
                raise traitlets.TraitError(
                    f"'tokens': {side} {index} is not among 0 to {count - 1} of the {self.unit}"
                )
        self._locked_unit = self.unit
        return marks

    def _fitting(self, name: str, value: Any) -> Any:
        if name != "tokens":
            return super()._fitting(name, value)
        counts = {side: max(map(len, self._locked_axes(side))) for side, _ in value}
        return [(side, index) for side, index in value if index < counts[side]]

    @when_open("unit")
    def _lock_in_another_unit(self, change: object) -> None:
        if self._locked_unit != self.unit:
            self.tokens = self._locked_in_unit()

    def _locked_in_unit(self) -> list[tuple[str, int]]:
        """Return the locked tokens or words in the new unit."""
        stack = self.attention.stacks[self._stepped_stack()]
        marks: list[tuple[str, int]] = []
        for side, index in self.tokens:
            groups = (stack.query if side == "query" else stack.key).word_groups()
            if self.unit == "words":
                marks += [(side, word) for word, group in enumerate(groups) if index in group]
            elif index < len(groups):
                marks += [(side, token) for token in groups[index]]
        return list(dict.fromkeys(marks))

    @when_open("tokens")
    def _show_what_is_locked(self, change: object) -> None:
        self._show_locked()

    def _show_locked(self) -> None:
        """Show the kinds of locked tokens, because hidden tokens are not drawn."""
        for side, index in self.tokens:
            kinds = {axis.special[index] for axis in self._locked_axes(side) if index < len(axis)}
            if kinds <= {*self.hidden}:
                self.hidden = [kind for kind in self.hidden if kind not in kinds]

    @traitlets.validate("disabled")
    def _check_disabled(self, proposal: dict[str, Any]) -> list[Head]:
        heads: list[Head] = proposal["value"]
        if heads and self.attention.intact.reading is None:
            raise traitlets.TraitError(f"'disabled': {NOT_READ_AGAIN}")
        return heads

    @traitlets.validate("attention")
    def _check_attention(self, proposal: dict[str, Any]) -> Attention:
        # Read the options only once, because another thread may change them during the pass.
        edit = self.disabled, self.method
        edited = self._edited(proposal["value"], *edit)
        self._edit = edit
        return edited

    def _edited(
        self, attention: Attention, heads: list[Head], method: EditMethod | None
    ) -> Attention:
        """Return an attention in which the disabled heads are switched off."""
        if heads and method == RULED:
            self._add_rules(attention)
        return attention.disabled(heads, method) if heads else attention

    def _add_rules(self, attention: Attention) -> None:
        """Add the rules of the names of heads to an input, for the method "rule"."""
        # Import here, because a figure without an atlas needs no behaviors.
        from attnwidget.behaviors.effects.rules_in_text import add_named_rules
        from attnwidget.behaviors.head_atlas.kept_atlas import known_atlas

        reading = attention.intact.reading
        if reading is None or reading.rules.by_head is not None:
            return
        model: Any = reading.model
        atlas = known_atlas(model)
        add_named_rules(attention, {} if atlas is None else atlas.names_by_head)

    def _are_ruled(self) -> bool:
        """Return whether every disabled head has a rule in this text."""
        reading = self.attention.intact.reading
        if not self.disabled or reading is None:
            return False
        self._add_rules(self.attention)
        return set(self.disabled) <= set(reading.rules.by_head or {})

    @when_open("disabled", "method")
    def _read_without(self, change: dict[str, Any]) -> None:
        """Read the input again, in the background if the page changes a large input."""
        edit = self.disabled, self.method
        if edit == self._edit:
            self._working = ""
            return
        if changed_by_page() and _is_large(self.attention):
            # Make the text before the job holds the model, because it needs the default method.
            self._working = self._edit_told()
            self._editing.add("edit", self._edit_job(self.attention, edit))
            self._editing.start()
            return
        with self._lock:
            try:
                with self._said_when_slow():
                    edited = self._edited(self.attention.intact, *edit)
            except BaseException as error:
                setattr(self, change["name"], change["old"])
                if isinstance(error, Exception):
                    self._refused = on_page(error)
                raise
            self._show_edit(edited, edit)

    def _said_when_slow(self) -> AbstractContextManager[None]:
        """Return a context that reports a slow change in the output of the running cell."""
        if changed_by_page():
            return nullcontext()
        # Import here, because a figure of given maps needs no progress bars.
        from attnwidget.corpus.progress_bar import said_when_slow

        return said_when_slow(self._edit_told())

    def _edit_told(self) -> str:
        """Return a description of the work that the new choice of heads needs."""
        if not self.disabled:
            return "Switching all heads on"
        count = counted(len(self.disabled), "head")
        return f"Reading the text again with {count} off ({self._method_used()})"

    def _edit_job(self, attention: Attention, edit: Edit) -> Job:
        """Read the input with disabled heads and prepare the figure, until the choice changes."""
        description = self._edit_told()
        undo_hint = "" if edit[0] == self._edit[0] else ", undo to cancel"
        n_done = 0

        def step() -> None:
            nonlocal n_done
            if not self._is_asked(attention, edit):
                raise _ReplacedError
            n_done += 1
            self._working = f"{description}: {counted(n_done, 'step')} done{undo_hint}"

        try:
            with watched_layers(step):
                edited = self._edited(attention.intact, *edit)
                self._prepare(edited, edit)
        except _ReplacedError:
            return

        def show() -> None:
            with self._lock:
                if self._is_asked(attention, edit):
                    self._show_edit(edited, edit)

        yield show

    def _is_asked(self, attention: Attention, edit: Edit) -> bool:
        """Return True if the figure still wants the result of a job."""
        is_same = self.attention is attention and edit == (self.disabled, self.method)
        return is_same and not self._editing.closed

    def _show_edit(self, edited: Attention, edit: Edit) -> None:
        with self._lock, self.together():
            self._refused = ""
            self._working = ""
            self._edit = edit
            self.attention = edited

    def _prepare(self, attention: Attention, edit: Edit) -> None:
        """Compute the slow parts of a drawing before the figure shows the attention."""

    def _edit_failed(self, job: str, error: Exception) -> None:
        with self._lock, self.together():
            self._working = ""
            self.disabled, self.method = self._edit
            self._refused = on_page(error)

    def close(self) -> None:
        """Stop background work and close the figure."""
        if hasattr(self, "_editing"):
            self._editing.close()
        super().close()

    @when_open("attention")
    def _show_another(self, change: dict[str, Any]) -> None:
        if change["old"].intact is not self.attention.intact:
            self.tokens = []
            self._hide_resting(resting_places(self.attention))
        if _heads_of(change["old"]) != _heads_of(self.attention):
            self._leave_missing_heads()
        previous_stack = self._stepped_stack()
        # The new attention may have other stacks.
        stack = (
            previous_stack if previous_stack in self.attention.stacks else next(iter(self.shapes()))
        )
        self.layer = self._layers(stack).nearest(self.layer)

    def _hide_resting(self, resting: RestingPlaces) -> None:
        """Hide the default tokens of another attention, unless the user has hidden others."""
        previous = self._resting
        self._resting = resting
        if set(self.hidden) == set(previous.kinds):
            self.hidden = list(resting.kinds)

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        options.pop("hidden", None)
        is_default = set(self.hidden) == set(self._resting.kinds)
        return options if is_default else {**options, "hidden": self.hidden}

    def _attention_panels(self) -> list[AttentionWidget]:
        """Return the figures that receive their attention from this figure."""
        return []

    def _show_input(self, attention: Attention, text: str, pair: str | None) -> None:
        """Show the attention of another input.

        Args:
            attention: Attention of the input.
            text: Text of the input; "" if unknown.
            pair: Second text of a pair, or None.
        """
        self.attention = attention

    def _method_used(self) -> EditMethod:
        """Return the replacement method of disabled heads: the choice or the model's default.

        Raises:
            ValueError: If there is no model, so that heads cannot be disabled.
        """
        reading = self.attention.intact.reading
        if reading is None:
            raise ValueError(NOT_READ_AGAIN)
        method: EditMethod | None = self.method
        return method or reading.model.default_method

    @property
    def edits(self) -> str:
        """Description of the figure's edits; "" without edits.

        Edits that the attention already had when the user passed it do not count.
        """
        return "" if self.attention is self.attention.intact else self.attention.edits

    @computed("attention")
    def _stacks(self) -> list[dict[str, Any]]:
        return stacks_to_wire(self.attention)

    @computed("attention")
    def _quantities(self) -> list[str]:
        return list(self.attention.quantities)

    @computed("attention", "disabled", "method")
    def _source(self) -> dict[str, Any]:
        return self._about()

    def _about(self) -> dict[str, Any]:
        """Return the caption data of the attention."""
        return {
            "model": self.attention.model_name,
            "note": self.attention.note,
            "loss": loss_to_wire(self.attention),
            "edits": self.edits,
            "method": self._method_used() if self.disabled else None,
            "ruled": self._are_ruled(),
            "fixed": "" if self.attention.intact.reading else NO_MODEL,
            "resting": self._resting_to_wire(),
        }

    def _resting_to_wire(self) -> dict[str, Any] | None:
        resting = resting_places(self.attention)
        return {"kinds": list(resting.kinds), "share": resting.share} if resting.kinds else None

    def _tokens_read(self) -> str:
        """Return the number of tokens for `repr`, with a note if the input was truncated."""
        n_tokens = counted(len(self.attention.tokens), "token")
        return ", ".join(filter(None, [n_tokens, self.attention.cut]))

    def __repr__(self) -> str:
        stacks = ", ".join(
            f"{stack.name} {stack.n_layers}×{stack.n_heads}"
            for stack in self.attention.stacks.values()
        )
        head_names = [
            self.attention.stacks[head.stack].head_name(head.layer, head.head)
            for head in self.selected
        ]
        selected = ", ".join(head_names) or "none"
        return (
            f"{type(self).__name__}({self.attention.model_name}, {stacks}, "
            f"{self._tokens_read()}, selected: {selected})"
        )


def _is_large(attention: Attention) -> bool:
    """Return True if the maps of an attention have at least `LARGE` cells in total."""
    return (
        sum(
            stack.n_layers * stack.n_heads * len(stack.query) * len(stack.key)
            for stack in attention.stacks.values()
        )
        >= LARGE
    )


def _heads_of(attention: Attention) -> list[tuple[str, LayerNumbers, int]]:
    """Return a description of an attention's heads, to compare two attentions."""
    return [(stack.name, stack.layers, stack.n_heads) for stack in attention.stacks.values()]


def attention_shapes(attention: Attention) -> StackShapes:
    """Return the numbers of layers and heads per layer for each stack."""
    return {stack.name: (stack.n_layers, stack.n_heads) for stack in attention.stacks.values()}
