"""Many numbers in few bytes: three significant digits each, as they are printed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numbers of three digits in a decade, and how many codes of twelve bits there are.
_STEPS = 900
_LAST = 4095


def three_digits(values: NDArray[np.floating[Any]]) -> tuple[NDArray[np.uint8], int]:
    """Numbers from 0 on, rounded to three digits, two of them in three bytes.

    Returns the bytes, and the decade of the largest number: 0 for 1 to 9.99, -1 for 0.1 to 0.999.
    Numbers below about 1 / 20,000 of the decade's end are stored as small; 0 stays 0, and NaN stays
    NaN.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.token_lens.three_digits import three_digits
        >>> packed, decade = three_digits(np.array([0.12345, 0.5, np.nan, 1e-9]))
        >>> packed.nbytes, decade
        (6, -1)
    """
    numbers = np.asarray(values, np.float64).reshape(-1)
    numbers = np.append(numbers, np.zeros(numbers.size % 2))
    positive = numbers > 0
    # Ranks go on from 999 of one decade to 100 of the next: what rounds up to 1000 is there.
    exponents = np.floor(np.log10(numbers, where=positive, out=np.zeros_like(numbers)))
    digits = np.rint(numbers / 10.0 ** (exponents - 2))
    ranks = np.where(positive, exponents * _STEPS + digits - 100, -np.inf)
    largest = ranks.max(initial=-np.inf, where=positive)
    decade = int(largest // _STEPS) if np.isfinite(largest) else 0
    # 0 is NaN, 1 is 0, 2 anything that is too small for the others.
    codes = np.clip(ranks - (decade + 1) * _STEPS + 1 + _LAST, 1 + positive, _LAST)
    codes = np.where(np.isnan(numbers), 0, codes).astype(np.uint16).reshape(-1, 2)
    first, second = codes.T
    packed = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], 1)
    return packed.astype(np.uint8).reshape(-1), decade
