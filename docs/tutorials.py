"""Tutorials: notebooks with their stored outputs as pages of the site."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Tutorial:
    """A page in Markdown, and its pictures by their file names."""

    markdown: str
    pictures: dict[str, bytes] = field(default_factory=dict)


def tutorial(notebook: Path) -> Tutorial:
    """Return the page of a notebook.

    Raises:
        ValueError: a cell of the notebook has not run.
    """
    page = Tutorial("")
    parts = []
    for number, cell in enumerate(nbformat.read(notebook, as_version=4).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        if not cell.execution_count:
            raise ValueError(f"{notebook}: cell {number} has not run: run `make notebooks`")
        parts.append(f"```python\n{cell.source}\n```")
        for place, output in enumerate(cell.outputs):
            parts.append(_output(output, f"{notebook.stem}-{number}-{place}", page))
    place = notebook.relative_to(NOTEBOOKS).as_posix()
    note = f"This page is the notebook `notebooks/{place}`."
    heading, _, rest = "\n\n".join(filter(None, parts)).partition("\n")
    page.markdown = f"{heading}\n\n*{note}*\n{rest}\n"
    return page


def _output(output: Any, name: str, page: Tutorial) -> str:
    """Return one output as Markdown."""
    if output.output_type == "stream":
        return "" if output.name == "stderr" else _text(output.text)
    data = output.get("data", {})
    metadata = output.get("metadata", {})
    if "image/png" in data:
        about = metadata.get("image/png", {})
        page.pictures[f"{name}.png"] = base64.b64decode(data["image/png"])
        size = f' width="{about["width"]}"' if "width" in about else ""
        alt_text = escape(about.get("alt") or "What the cell shows", quote=True)
        picture = f'<img src="{name}.png" alt="{alt_text}"{size} loading="lazy">'
        return f'<p class="figure">{picture}</p>' + _folded(data.get("text/html", ""))
    if "text/html" in data:
        return (
            f'<div class="output" tabindex="0" markdown="0">{_plain_table(data["text/html"])}</div>'
        )
    return _text(data.get("text/plain", ""))


def _folded(table: str) -> str:
    if "<table" not in table:
        return ""
    inner = _plain_table(table)
    return f"\n\n<details><summary>The figure as a table</summary>{inner}</details>"


def _plain_table(html: str) -> str:
    """Return HTML in one line, without styles and scripts: Markdown does not change such a line."""
    html = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    html = html.replace('border="1" ', "").replace("<th></th>", "<td></td>")
    return re.sub(r"\s*\n\s*", " ", html).strip()


def _text(text: str) -> str:
    clean = _ESCAPE.sub("", text).strip("\n")
    return f"```{{.text .output}}\n{clean}\n```" if clean else ""
