"""The documentation: every public name has a page, links lead somewhere, and the code runs."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import attnwidget
from attnwidget.public_names import public_homes
from attnwidget.widgets.shared.head_widget import HeadWidget

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = DOCS / "pages"
NOTEBOOKS = ROOT / "notebooks"
LITE = DOCS / "lite"
WRITTEN = sorted(PAGES.rglob("*.md"))
MADE = {"about/changelog.md", "about/licence.md", "reference/index.md"}
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<target>[^)\s]*)\)")
_NOT_TEXT = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return _module("reference_pages")


@pytest.fixture(scope="module")
def page_code() -> ModuleType:
    return _module("page_code")


def _module(name: str) -> ModuleType:
    """A module of the docs folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _name(page: Path) -> str:
    return page.relative_to(PAGES).as_posix()


def test_definitions_begin_below_their_term() -> None:
    # "term : text" on one line is no definition for Markdown, and is shown as a paragraph.
    for page in WRITTEN:
        prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
        broken = [line for line in prose.splitlines() if re.match(r"[\w*-]{2,30} : \S", line)]
        assert not broken, f"{page.name}: put the text of {broken[0]!r} on a line of its own"


def test_every_public_name_has_a_page(reference: ModuleType) -> None:
    pages = reference.pages()
    assert attnwidget.__version__ in pages["reference/index.md"]
    homes = {name: home for name, home in public_homes().items() if home != "attnwidget.results"}
    assert {"HeadGrid", "measure", "Norms", "Accumulator", "options", "patch_heads"} <= homes.keys()
    for name, home in homes.items():
        assert f"\n::: {_path(name, home)}\n" in pages[f"reference/{name}.md"]
        assert f"]({name}.md) | `{home}` |" in pages["reference/index.md"]


def _path(name: str, home: str) -> str:
    value = getattr(importlib.import_module(home), name)
    if not isinstance(value, type) and not callable(value):
        return f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{value.__module__}.{name}"


def test_every_result_of_a_study_has_a_page(reference: ModuleType) -> None:
    pages = reference.pages()
    for name in ("EntropyResult", "HeadDistances", "RelationAccuracies", "TokenRelevance"):
        assert f"reference/types/{name}.md" in pages
    assert all(reference.page_of(path) in pages for path in reference.type_paths())
    declared = "| `entropy_from_first` | `entropy from {self.first}` |"
    assert declared in pages["reference/types/EntropyResult.md"]


def test_pages_have_names_that_every_file_system_tells_apart(reference: ModuleType) -> None:
    places = [place.casefold() for place in reference.pages()]
    assert len(set(places)) == len(places)


def test_every_trait_of_a_widget_says_what_it_is(reference: ModuleType) -> None:
    widgets = [getattr(attnwidget, name) for name in attnwidget.__all__]
    widgets = [w for w in widgets if isinstance(w, type) and issubclass(w, HeadWidget)]
    assert len(widgets) >= 7
    for widget in widgets:
        rows = reference.trait_rows(widget)
        assert {"selected", "layer"} <= {row[0] for row in rows}
        assert [row[0] for row in rows if not row[3]] == [], widget.__name__


