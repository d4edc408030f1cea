"""Detection of texts in scripts without spaces between words."""

from __future__ import annotations

import re

#: Han, kana, Thai, Lao, Tibetan, Myanmar and Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)


def is_unspaced(text: str) -> bool:
    """Return whether most letters of a text are in scripts without spaces between words.

    In these texts, spaces separate phrases, so tokens cannot be merged to words.

    Args:
        text: Text.

    Example:
        >>> from attnwidget.text.unspaced_scripts import is_unspaced
        >>> is_unspaced("护士说她很累。"), is_unspaced("The word 护士 means nurse.")
        (True, False)
    """
    letters = sum(map(str.isalpha, text))
    return 2 * len(_UNSPACED.findall(text)) > letters > 0
