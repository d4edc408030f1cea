"""Every guarantee and every promise of the README and the changelog names tests that exist.

The tests at the end show promises that no folder of the package owns.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, load_model, make_segments
from attnwidget.behaviors import find_links, head_examples
from attnwidget.demo import demo_atlas, demo_treebank
from fixtures.svg_picture import texts
from refusals import naming

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # of pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "pages"
ARCHITECTURE = (PAGES / "about" / "architecture.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
#: Pages of the folder that compare analyses instead of explaining one.
OVERVIEWS = {"index", "figures-of-papers", "which-number"}
#: Pages with several numbers, each with a definition in its own section.
SEVERAL_NUMBERS = {"head-atlas", "pictures"}
ANALYSES = sorted(p for p in (PAGES / "analyses").glob("*.md") if p.stem not in OVERVIEWS)
TEXT = "The captain told his men that he would not leave the ship."


def rows(heading: str) -> list[tuple[str, list[str]]]:
    """Return the rows below a heading of the architecture page, each with its tests."""
    level = heading.partition(" ")[0]
    _, found, rest = ARCHITECTURE.partition(f"\n{heading}\n")
    assert found, heading
    part = re.split(rf"^#{{2,{len(level)}}} ", rest, flags=re.MULTILINE)[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    cells = [line.strip("| ").split(" | ") for line in lines]
    return [
        (promise, re.findall(r"`([^`]+)`", tests))
        for promise, tests in cells
        if tests not in {"test", "---"}
    ]


GUARANTEES = rows("### Guarantees of the package")
PROMISES = rows("### Promises of the README and the changelog")


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    """Return the names of the tests in a file of Python or TypeScript."""
    source = path.read_text("utf-8")
    if path.suffix == ".ts":
        return frozenset(re.findall(r'\btest\(\s*"([^"]+)"', source))
    nodes = ast.walk(ast.parse(source))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("promise", "tests"), GUARANTEES + PROMISES)
def test_a_promise_names_tests_that_exist(promise: str, tests: list[str]) -> None:
    assert tests, promise
    for test in tests:
        place, _, name = test.partition("::")
        if place.startswith("make "):
            assert f"\n{place.removeprefix('make ')}:" in (ROOT / "Makefile").read_text("utf-8")
            continue
        path = ROOT / place
        assert path.is_file(), test
        # `conftest.py` and `pages.py` guard all tests, so they name no test of their own.
        if path.name.startswith("test_") or path.name.endswith(".test.ts"):
            assert name in names_of_tests(path), test


def plain(markdown: str) -> str:
    """Return Markdown as one line without pictures, addresses of links and bold marks."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", markdown)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", text.replace("**", ""))


def items(markdown: str) -> list[str]:
    """Return the list items of a text."""
    return [plain(item) for item in re.findall(r"^- (.*(?:\n  .*)*)", markdown, re.MULTILINE)]


def test_promises_are_quotations() -> None:
    sources = plain(README) + plain(CHANGELOG)
    assert [promise for promise, _ in PROMISES if promise not in sources] == []


def test_every_line_of_the_changelog_and_the_readme_has_a_promise() -> None:
    _, _, hosts = README.partition("\n## Which models and hosts\n")
    paragraphs = [plain(part) for part in hosts.partition("\n## ")[0].split("\n\n") if part.strip()]
    lines = [*items(CHANGELOG), *items(README), *paragraphs]
    assert len(lines) > 60
    quoted = [promise for promise, _ in PROMISES]
    assert [line for line in lines if not any(quote in line for quote in quoted)] == []


@pytest.mark.parametrize("page", ANALYSES, ids=lambda page: page.stem)
def test_a_page_of_an_analysis_opens_with_its_use_its_code_and_its_figure(page: Path) -> None:
    text = page.read_text("utf-8")
    opening, _, rest = text.partition("\n```python\n")
    title, use = opening.strip().split("\n", 1)
    assert title.startswith("# ") and 0 < len(use.split()) < 75
    assert "?" in use, "the first sentences have the question of a reader"
    assert "\n#" not in use and "$" not in use, "no definition comes before the code"
    figure = re.match(r".*?^```$\n\n!\[", rest, re.DOTALL | re.MULTILINE)
    assert figure is not None, "the first code draws a figure"
    assert figure[0].count("```") == 1, "the first code draws the first figure"
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert {"Limits", "Reference"} <= set(headings)
    # The atlas and the metrics of pictures have a definition for each of their numbers.
    assert re.search(r"^##+ Definitions?$", text, re.MULTILINE) or page.stem in SEVERAL_NUMBERS


