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
    r"""Return a table as LaTeX, with the rules of the package booktabs.

    Args:
        table: The table. Its index is left out unless it has names or texts.
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
    printed = _printed(table, digits)
    columns = "".join("r" if right else "l" for right in _to_the_right(table))
    return printed.to_latex(index=False, escape=True, column_format=columns)


def as_markdown(table: pd.DataFrame, digits: int = 3) -> str:
    """Return a table as Markdown, as GitHub, Jupyter and most editors read it.

    Args:
        table: The table. Its index is left out unless it has names or texts.
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
    printed = _printed(table, digits)
    rules = ["---:" if right else "---" for right in _to_the_right(table)]
    rows = [list(map(str, printed.columns)), rules, *printed.to_numpy().tolist()]
    cells = [[cell.replace("|", "\\|").translate(_LINE_BREAKS) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _printed(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Return a table of texts."""
    digits = whole_number("digits", digits, 1)
    whole = _with_named_index(table)
    return whole.apply(lambda column: [_text(value, digits) for value in column]).astype(str)


def _to_the_right(table: pd.DataFrame) -> list[bool]:
    """Whether each column has numbers, which are aligned at the right."""
    return [kind.kind in "iuf" for kind in _with_named_index(table).dtypes]


def _with_named_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index, if it says anything, is its first columns."""
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
    # 999.6 with three digits is 1000, as a larger number.
    size = abs(float(f"{value:.{digits - 1}e}"))
    if size >= 10**digits:
        return f"{value:.0f}"
    if size < _SMALLEST:
        return f"{value:.{digits}g}"
    # "#" keeps the zeros at the end, so that all numbers of a column have as many digits.
    return f"{value:#.{digits}g}".rstrip(".")
