"""How large a figure writes tokens and words."""

from __future__ import annotations

from typing import Literal, TypedDict

import traitlets


class TokenSizeOptions(TypedDict, total=False):
    """The option of figures that write tokens."""

    token_size: Literal["S", "M", "L"]


class TokenSize(traitlets.HasTraits):
    """The part of a figure of tokens that makes them larger: on its page and in its pictures."""

    token_size = traitlets.Enum(
        ["S", "M", "L"],
        "M",
        help="How large tokens and words are written: small, as usual, or for a projector.",
    ).tag(sync=True, option=True, shared=True)
