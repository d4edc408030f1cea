"""CompareView: one head in two attentions, and the difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.comparable_maps import refuse_incomparable
from attnwidget.capture.tapping.head import Head
from attnwidget.widgets.head_view.widget import HeadView


class CompareView(HeadView):
    """The map of one head in two attentions, and the difference, side by side.

    The attentions come from one model and two texts, or from two models or checkpoints with equal
    numbers of layers and heads. Their tokens share one axis: common tokens (a longest common
    subsequence) appear once, and tokens of a single attention are hatched in the other map; nothing
    is resampled. Pointing at a cell or locking a token acts on all three maps. The difference is
    the first minus the second, on one diverging scale round grey.

    Without a chosen head the figure opens on the head that changed most, by the Jensen-Shannon
    divergence of `Attention.changes`. Long inputs, which have no whole maps, open on the first
    head.

    It is a `HeadView` with `versus`, and has its options. Raises TypeError for anything but two
    attentions, traitlets.TraitError for two of other shapes or without a token in common.

    Example:
        >>> from attnwidget import CompareView, load_model
        >>> model = load_model()
        >>> texts = "The cat sits on the mat.", "The cats sit on the mat."
        >>> view = CompareView(*map(model.attend, texts), layer=2, head=1)
        >>> view.difference.shape
        (11, 11)
        >>> str(CompareView(*map(model.attend, texts)).head)
        'L5 H11'
    """

    def __init__(
        self,
        attention: Attention,
        versus: Attention,
        layer: int | None = None,
        head: int | None = None,
        stack: str | None = None,
        **traits: Any,
    ) -> None:
        if not isinstance(versus, Attention):
            raise TypeError(
                f"CompareView shows two Attentions, got {type(versus).__name__} as the second: "
                "pass what model.attend(text) gives"
            )
        chosen = layer is not None or head is not None or "selected" in traits
        if not chosen and isinstance(attention, Attention):
            layer, head, stack = most_changed(attention, versus, stack) or (None, None, stack)
        super().__init__(attention, layer, head, stack, versus=versus, **traits)


def most_changed(attention: Attention, other: Attention, stack: str | None = None) -> Head | None:
    """Return the head whose maps differ most between two attentions.

    Args:
        attention: The first attention.
        other: The second attention.
        stack: The stack of the head; None = any stack.

    Returns:
        The head, or None for attentions that cannot be compared, for long inputs, and for
        attentions without a difference.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.head_view.compare_view import most_changed
        >>> attention = load_model().attend("The cat sat.")
        >>> print(most_changed(attention, attention))
        None
    """
    try:
        refuse_incomparable(attention.stacks, other.stacks)
    except ValueError:
        return None  # `HeadView` says why.
    if attention.is_long or other.is_long:
        return None
    best: Head | None = None
    most = 0.0
    for name in attention.stacks if stack is None else [stack]:
        changes = np.nan_to_num(attention.changes(other, name))
        layer, head = divmod(int(changes.argmax()), changes.shape[1])
        if changes[layer, head] > most:
            most = float(changes[layer, head])
            best = Head(layer, head, name)
    return best
