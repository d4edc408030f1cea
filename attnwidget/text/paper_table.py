"""Tables for papers and notes: LaTeX and Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import pandas as pd

# Smaller numbers are written with a power of ten.
_SMALLEST = 1e-4
_ABSENT = "–"
_LINE_BREAKS = str.maketrans({"\n": " ", "\r": " "})


def as_latex(table: pd.DataFrame, digits: int = 3) -> str:
    r"""Return a table as LaTeX, with the rules of the booktabs package.

    Args:
        table: Table. Its index is left out unless it has names or texts.
        digits: Significant digits of numbers that are not integers.

    Raises:
        ValueError: `digits` is below 1.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.text.paper_table import as_latex
        >>> print(as_latex(pd.DataFrame({"p_value": [0.01234], "n": [12]})))
        \begin{tabular}{rr}
        \toprule
        p\_value & n \\
        \midrule
        0.0123 & 12 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
    """
    text_table = _printed(table, digits)
    columns = "".join("r" if right else "l" for right in _to_the_right(table))
    return text_table.to_latex(index=False, escape=True, column_format=columns)


def as_markdown(table: pd.DataFrame, digits: int = 3) -> str:
    """Return a table in the Markdown format of GitHub, Jupyter and most editors.

    Args:
        table: Table. Its index is left out unless it has names or texts.
        digits: Significant digits of numbers that are not integers.

    Raises:
        ValueError: `digits` is below 1.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.text.paper_table import as_markdown
        >>> print(as_markdown(pd.DataFrame({"head": ["L1 H3"], "weight": [0.51234]})))
        | head | weight |
        | --- | ---: |
        | L1 H3 | 0.512 |
    """
    text_table = _printed(table, digits)
    rules = ["---:" if right else "---" for right in _to_the_right(table)]
    rows = [list(map(str, text_table.columns)), rules, *text_table.to_numpy().tolist()]
    cells = [[cell.replace("|", "\\|").translate(_LINE_BREAKS) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _printed(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Return a table with all cells as text."""
    digits = whole_number("digits", digits, 1)
    complete_table = _with_named_index(table)
    return complete_table.apply(lambda column: [_text(value, digits) for value in column]).astype(
        str
    )


def _to_the_right(table: pd.DataFrame) -> list[bool]:
    """Return, for each column, whether it has numbers, which are right-aligned."""
    return [dtype.kind in "iuf" for dtype in _with_named_index(table).dtypes]


def _with_named_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index, if it has names or texts, becomes its first columns."""
    import pandas as pd

    is_named = any(name is not None for name in table.index.names)
    if is_named or not pd.api.types.is_integer_dtype(table.index.dtype):
        return table.reset_index(allow_duplicates=True)
    return table


def _text(value: Any, digits: int) -> str:
    """Return a cell as text: numbers with significant digits, a dash for an absent value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _ABSENT
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    # Round first: with three digits, 999.6 becomes 1000, which has no decimals.
    size = abs(float(f"{value:.{digits - 1}e}"))
    if size >= 10**digits:
        return f"{value:.0f}"
    if size < _SMALLEST:
        return f"{value:.{digits}g}"
    # "#" keeps trailing zeros, so that all numbers in a column have the same number of digits.
    return f"{value:#.{digits}g}".rstrip(".")
