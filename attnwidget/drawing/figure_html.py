"""HTML with a picture, its caption and its table, which screen readers can read too."""

from __future__ import annotations

import base64
from html import escape
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

from attnwidget.drawing.caption import Caption
from attnwidget.text.xml_text import xml_text

if TYPE_CHECKING:
    import pandas as pd

_RIGHT = ' style="text-align: right; font-variant-numeric: tabular-nums"'


def figure_html(
    caption: Caption, table: pd.DataFrame, png: bytes | None = None, size: tuple[int, int] = (0, 0)
) -> str:
    """Return the HTML of a picture with its caption, and its numbers as a collapsible table.

    The HTML contains the picture, because notebook viewers prefer HTML to a separate picture. The
    HTML has no scripts and no identifiers, so a page can contain several copies.

    Args:
        caption: Caption of the figure, also the alternative text of the picture.
        table: Numbers of the figure; the index or the first column identifies the row.
        png: PNG file of the picture; None = only the caption and the expanded table.
        size: Width and height of the picture in CSS pixels.

    Example:
        >>> import pandas as pd
        >>> from attnwidget.drawing.figure_html import figure_html
        >>> from attnwidget.drawing.caption import Caption
        >>> page = figure_html(Caption("A head"), pd.DataFrame({"key": ["<s>"], "weight": [0.25]}))
        >>> '<th scope="row">&lt;s&gt;</th>' in page
        True
    """
    text = _escaped(caption.text())
    title = _escaped(" · ".join(filter(None, (caption.figure, caption.head, caption.quantity))))
    if png is None:
        figcaption = f"<figcaption>{text}</figcaption>"
        return f'<figure style="margin: 0">{figcaption}{_table(table, title)}</figure>'
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<figure style="margin: 0"><img src="data:image/png;base64,{data}" alt="{text}"'
        f' width="{size[0]}" height="{size[1]}" style="max-width: 100%; height: auto">'
        f"<figcaption>{text}</figcaption>"
        f"<details><summary>Table of the figure</summary>{_table(table, title)}</details></figure>"
    )


def _table(table: pd.DataFrame, title: str) -> str:
    if len(table.index.names) > 1 or table.index.name is not None:
        table = table.reset_index()
    names = [str(name) for name in table.columns]
    values = [table.iloc[:, k].tolist() for k in range(len(names))]
    right = [bool(column) and all(map(_is_number, column)) for column in values]
    align = [_RIGHT if number else ' style="text-align: left"' for number in right]
    head = "".join(
        f'<th scope="col"{style}>{_escaped(name)}</th>'
        for name, style in zip(names, align, strict=True)
    )
    forms = [_form(column) for column in values]
    rows = "".join(
        "<tr>"
        + "".join(_cell(k, _shown(value, forms[k]), align[k]) for k, value in enumerate(row))
        + "</tr>"
        for row in zip(*values, strict=True)
    )
    return (
        f'<table><caption style="text-align: left">{title}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _form(column: list[Any]) -> str:
    """Return the format of a column's numbers, with the decimals that its largest number needs."""
    sizes = [abs(value) for value in column if isinstance(value, float) and value]
    sizes = [size for size in sizes if isfinite(size)]
    decimals = 3 - floor(log10(max(sizes))) if sizes else 0
    # If the smallest number would round to 0, each number has its own number of digits.
    aligned = 0 <= decimals <= 6 and min(sizes, default=0) >= 0.5 * 10**-decimals
    return f".{decimals}f" if aligned else ".4g"


def _cell(column: int, shown: str, align: str) -> str:
    text = _escaped(shown)
    return f'<th scope="row">{text}</th>' if column == 0 else f"<td{align}>{text}</td>"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: Any, form: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if value != value else format(value, form)
    return "–" if value is None else str(value)


def _escaped(text: str) -> str:
    return xml_text(escape(text))
