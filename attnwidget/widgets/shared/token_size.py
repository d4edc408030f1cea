"""Font size of tokens and words in a figure."""

from __future__ import annotations

import traitlets


class TokenSize(traitlets.HasTraits):
    """Mixin for figures with tokens: the font size of tokens on the page and in pictures."""

    token_size = traitlets.Enum(
        ["S", "M", "L"],
        "M",
        help='Font size of tokens and words: small ("S"), normal ("M"), or large for a projector '
        '("L").',
    ).tag(sync=True, option=True, shared=True)
