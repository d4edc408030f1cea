"""Factors as texts, such as "× 12"."""

from __future__ import annotations

import math

#: Largest factor that is printed as a number, and its inverse the smallest one.
LARGEST_FACTOR = 1e5


def factor_number(factor: float) -> str:
    """Return a factor with at least two digits; factors from 10 on are whole numbers.

    Args:
        factor: Positive number.

    Example:
        >>> from attnwidget.text.factor_text import factor_number
        >>> [factor_number(factor) for factor in (778.4, 11.6, 2.31, 0.803, 0.0102)]
        ['778', '12', '2.3', '0.80', '0.010']
    """
    if factor >= 9.95:
        return f"{factor:,.0f}"
    return f"{factor:.{1 - math.floor(math.log10(factor) + 1e-9)}f}"


def factor_text(factor: float) -> str:
    """Return a factor with the sign "×"; the limit for factors beyond 100,000 or its inverse.

    Args:
        factor: Number of at least 0.

    Example:
        >>> from attnwidget.text.factor_text import factor_text
        >>> factor_text(778.4), factor_text(3e8), factor_text(0.0)
        ('× 778', '> × 100,000', '< × 0.00001')
    """
    if factor > LARGEST_FACTOR:
        return f"> × {LARGEST_FACTOR:,.0f}"
    if factor < 1 / LARGEST_FACTOR:
        return f"< × {1 / LARGEST_FACTOR:.5f}"
    return f"× {factor_number(factor)}"
