"""The HTML document of a page: its data, its figures' modules, and what starts them."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnwidget.text.xml_text import xml_text
from attnwidget.widgets.pages.size_limit import megabytes

#: Folder with the module and the style sheet of each figure, under the name of the figure.
STATIC = Path(__file__).parents[1] / "static"
_CODE = ("js", "css")


def document(
    data: Mapping[str, Any],
    title: str,
    *,
    notes: Sequence[str] = (),
    text: str | None = None,
    theme: str | None = None,
) -> str:
    """A page of the figures in `data`, as HTML that fetches nothing.

    `notes` describe the content of the page in the caption; `text` is the input of the figures.
    `theme` is "light", "dark", or None for the reader's theme.
    """
    figures = list(dict.fromkeys(figure["name"] for figure in data["figures"]))
    # A page imports nothing: each figure's module leaves its export where the last script finds it.
    scripts = {
        name: _script(name).replace(
            "export default", f"(globalThis.attnwFigures??={{}}).{name}=", 1
        )
        for name in figures
    }
    scripts["standalone"] = _script("standalone")
    caption = " · ".join(["", *notes, "needs no kernel and no network"])
    shown = f'<p class="attnw-page-text">{_escaped(text)}</p>' if text else ""
    code = "\n".join(
        f'<script type="module" id="attnw-{name}">{script}</script>'
        for name, script in scripts.items()
    )
    forced = f' data-theme="{theme}"' if theme else ""
    before = (
        f'<!doctype html>\n<html lang="en"{forced}>'
        f'<head>{_policy(scripts.values())}<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_escaped(title)}</title><style>\n{_styles(figures)}</style></head>\n"
        f"<body><main><header><h1>{_escaped(title)}</h1>{shown}"
        "<noscript><p>The figures of this page are drawn by its script: allow it to run.</p>"
        "</noscript></header></main>\n"
        "<footer><details><summary>about this page</summary>"
        '<p class="attnw-page-caption">'
    )
    after = (
        f"{_escaped(caption)}</p></details></footer>\n"
        f'<script type="application/json" id="attnw-data">{as_json(data)}</script>\n'
        f"{code}</body></html>\n"
    )
    rest = len((before + after).encode("utf-8"))
    # What says the size is part of it.
    return before + megabytes(rest + len(megabytes(rest))) + after


def as_json(data: Any) -> str:
    """Data as JSON that no token in it can end: "<" has another spelling there."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return xml_text(text)


def _escaped(text: str) -> str:
    return html.escape(xml_text(text))


def code_size(figures: Iterable[str]) -> int:
    """Bytes of the modules and style sheets that draw these figures."""
    names = [*figures, "standalone"]
    return sum((STATIC / f"{name}.{ending}").stat().st_size for name in names for ending in _CODE)


def _policy(scripts: Iterable[str]) -> str:
    """Let only these scripts run, and nothing be fetched, framed or sent.

    The policy stands first, because it does not apply to anything before it. The policy cannot
    prevent the page from opening another address.
    """
    hashes = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(code).decode('ascii')}'" for code in hashes)
    rules = (
        f"default-src 'none'; script-src {allowed}; worker-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{rules}">'


def _styles(figures: Iterable[str]) -> str:
    names = [*figures, "standalone"]
    return "\n".join((STATIC / f"{name}.css").read_text("utf-8") for name in names)


def _script(name: str) -> str:
    return (STATIC / f"{name}.js").read_text("utf-8").replace("</script", "<\\/script")
