"""Font size of tokens and words in a figure."""

from __future__ import annotations

from typing import Literal, TypedDict

import traitlets

from attnwidget.widgets.shared.traits import Choice


class TokenSizeOptions(TypedDict, total=False):
    """The option of figures that write tokens."""

    token_size: Literal["S", "M", "L"]


class TokenSize(traitlets.HasTraits):
    """Mixin for figures with tokens: the font size of tokens on the page and in pictures."""

    token_size = Choice(
        ["S", "M", "L"],
        "M",
        help='Font size of tokens and words: small ("S"), normal ("M"), or large for a projector '
        '("L").',
    ).tag(sync=True, option=True, shared=True)