def test_the_changelog_counts_the_notebooks() -> None:
    count = len(list((ROOT / "notebooks").glob("*.ipynb")))
    word = {11: "Eleven", 12: "Twelve", 13: "Thirteen", 14: "Fourteen"}[count]
    assert f"{word} notebooks" in CHANGELOG


def test_stated_requirements_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "torch>=2.4" in project["dependencies"]
    assert "transformers>=4.57.1,<6" in project["dependencies"]
    assert project["requires-python"] == ">=3.10"
    limits = "torch 2.4 or later, transformers from 4.57.1 to below 6, and Python 3.10 or later"
    assert limits in plain(CHANGELOG)
    assert "Python 3.10 or later, transformers 4.57 or 5" in plain(README)


def test_the_cost_of_default_metrics_is_that_of_its_page() -> None:
    page = plain((PAGES / "how-to" / "measure-a-corpus.md").read_text("utf-8"))
    assert "they add 4 % in BERT-base, and 25 % in the embedded model" in page
    assert "The default metrics add 4 to 25 % to a forward pass" in plain(README)


def test_cells_of_a_grid_print_the_complete_attended_word(
    model: AttentionModel, recording: None
) -> None:
    attention = model.attend("The woman washed her unbelievable handkerchiefs.")
    words = attention.words
    assert len(words.tokens) < len(attention.tokens)
    query = words.tokens.index("her")
    grid = HeadGrid(attention, unit="words", tokens=[("query", query)])
    # Each cell has the most attended word, in two lines if it is long, and its share.
    _, _, cells = "".join(texts(grid.figure())).partition(f"{len(words.tokens)} words")
    end = 0
    for layer in range(model.n_layers):
        for head in range(model.n_heads):
            row = np.array(words.weights(layer, head)[query])
            row[[0, -1]] = 0  # [CLS] and [SEP] are hidden
            key = int(row.argmax())
            if row[key] < 2 / len(row):
                continue
            word = "self" if key == query else words.tokens[key]
            printed = re.compile(rf"{re.escape(word)}(100|\d\d)").match(cells, end)
            assert printed is not None, (layer, head, word, cells[end : end + 30])
            assert abs(int(printed[1]) - 100 * row[key]) <= 1
            end = printed.end()


def test_results_refuse_heads_that_do_not_exist(model: AttentionModel) -> None:
    trees = demo_treebank()[:8]
    segments = make_segments([tree.text for tree in trees], model)
    examples = head_examples(model, segments, progress=False)
    links = find_links(model, trees, query="tag=DET", key="tag=NOUN", progress=False)
    calls: list[Callable[[int, int], object]] = [demo_atlas().card, examples.links, links.links]
    for call in calls:
        for layer, head in ((6, 0), (0, 12)):
            with pytest.raises(ValueError, match=naming(str(max(layer, head)))):
                call(layer, head)


def test_calls_for_users_of_bertviz_run(recording: None) -> None:
    table = README.partition("| bertviz | attnwidget |")[2].partition("\n\n")[0]
    calls = re.findall(r"\| `((?:HeadView|HeadGrid)\(.*?\))`", table)
    assert len(calls) == 3
    model = load_model()
    read = model.attend(TEXT)
    names = {
        "attention": [read.weights(layer)[None] for layer in range(model.n_layers)],
        "tokens": read.tokens,
        "Attention": Attention,
        "HeadView": HeadView,
        "HeadGrid": HeadGrid,
        "model": model,
    }
    for call in calls:
        figure = eval(call, names)
        assert isinstance(figure, (HeadView, HeadGrid)), call
        assert texts(figure.figure()), call
        figure.close()
