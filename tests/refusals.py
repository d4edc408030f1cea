"""Patterns of messages that hold what a reader needs: the bad value, and the name of the next step.

The words between them may change without a change of any test:

    with pytest.raises(ValueError, match=naming("layer 7", "n_layers")):
        ...
"""

from __future__ import annotations

import re


def naming(*parts: str) -> str:
    """Return a pattern for texts with every part, in any order, and not inside a longer word.

    Args:
        *parts: Literal texts, at least one: values, names of arguments, functions or files.
    """
    if not parts or not all(part.strip() for part in parts):
        raise ValueError(f"a pattern without a part matches every message: got {parts}")
    return "(?s)^" + "".join(f"(?=.*{_whole(part)})" for part in parts)


def _whole(part: str) -> str:
    # 7 is not named by 17 or 0.7, and `head` is not named by `heads`.
    before = r"(?<!\w)(?<!\d\.)" if re.match(r"\w", part) else ""
    after = r"(?!\w)(?!\.\d)" if re.search(r"\w$", part) else ""
    return before + re.escape(part) + after
