"""HTML document of a page, with data, figure modules and start script."""

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

#: Folder with each figure's module and style sheet, named after the figure.
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
    """Return a page as HTML that fetches nothing.

    Args:
        data: Data of the page, with its figures.
        title: Page title.
        notes: Caption notes about the content of the page.
        text: Input text of the figures.
        theme: "light" or "dark"; None = the reader's theme.
    """
    figures = list(dict.fromkeys(figure["name"] for figure in data["figures"]))
    # A page imports nothing: each module stores its export in a global, where the last script reads
    # it.
    scripts = {
        name: _script(name).replace(
            "export default", f"(globalThis.attnwFigures??={{}}).{name}=", 1
        )
        for name in figures
    }
    scripts["standalone"] = _script("standalone")
    caption = " · ".join(["", *notes, "needs no kernel and no network"])
    text_html = f'<p class="attnw-page-text">{_escaped(text)}</p>' if text else ""
    code = "\n".join(
        f'<script type="module" id="attnw-{name}">{script}</script>'
        for name, script in scripts.items()
    )
    theme_attribute = f' data-theme="{theme}"' if theme else ""
    beginning = (
        f'<!doctype html>\n<html lang="en"{theme_attribute}>'
        f'<head>{_policy(scripts.values())}<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_escaped(title)}</title><style>\n{_styles(figures)}</style></head>\n"
        f"<body><main><header><h1>{_escaped(title)}</h1>{text_html}"
        "<noscript><p>The figures of this page are drawn by its script: allow it to run.</p>"
        "</noscript></header></main>\n"
        "<footer><details><summary>about this page</summary>"
        '<p class="attnw-page-caption">'
    )
    end = (
        f"{_escaped(caption)}</p></details></footer>\n"
        f'<script type="application/json" id="attnw-data">{as_json(data)}</script>\n'
        f"{code}</body></html>\n"
    )
    rest = len((beginning + end).encode("utf-8"))
    # The text with the size is a part of the size.
    return beginning + megabytes(rest + len(megabytes(rest))) + end


def as_json(data: Any) -> str:
    """Return data as JSON with escaped "<", so that no text can end the script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return xml_text(text)


def _escaped(text: str) -> str:
    return html.escape(xml_text(text))


def code_size(figures: Iterable[str]) -> int:
    """Return the size of some figures' modules and style sheets, in bytes."""
    names = [*figures, "standalone"]
    return sum((STATIC / f"{name}.{ending}").stat().st_size for name in names for ending in _CODE)


def _policy(scripts: Iterable[str]) -> str:
    """Return a policy that allows only these scripts, and forbids fetching, framing and sending.

    The policy must come first, because it does not apply to anything before it. It cannot prevent
    the page from opening another address.
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
