"""Tutorials: executed notebooks as pages of the site, their pictures beside them."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import nbformat
import vl_convert

from attnwidget.charts import in_dark

_WIDGET = "application/vnd.jupyter.widget-view+json"
_VEGA = "application/vnd.vegalite.v5+json"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Tutorial:
    """A page in Markdown, and its pictures by their file names."""

    markdown: str
    pictures: dict[str, bytes] = field(default_factory=dict)


def tutorial(executed: Path) -> Tutorial:
    """The page of an executed notebook.

    Raises:
        ValueError: a widget in it has no picture, or a cell was not run.
    """
    page = Tutorial("")
    parts = []
    for number, cell in enumerate(nbformat.read(executed, as_version=4).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        if not cell.execution_count:
            raise ValueError(f"{executed}: cell {number} was not run: run docs/parts.py")
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            shown = _output(output, f"{executed.stem}-{number}-{place}", page)
            if shown is None:
                raise ValueError(f"{executed}: output {place} of cell {number} has no picture")
            parts.append(shown)
    source = f"notebooks/{executed.name}"
    note = f"This page is the notebook `{source}`, run when the site was built."
    heading, _, rest = "\n\n".join(filter(None, parts)).partition("\n")
    page.markdown = f"{heading}\n\n*{note}*\n{rest}\n"
    return page


def _output(output: Any, name: str, page: Tutorial) -> str | None:
    """Markdown of one output; "" to leave it out, None where it cannot be shown."""
    if output.output_type == "stream":
        return "" if output.name == "stderr" else _text(output.text)
    data = output.get("data", {})
    metadata = output.get("metadata", {})
    if _VEGA in data:
        return _chart(data[_VEGA], name, page, metadata.get("image/png", {}).get("alt", "A chart"))
    if "image/png" in data:
        about = metadata.get("image/png", {})
        page.pictures[f"{name}.png"] = base64.b64decode(data["image/png"])
        size = f' width="{about["width"]}"' if "width" in about else ""
        alt_text = escape(about.get("alt") or "What the cell shows", quote=True)
        picture = f'<img src="{name}.png" alt="{alt_text}"{size} loading="lazy">'
        return f'<p class="figure">{picture}</p>' + _folded(data.get("text/html", ""))
    if "%|" in data.get("text/plain", ""):
        return ""  # a progress bar
    if _WIDGET in data:
        # Of a figure the picture is the next output.
        return "" if data.get("text/html") == "" else None
    if "text/html" in data:
        return (
            f'<div class="output" tabindex="0" markdown="0">{_plain_table(data["text/html"])}</div>'
        )
    return _text(data.get("text/plain", ""))


def _chart(spec: dict[str, Any], name: str, page: Tutorial, alt_text: str) -> str:
    spec = {key: value for key, value in spec.items() if key != "$schema"}
    chart = alt.Chart.from_dict(spec)
    for theme, drawn in (("light", chart), ("dark", in_dark(chart))):
        svg = vl_convert.vegalite_to_svg(drawn.to_dict())
        page.pictures[f"{name}-{theme}.svg"] = svg.encode()
    text = escape(alt_text, quote=True)
    return "\n".join(
        [
            '<p class="figure">',
            f'<img src="{name}-light.svg#only-light" alt="{text}" loading="lazy">',
            f'<img src="{name}-dark.svg#only-dark" alt="{text}" loading="lazy">',
            "</p>",
        ]
    )


def _folded(table: str) -> str:
    if "<table" not in table:
        return ""
    inner = _plain_table(table)
    return f"\n\n<details><summary>The figure as a table</summary>{inner}</details>"


def _plain_table(html: str) -> str:
    """One line of HTML without styles and scripts, so that Markdown takes it as it is."""
    html = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    html = html.replace('border="1" ', "").replace("<th></th>", "<td></td>")
    return re.sub(r"\s*\n\s*", " ", html).strip()


def _text(text: str) -> str:
    clean = _ESCAPE.sub("", text).strip("\n")
    return f"```{{.text .output}}\n{clean}\n```" if clean else ""
