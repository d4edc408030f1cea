"""Formulas as MathML, made while the site is built: every current browser draws it by itself."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves of $...$ and $$...$$.
_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\(?P<open>[(\[])(?P<latex>.*?)\\[)\]]</\1>', re.DOTALL
)


def with_formulas(page: str) -> str:
    """The page's HTML with each LaTeX formula as MathML.

    Raises:
        ValueError: a formula has a command that is not known.
    """
    return _FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    latex = html.unescape(found["latex"]).strip()
    block = found["open"] == "["
    math = convert(latex, display="block" if block else "inline")
    if "\\" in math or "&#x0005C;" in math:
        raise ValueError(f"a command of the formula {latex!r} is not known")
    return f'<div class="formula" tabindex="0">{math}</div>' if block else math
