"""Numbers of maps as the widgets print them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from attnwidget.figures.printed import MINUS, figures, plain


def share(value: float) -> str:
    """A share of one in three significant digits, never in exponents.

    Example:
        >>> from attnwidget.figures.map_numbers import share
        >>> share(0.12345), share(0.00001), share(1.0)
        ('0.123', '<0.0005', '1')
    """
    if not value > 0:
        return "0"
    return "<0.0005" if value < 0.0005 else plain(value, 3)


def printer(quantity: str) -> Callable[[float], str]:
    """How values of a quantity are printed: weights are shares of one, others have any size.

    Example:
        >>> from attnwidget.figures.map_numbers import printer
        >>> printer("norms")(12.345)
        '12.3'
    """
    return share if quantity == "weights" else figures


def symbol(quantity: str) -> str:
    """What a value of a quantity is called beside its number; weights need no name.

    Example:
        >>> from attnwidget.figures.map_numbers import symbol
        >>> symbol("norms")
        '‖a·f(x)‖'
    """
    return {"norms": "‖a·f(x)‖", "gradients": "|∂L/∂a|"}.get(quantity, "")


def aligned(low: float, high: float, digits: int) -> Callable[[float], str]:
    """Numbers to stand under each other: decimals for `digits` digits of the largest of them.

    Example:
        >>> from attnwidget.figures.map_numbers import aligned
        >>> [aligned(0, 12.3, 3)(x) for x in (12.3, 0.05)]
        ['12.3', '0.1']
    """
    largest = max(abs(low), abs(high)) or 1.0
    places = digits - 1 - math.floor(math.log10(largest))
    if places > 5 or places < -2:
        return lambda value: figures(float(plain(value, digits)))
    unit = Decimal(1).scaleb(-max(0, places))

    def fixed(value: float) -> str:
        text = f"{Decimal(value).quantize(unit, ROUND_HALF_UP):f}"
        return text.replace("-", MINUS if any(c in "123456789" for c in text) else "")

    return fixed
