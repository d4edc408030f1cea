"""What captions of maps say alike: the quantity, the axes, the tokens left out."""

from __future__ import annotations

from collections.abc import Sequence

from attnwidget.capture.head import Head
from attnwidget.capture.stack import Stack
from attnwidget.figures.one_head import MapAxis
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.base import AttentionWidget
from attnwidget.widgets.wire import loss_to_wire

MERGED = "words: sum over the attended word's tokens, mean over the attending word's"
NOTHING_SELECTED = (
    "Select a head: click one in a HeadGrid linked to this view, or set "
    "view.selected = [(layer, head)]."
)
NO_HEAD = "no head selected"
ALL_HIDDEN = "Every token is hidden: show some again."
_QUANTITIES = {
    "weights": "attention weights",
    "norms": "norms: weight × length of the transformed value, ‖a·f(x)‖; rows do not sum to 1",
    "gradients": "gradients: change of the loss with the weight, |∂L/∂a|; rows do not sum to 1",
}
_MOST_NAMED = 6


def quantity_name(widget: AttentionWidget) -> str:
    """What the numbers are, and what gradients are of."""
    name = _QUANTITIES[widget.quantity]
    loss = loss_to_wire(widget.attention) if widget.quantity == "gradients" else ""
    return f"{name} · L: {loss}" if loss else name


def axes_of(stack: Stack, unit: str) -> tuple[Tokens, Tokens]:
    """Queries and keys of a stack, in tokens or in words."""
    if unit == "words":
        return stack.query.to_words(), stack.key.to_words()
    return stack.query, stack.key


def map_axis(tokens: Tokens) -> MapAxis:
    """An axis as figures print it: a token of blanks by what the vocabulary calls it."""
    labels = (
        text if text.strip() else raw or "␣"
        for text, raw in zip(tokens.text, tokens.raw, strict=True)
    )
    return MapAxis(tuple(labels), tokens.special, tokens.segments)


def texts_of(kind: str, axes: Sequence[Tokens]) -> list[str]:
    """How the special tokens of a kind are spelt on either axis."""
    return list(
        dict.fromkeys(
            text
            for axis in axes
            for text, special in zip(axis.text, axis.special, strict=True)
            if special == kind
        )
    )


def one_head(head: Head | None) -> str:
    """`L7 H9 (8-10)`, or that there is none."""
    return f"{head} ({head.paper_name})" if head else NO_HEAD


def head_names(heads: Sequence[Head]) -> str:
    """`L7 H9 (8-10)` of each head; of many the first ones and their number."""
    names = [one_head(head) for head in heads]
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
