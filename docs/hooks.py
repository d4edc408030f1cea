"""Hooks of mkdocs: generated pages, formulas, figures in both themes, names as links."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import reference_pages as reference
from formulas import with_formulas
from live_figures import live_figure
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from navigation import navigation
from stated_metadata import stated_addresses, stated_version
from tutorials import tutorial

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "build" / "docs-parts"
#: Python in the browser, if `make lite` has built it.
LITE = ROOT / "build" / "lite"
#: The notebooks of each folder of pages.
NOTEBOOKS = {
    "tutorials": sorted((ROOT / "notebooks").glob("*.ipynb")),
    "lessons": sorted((ROOT / "notebooks" / "lessons").glob("*.ipynb")),
}

_FIGURE = re.compile(
    r"^!\[(?P<alt>[^\]]*)\]\((?P<place>[^)]*/figures/[\w-]+)\.svg\)$", re.MULTILINE
)
# A line that is a link to Python in the browser.
_LITE_LINK = re.compile(r"^\[[^\]]*\]\([./]*lite/.*\n", re.MULTILINE)
# A public name as code that is neither in a link nor in a heading already.
_CODE = re.compile(r"<(a|h[1-6]|pre|summary)\b.*?</\1>|<code>(?P<name>\w+)</code>", re.DOTALL)

# Sections of the navigation are named by a label without text; their title stands within.
_SECTION = re.compile(
    r'aria-labelledby="[^"]+"(?P<rest>[^>]*>\s*<label class="md-nav__title" for="[^"]+">'
    r'\s*<span class="md-nav__icon md-icon"></span>\s*(?P<title>[^<]+?)\s*</label>)'
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation, and the addresses that pyproject.toml states."""
    addresses = stated_addresses()
    if "Documentation" in addresses:
        # docs/keep_version.py puts each version into a folder of its own.
        config.site_url = f"{addresses['Documentation'].rstrip('/')}/{stated_version()}/"
    if "Repository" in addresses:
        # A link in the footer. `repo_url` would let the page ask GitHub for numbers.
        repository = {"icon": "material/source-repository", "name": "Repository"}
        config.extra["social"] = [repository | {"link": addresses["Repository"]}]
    made = [f"{folder}/{source.stem}.md" for folder in NOTEBOOKS for source in NOTEBOOKS[folder]]
    config.nav = navigation([*made, "about/changelog.md", "about/licence.md"])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and what docs/parts.py has written.

    Raises:
        PluginError: it has not.
    """

    def add(place: str, **content: Any) -> None:
        files.append(File.generated(config, place, **content))

    for place, text in reference.pages().items():
        add(place, content=text)
    for folder, sources in NOTEBOOKS.items():
        for page_name, page in ((source.stem, tutorial(source)) for source in sources):
            add(f"{folder}/{page_name}.md", content=page.markdown)
            for name, picture in page.pictures.items():
                add(f"{folder}/{name}", content=picture)
    pages = [_part(name) for name in ("first-look.html", "atlas.html")]
    for path in [*PARTS.glob("figures/*"), *pages]:
        place = path.relative_to(PARTS)
        parent = "" if place.parts[0] == "figures" else "assets/"
        add(f"{parent}{place.as_posix()}", abs_src_path=str(path))
    for path in LITE.rglob("*"):
        if path.is_file():
            add(f"lite/{path.relative_to(LITE).as_posix()}", abs_src_path=str(path))
    for picture in (ROOT / "docs" / "images").iterdir():
        add(f"assets/{picture.name}", abs_src_path=str(picture))
    # The changelog links to pages from the root of the repository.
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/pages/", "](../")
    add("about/changelog.md", content=changes)
    licence = (ROOT / "LICENSE").read_text("utf-8")
    add("about/licence.md", content=f"# Licence\n\n```{{.text .wrapped}}\n{licence}\n```\n")
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show each figure in the theme of the page: a widget live, or its picture without scripts.

    Links to Python in the browser are left out of a site without it.
    """
    if not LITE.is_dir():
        markdown = _LITE_LINK.sub("", markdown)
    folder = posixpath.dirname(page.file.src_uri)

    def shown(found: re.Match[str]) -> str:
        place = found["place"]
        part = _part(posixpath.normpath(posixpath.join(folder, f"{place}-light.svg")))
        pictures = [
            f"![{found['alt']}]({place}-{theme}.svg#only-{theme}){{ loading=lazy }}"
            for theme in ("light", "dark")
        ]
        if part.with_suffix(".html").is_file():
            return live_figure(place, found["alt"], part)
        return "\n".join(pictures)

    return _FIGURE.sub(shown, markdown)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas as MathML, public names as links to their pages."""
    pages = {name: reference.page_of(name) for name in reference.public_names()}
    pages |= {path.rpartition(".")[2]: reference.page_of(path) for path in reference.type_paths()}

    def linked(found: re.Match[str]) -> str:
        place = pages.get(found["name"] or "")
        if place is None or place == page.file.src_uri:
            return found[0]
        target = files.get_file_from_path(place)
        assert target is not None
        return f'<a href="{target.url_relative_to(page.file)}">{found[0]}</a>'

    # An empty corner cell is no heading.
    html = re.sub(r"<th[^>]*></th>", "<td></td>", html)
    return _CODE.sub(linked, with_formulas(html))


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Name what the theme leaves without a name."""
    output = _SECTION.sub(r'aria-label="\g<title>"\g<rest>', output)
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def _part(place: str) -> Path:
    path = PARTS / place
    if not path.is_file():
        raise PluginError(f"build/docs-parts/{place} is missing: run `python docs/parts.py` first")
    return path
