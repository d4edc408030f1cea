"""CompareView: one head in two attentions, and what is different."""

from __future__ import annotations

from typing import Any

from attnwidget.capture.attention import Attention
from attnwidget.widgets.head_view.widget import HeadView


class CompareView(HeadView):
    """One head's map in one attention, in another, and the difference, side by side.

    The two are of one model and two texts, of two models or of two checkpoints of one, with as
    many layers and heads. Their tokens share one axis: those that both have stand once, by a
    longest common subsequence, and what one of the two has alone is hatched in the other;
    nothing is resampled. What is pointed at or locked in one of the three is so in all. The
    difference is the first minus the second, on one diverging scale round grey.

    It is a `HeadView` with `versus`, and has its options. Raises TypeError for anything but two
    attentions, traitlets.TraitError for two of other shapes or without a token in common.

    Example:
        >>> from attnwidget import CompareView, load_model
        >>> model = load_model()
        >>> texts = "The cat sits on the mat.", "The cats sit on the mat."
        >>> view = CompareView(*map(model.attend, texts), layer=2, head=1)
        >>> view.difference.shape
        (11, 11)
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
        super().__init__(attention, layer, head, stack, versus=versus, **traits)