def test_the_navigation_has_every_page_and_no_other(
    reference: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "reference_pages", reference)
    tutorials = [f"tutorials/{path.stem}.md" for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    lessons = [f"lessons/{path.stem}.md" for path in sorted(NOTEBOOKS.glob("lessons/*.ipynb"))]
    made = [*tutorials, *lessons, *sorted(MADE - {"reference/index.md"})]
    sections = _module("navigation").navigation(made)
    listed = list(_places(sections))
    assert len(set(listed)) == len(listed)
    assert set(listed) == {*map(_name, WRITTEN), *made, *reference.pages()}
    titles = [title for section in sections for title in section]
    assert titles == [
        "Home",
        "Lessons",
        "Tutorials",
        "How-to guides",
        "Analyses",
        "Reference",
        "About",
    ]
    of = {title: list(_places(pages)) for section in sections for title, pages in section.items()}
    assert of["Tutorials"] == ["tutorials/index.md", *tutorials]
    assert of["Lessons"] == ["lessons/index.md", *lessons, "lessons/teach.md"]
    first_guides = ["index.md", "cheat-sheet.md", "your-own-model.md"]
    assert of["How-to guides"][:3] == [f"how-to/{page}" for page in first_guides]
    assert of["About"] == sorted(of["About"])


def _places(part: object) -> Iterator[str]:
    """Every page of a part of the navigation, in its order."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        yield from (place for pages in part.values() for place in _places(pages))
    elif isinstance(part, list):
        yield from (place for entry in part for place in _places(entry))


def test_every_index_names_the_pages_of_its_folder() -> None:
    for index in PAGES.glob("*/index.md"):
        named = re.findall(r"\]\(([\w-]+\.md)\)", index.read_text("utf-8"))
        pages = {page.name for page in index.parent.glob("*.md")} - {"index.md"}
        assert pages <= set(named), index


def test_the_papers_of_all_analyses_can_be_cited() -> None:
    papers = (PAGES / "about" / "citing.md").read_text("utf-8")
    index = (PAGES / "analyses" / "index.md").read_text("utf-8")
    named = re.findall(r"([A-Z]\w+) (?:et al\.|and \w+) (\d{4})", index)
    assert len(named) > 20
    for author, year in named:
        assert re.search(rf"@\w+\{{{author.lower()}-[\w-]*{year}-", papers), (author, year)


def test_every_tutorial_is_listed() -> None:
    listed = re.findall(r"\((\w+)\.md\)", (PAGES / "tutorials" / "index.md").read_text("utf-8"))
    assert listed == [source.stem for source in sorted(NOTEBOOKS.glob("*.ipynb"))]
    listed = re.findall(r"\((\w+)\.md\)", (PAGES / "lessons" / "index.md").read_text("utf-8"))
    assert listed == [p.stem for p in sorted(NOTEBOOKS.glob("lessons/*.ipynb"))] + ["teach"]


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_links_lead_to_pages(page: Path, reference: ModuleType) -> None:
    tutorials = {f"tutorials/{path.stem}.md" for path in NOTEBOOKS.glob("*.ipynb")}
    tutorials |= {f"lessons/{path.stem}.md" for path in NOTEBOOKS.glob("lessons/*.ipynb")}
    images = {f"assets/{path.name}" for path in (DOCS / "images").iterdir()}
    known = {*map(_name, WRITTEN), *MADE, *reference.pages(), *tutorials, *images}
    known |= {"assets/first-look.html", "assets/atlas.html"}
    known |= {f"lite/notebooks/index.html?path={path.name}" for path in LITE.glob("*.ipynb")}
    known.add("lite/notebooks/index.html?path=01_what_attention_is.ipynb")
    for found in _LINK.finditer(_NOT_TEXT.sub("", page.read_text("utf-8"))):
        place = (page.parent / (found["target"].partition("#")[0] or page.name)).resolve()
        target = place.relative_to(PAGES.resolve()).as_posix()
        assert target in known or re.fullmatch(r"figures/[\w-]+\.svg", target), found["target"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in WRITTEN if "```python" in p.read_text("utf-8")], ids=_name
)
def test_the_code_of_a_page_runs(
    page: Path, page_code: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code of pages with a figure runs when the site is built, the rest here."""
    blocks = list(page_code.code_blocks(page.read_text("utf-8")))
    assert len(blocks) == page.read_text("utf-8").count("```python")
    for block in blocks:
        compile(block.code, str(page), "exec")
    if any(block.figure for block in blocks):
        return
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks:
        if block.runs:
            page_code.run_block(block, names, f"<{_name(page)}>")


def test_recorded_states_of_a_served_model_give_the_weights_of_the_server(
    page_code: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (PAGES / "how-to" / "served-models.md").read_text("utf-8")
    introduction = text.partition("## ")[0]
    assert "`model.replay` is the\neasier way" in introduction
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in page_code.code_blocks(text):
        if block.runs:
            page_code.run_block(block, names, "<how-to/served-models.md>")
    recorded, served, ids = names["recorded"], names["served"], names["ids"]
    assert len(recorded.tokens) == len(ids) - 1 > names["prompt"]
    for layer, attend in enumerate(served.layers):
        assert len(attend.kv_cache) == 2 + len(ids) - 1 - names["prompt"]
        weights = attend.last_weights[:, 0].numpy()
        assert abs(recorded.weights(layer)[:, -1] - weights).max() < 1e-6
    assert not any(layer._forward_pre_hooks for layer in served.layers)


def test_figures_have_a_text_and_names_of_their_own(page_code: ModuleType) -> None:
    figures = [
        block
        for page in WRITTEN
        for block in page_code.code_blocks(page.read_text("utf-8"))
        if block.figure
    ]
    assert len({block.figure for block in figures}) == len(figures) >= 14
    assert all(len(block.alt) > 20 for block in figures)


def test_a_block_without_its_title_runs_and_a_picture_belongs_to_it(page_code: ModuleType) -> None:
    page = "\n".join(
        [
            "```python",
            "1 + 1",
            "```",
            "",
            "![Two](../figures/two.svg)",
            "",
            '```python title="Not run here: divides by 0"',
            "1 / 0",
            "```",
            "",
            '```python title="a/file.py"',
            "import a.neighbor",
            "```",
        ]
    )
    first, second, third = page_code.code_blocks(page)
    assert (first.runs, first.figure, first.alt) == (True, "two", "Two")
    assert (second.runs, second.figure) == (False, "")
    assert not third.runs
    assert page_code.run_block(first, {}, "page") == 2
