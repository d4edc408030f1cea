"""CompareView: one head in two attentions, and the difference."""

from __future__ import annotations

from typing import Any

from attnwidget.capture.maps.attention import Attention
from attnwidget.widgets.head_view.widget import HeadView


class CompareView(HeadView):
    """The map of one head in two attentions, and the difference, side by side.

    The attentions come from one model and two texts, or from two models or checkpoints with equal
    numbers of layers and heads. Their tokens share one axis: common tokens (a longest common
    subsequence) appear once, and tokens of only one attention are hatched in the other map; nothing
    is resampled. Pointing at a cell or locking a token acts on all three maps. The difference is
    the first minus the second, on one diverging scale round grey.

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
