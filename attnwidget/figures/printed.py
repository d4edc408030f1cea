"""Numbers as the widgets print them, to the last digit."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

MINUS = "−"


def percent(share: float, n: int) -> str:
    """A share in per cent, with as many digits as a count of `n` bears.

    Example:
        >>> from attnwidget.figures.printed import percent
        >>> percent(0.8671, 1591), percent(1 / 8, 8), percent(-0.25, 100)
        ('86.7', '13', '−25.0')
    """
    digits = Decimal("0.1") if n >= 100 else Decimal(1)
    return str(Decimal(100 * share).quantize(digits, ROUND_HALF_UP)).replace("-", MINUS)


def whole(x: float) -> str:
    """A number without its decimals, half of one rounded up.

    Example:
        >>> from attnwidget.figures.printed import whole
        >>> whole(12.5), whole(99.4)
        ('13', '99')
    """
    return str(Decimal(x).quantize(Decimal(1), ROUND_HALF_UP))


def signed(offset: int) -> str:
    """An offset in words, `+1` for the next one.

    Example:
        >>> from attnwidget.figures.printed import signed
        >>> signed(1), signed(-2)
        ('+1', '−2')
    """
    return f"{MINUS}{-offset}" if offset < 0 else f"+{offset}"


def p_text(p: float) -> str:
    """A p-value with two significant digits.

    Example:
        >>> from attnwidget.figures.printed import p_text
        >>> p_text(0.0004), p_text(0.0312), p_text(1.0)
        ('p < 0.001', 'p = 0.031', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {plain(p, 2)}"


def figures(x: float) -> str:
    """Three significant digits of a number of any sign and size.

    Example:
        >>> from attnwidget.figures.printed import figures
        >>> [figures(x) for x in (0, 0.25, -12.34, 123456, 1234567, 0.00012)]
        ['0', '0.25', '−12.3', '123000', '1.2e6', '1.2e-4']
    """
    size = abs(x)
    if x and (size >= 1e6 or size < 0.0005):
        power = Decimal(x).adjusted()
        rounded = Decimal(x).scaleb(-power).quantize(Decimal("0.1"), ROUND_HALF_UP)
        if abs(rounded) >= 10:
            rounded, power = rounded / 10, power + 1
        return f"{rounded:.1f}e{power}"
    return plain(x, 3).replace("-", MINUS)


def plain(x: float, digits: int) -> str:
    """A number with so many significant digits, never with an exponent or closing zeros.

    Example:
        >>> from attnwidget.figures.printed import plain
        >>> plain(0.0650, 3), plain(1995, 3)
        ('0.065', '2000')
    """
    if not x:
        return "0"
    exact = Decimal(x)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
