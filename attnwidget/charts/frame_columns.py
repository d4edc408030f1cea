"""Checks of the data frame that a chart receives, and its conversion to chart data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd


def checked(frame: pd.DataFrame, columns: Sequence[str], figure: str) -> pd.DataFrame:
    """Return the columns that a figure needs, without rows that lack a value (NaN).

    The columns layer and head become integers, value, x and y become floats, and others become
    text.

    Args:
        frame: Data frame that the user passed.
        columns: Names of the needed columns. The columns low and high may contain NaN.
        figure: Name of the drawing function, for error messages.

    Raises:
        TypeError: If `frame` is not a data frame.
        ValueError: If a column is missing, no row is left to draw, or a value is invalid.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{figure} takes a pandas DataFrame, not {type(frame).__name__}")
    if missing := [name for name in columns if name not in frame.columns]:
        raise ValueError(
            f"{figure} needs the columns {', '.join(columns)}; {', '.join(missing)} missing among "
            f"{', '.join(map(str, frame.columns)) or 'none'}"
        )
    series_by_name = {name: _column(frame[name], name, figure) for name in columns}
    # A value that comes from few units may have no interval.
    required = [name for name in columns if name not in ("low", "high")]
    table = pd.DataFrame(series_by_name).dropna(subset=required).reset_index(drop=True)
    if table.empty:
        raise ValueError(f"{figure} has nothing to draw: the frame has no row with a value")
    return table.astype({name: int for name in ("layer", "head") if name in columns})


def _column(column: pd.Series[Any], name: str, figure: str) -> pd.Series[Any]:
    if name not in {"layer", "head", "value", "x", "y"}:
        return column.astype(str)
    try:
        numbers = column.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{figure} needs numbers in {name!r}, got {column.iloc[0]!r}") from None
    if np.isinf(numbers).any():
        raise ValueError(f"{figure} cannot draw the infinite values of {name!r}")
    if name in {"layer", "head"} and not ((numbers >= 0) & (numbers % 1 == 0)).all():
        raise ValueError(f"{figure} needs {name} numbers 0, 1, 2, ... in {name!r}")
    return numbers


def inline(table: pd.DataFrame) -> alt.InlineData:
    """Return all rows as inline data of the chart, which Altair's row limit does not apply to."""
    rows: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    # JSON has no NaN, so a missing value becomes null.
    columns_with_nan = [str(name) for name in table.columns[table.isna().any()]]
    for row in rows if columns_with_nan else ():
        row.update({name: None for name in columns_with_nan if pd.isna(row[name])})
    return alt.InlineData(values=rows)


def row_names(table: pd.DataFrame) -> list[str]:
    """Return the head name of each row, such as `L7 H9`."""
    return [f"L{layer} H{head}" for layer, head in zip(table["layer"], table["head"], strict=True)]


def in_order(values: pd.Series[Any]) -> list[Hashable]:
    """Return the distinct values in order of appearance."""
    return list(dict.fromkeys(values))
