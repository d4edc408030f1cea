"""The committed bundles are what js/ builds, are small, and ask no network for anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import anywidget
import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "attnwidget" / "widgets" / "static"
BUNDLES = sorted(path.name for path in STATIC.glob("*.*"))
# A page gets each of these; the code that draws pictures stays with Python. The largest, the view,
# draws lines between columns and between rows, matrices, and rows on pictures and sounds, of one or
# several heads, and long inputs piece by piece. The explorer also draws the strip of all heads and
# the words that an answer needs.
BUDGET = 80_000
BUDGETS = {
    "explorer.js": 115_000,
    "head_grid.js": 98_000,
    "head_view.js": 176_000,
    "picture.js": 270_000,
}
# Names of XML vocabularies look like addresses; nothing is fetched from them.
VOCABULARIES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
# lit-html parses the markup of templates, which are constants of the source, in this one place.
# It refuses templates that no source wrote; values become text nodes and attributes.
TEMPLATES = re.compile(r'createElement\("template"\);return \w+\.innerHTML=\w+,\w+')
FETCHES = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|\bWebSocket\b|EventSource|sendBeacon|importScripts"
    r"|@import|url\(\s*[\"']?(?!data:|#)"
)


def test_there_are_bundles() -> None:
    assert {"head_grid.js", "head_grid.css", "head_view.js", "head_view.css"} <= set(BUNDLES)


@pytest.mark.slow
def test_committed_bundles_are_what_the_source_builds(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the bundles cannot be rebuilt")
    if not (ROOT / "js" / "node_modules").is_dir():
        pytest.skip("js/node_modules is missing: run `make build` once")
    command = [node, "build.mjs", "--quiet", f"--outdir={tmp_path}"]
    subprocess.run(command, cwd=ROOT / "js", check=True)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(built) == BUNDLES
    stale = [name for name, data in built.items() if data != (STATIC / name).read_bytes()]
    assert stale == [], "run `make build` and commit the result"


@pytest.mark.parametrize("name", BUNDLES)
def test_bundle_is_small(name: str) -> None:
    assert (STATIC / name).stat().st_size < BUDGETS.get(name, BUDGET)


@pytest.mark.parametrize("name", BUNDLES)
def test_bundle_names_no_address(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    addresses = set(re.findall(r"(?:https?|wss?)://[^\s\"'`)]+", text))
    assert addresses <= VOCABULARIES
    assert FETCHES.findall(text) == []


@pytest.mark.parametrize("name", [name for name in BUNDLES if name.endswith(".js")])
def test_bundle_writes_text_never_markup(name: str) -> None:
    text, count = TEMPLATES.subn("", (STATIC / name).read_text(encoding="utf-8"))
    assert count <= 1
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)


def test_no_source_turns_a_value_into_markup() -> None:
    sources = sorted((ROOT / "js" / "src").rglob("*.ts"))
    unsafe = re.compile(r"lit-html/(static|directives/(unsafe|template-content))")
    assert [path for path in sources if unsafe.search(path.read_text("utf-8"))] == []


def widget_classes() -> list[type[anywidget.AnyWidget]]:
    """Every widget class that a module of attnwidget.widgets defines."""
    rooms = import_module("attnwidget.widgets")
    names = [info.name for info in walk_packages(rooms.__path__, f"{rooms.__name__}.")]
    modules = [import_module(name) for name in names]
    values = [value for module in modules for value in vars(module).values()]
    classes = {v for v in values if isinstance(v, type) and issubclass(v, anywidget.AnyWidget)}
    return sorted((c for c in classes if "_files" in vars(c)), key=lambda c: c.__name__)


def test_every_widget_names_bundles_that_exist() -> None:
    modules = {path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
    styles = {path.read_text(encoding="utf-8") for path in STATIC.glob("*.css")}
    classes = [c for c in widget_classes() if c.__module__.startswith("attnwidget.")]
    assert {"HeadGrid", "HeadView"} <= {c.__name__ for c in classes}
    for widget in classes:
        script, style_sheet = widget._files
        assert script in modules, widget.__name__
        assert style_sheet in styles, widget.__name__
