"""The navigation of the site, from its folders: a page is listed because it is there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import reference_pages as reference

PAGES = Path(__file__).parent / "pages"
_LINK = re.compile(r"\]\(([\w/-]+\.md)\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def navigation(made: Iterable[str]) -> list[dict[str, Any]]:
    """The sections of the site and their pages, as mkdocs takes them.

    A section is a folder of docs/pages, called as its index is, or by the folder's name without
    one. Sections come in the order in which the home page links to their indexes, pages in that of
    the index; what these do not name follows by its file name.

    Args:
        made: places of the pages that are not written by hand, but for the reference.
    """
    places = sorted([page.relative_to(PAGES).as_posix() for page in PAGES.rglob("*.md")] + [*made])
    folders = dict.fromkeys(place.partition("/")[0] for place in places if "/" in place)
    linked = [place.partition("/")[0] for place in _links("index.md")]
    sections: list[dict[str, Any]] = [{"Home": "index.md"}]
    for folder in sorted([*folders, "reference"], key=lambda name: _rank(name, linked)):
        if folder == "reference":
            sections.append({"Reference": _reference()})
            continue
        index = f"{folder}/index.md"
        own = [place for place in places if place.startswith(f"{folder}/") and place != index]
        known = [f"{folder}/{place}" for place in _links(index)]
        pages = sorted(own, key=lambda place: _rank(place, known))
        sections.append({_title(index): [index, *pages] if index in places else pages})
    return sections


def _reference() -> list[Any]:
    """The index, then a group for each of its sections, and one for the types."""
    groups: list[Any] = [
        {title: [{name: reference.page_of(name)} for name in names]}
        for title, names in reference.sections().items()
    ]
    types = [{p.rpartition(".")[2]: reference.page_of(p)} for p in reference.type_paths()]
    return ["reference/index.md", *groups, {"Types": types}]


def _links(place: str) -> list[str]:
    """The pages that a written page links to, in its order."""
    path = PAGES / place
    return _LINK.findall(path.read_text("utf-8")) if path.is_file() else []


def _title(index: str) -> str:
    path = PAGES / index
    match = _TITLE.search(path.read_text("utf-8")) if path.is_file() else None
    return match[1] if match else index.partition("/")[0].capitalize()


def _rank(name: str, order: list[str]) -> int:
    return order.index(name) if name in order else len(order)
