"""Lines of a title: without repetitions, without separators at their ends, long names cut."""

from __future__ import annotations

import re

from attnwidget.text.short_name import short_name

_LONGEST_LINE = 2000
"""Characters of a line of a title that are drawn: names come from users, of any length."""
_SEPARATORS = " \t·:;,|"
_BETWEEN = re.compile(r"( · |; |, |: | → )")
_LEAST_REPEATED = 6
"""Characters of a part that is left out where it stands a second time."""


def title_lines(title: str) -> list[str]:
    r"""Return the lines of a title as they are drawn.

    - Separators at the ends of a line, which stand beside an empty part, are left out.
    - A part that an earlier line says already, such as the name of the model, is left out, unless
      it stands behind a colon.
    - "A → A" becomes "A".
    - Words of more than 40 characters, such as identifiers of sentences, lose their middle.

    Args:
        title: The title; further lines are the subtitle.

    Raises:
        ValueError: No line has a text.

    Example:
        >>> from attnwidget.charts.title_lines import title_lines
        >>> title_lines("Loss: small BERT\nsmall BERT, 24 texts; ")
        ['Loss: small BERT', '24 texts']
    """
    said: set[str] = set()
    lines: list[str] = []
    for line in title.splitlines():
        parts = _BETWEEN.split(line)
        shown = _without_repetitions(parts, said)
        said |= set(parts[::2])
        text = " ".join(short_name(word) for word in shown.split(" "))
        text = text.strip(" \t") if not lines else text.strip(_SEPARATORS)
        text = text.rstrip(_SEPARATORS)
        if text:
            lines.append(text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…")
    if not lines:
        raise ValueError("the title is empty: say what the figure shows")
    return lines


def _without_repetitions(parts: list[str], said: set[str]) -> str:
    """Return the parts of a line, which alternate with their separators, that are new."""
    shown = ""
    last = ""
    for number in range(0, len(parts), 2):
        part = parts[number]
        separator = parts[number - 1] if number else ""
        # A label without its value says nothing.
        is_repeated = separator != ": " and len(part) >= _LEAST_REPEATED and part in said
        if is_repeated or (separator == " → " and part == last):
            continue
        shown += f"{separator}{part}" if shown else part
        last = part
    return shown
